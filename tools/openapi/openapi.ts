/** The parts of OpenAPI 3.1 that the document uses. */
import type { JsonSchema } from './json-schema.ts'

/** An OpenAPI document. */
export interface OpenApiDocument {
  openapi: string
  info: Info
  servers: { url: string; description: string }[]
  security: Security[]
  tags: { name: string; description: string }[]
  paths: Record<string, PathItem>
  components: {
    securitySchemes: Record<string, { type: string; scheme: string; description: string }>
    parameters: Record<string, Parameter>
    headers: Record<string, Header>
    schemas: Record<string, JsonSchema>
    responses: Record<string, ResponseObject>
  }
}

interface Info {
  title: string
  version: string
  summary: string
  description: string
  license: { name: string; identifier: string }
}

/** Schemes by name, each with the permissions that a token needs. */
type Security = Record<string, string[]>

/** A reference to a component. */
export interface Reference {
  $ref: string
}

/** The operations of a path, by method in lower case. */
export interface PathItem {
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
  security: Security[]
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

interface RequestBody {
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
  /** True when every response has it. */
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
