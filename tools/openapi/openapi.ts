/** The parts of OpenAPI 3.1 that the document uses. */
import type { JsonSchema } from './json-schema.ts'

/** A reference to a component. */
export interface Reference {
  $ref: string
}

/** The operations of a path, by method in lower case. */
export interface PathItem {
  /** The server of the path, when it is not below the server of the document. */
  servers?: { url: string; description: string }[]
  parameters?: (Parameter | Reference)[]
  get?: OperationObject
  post?: OperationObject
}

/** An operation of the document. */
export interface OperationObject {
  operationId: string
  tags: string[]
  summary: string
  description: string
  /** Schemes by name, each with the permissions that a token needs. */
  security: Record<string, string[]>[]
  parameters: (Parameter | Reference)[]
  requestBody?: RequestBody
  /** By status. */
  responses: Record<string, ResponseObject | Reference>
}

/** A parameter in the path, the query or the headers. */
export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description: string
  schema: JsonSchema
  style?: string
  explode?: boolean
  example?: unknown
}

/** The body of a request, by media type. */
export interface RequestBody {
  description: string
  required: boolean
  content: Record<string, MediaType>
}

/** A response: its headers, and its body by media type. */
export interface ResponseObject {
  description: string
  headers: Record<string, Header | Reference>
  content: Record<string, MediaType>
}

/** A header of a response. */
export interface Header {
  description: string
  /** True when every response has the header. */
  required: boolean
  schema: JsonSchema
  example?: unknown
}

/** A body: its schema, and examples by name. */
export interface MediaType {
  schema: JsonSchema
  examples?: Record<string, Example>
}

/** An example of a body. */
export interface Example {
  summary: string
  value: unknown
}
