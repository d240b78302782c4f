/** Checks answers of the service against the OpenAPI document: status, headers and body. */
import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { OpenApiDocument } from '../../tools/openapi/document.ts'
import type { JsonSchema } from '../../tools/openapi/json-schema.ts'
import type { Header, OperationObject, Reference, ResponseObject } from '../../tools/openapi/openapi.ts'

/** The document that the service serves. */
export const document: OpenApiDocument = JSON.parse(readFileSync('schema/openapi.v1.json', 'utf8'))

const base = document.servers[0]!.url

export interface Received {
  method: string
  /** The request target. */
  url: string
  status: number
  headers: Readonly<Record<string, string | undefined>>
  /** Undefined when the body was not read. */
  text?: string
}

/** The headers of HTTP (RFC 9110, RFC 9112), which no operation describes. */
const transportHeaders = 'connection content-length content-type date keep-alive transfer-encoding'.split(' ')

/** The statuses of requests that reach no operation. */
const withoutOperation = new Set(['400', '401', '404', '405', '408', '429', '431', '500', '503'])

interface Route {
  pattern: RegExp
  operations: Map<string, OperationObject>
}

/** The paths of v1 and of the bulk export. */
export const apiPaths = Object.entries(document.paths).filter(([, { servers }]) => servers === undefined)

const routes: Route[] = Object.entries(document.paths).map(([path, { servers, get, post }]) => ({
  pattern: new RegExp(`^${(servers ? '' : base) + path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  operations: new Map(Object.entries({ GET: get, POST: post }).flatMap(([method, it]) => (it ? [[method, it]] : []))),
}))

/**
 * Makes the schema of a response reject properties that it does not describe. In the document, clients ignore such
 * properties.
 */
function strictly(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strictly)
  if (typeof schema !== 'object' || schema === null) return schema
  const strict = Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, strictly(value)]))
  const isObject = 'properties' in strict && strict.type === 'object'
  return isObject ? { additionalProperties: false, ...strict } : strict
}

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
addFormats.default(ajv)
ajv.addKeyword('components')
ajv.addSchema({ $id: 'document', components: { schemas: strictly(document.components.schemas) } })

const validators = new Map<JsonSchema, ValidateFunction>()

/** Returns the difference between a value and the schema of a response or webhook, or null. */
export function schemaErrors(schema: JsonSchema, value: unknown): string | null {
  let validate = validators.get(schema)
  if (!validate) {
    validate = ajv.compile(schema.$ref ? { $ref: `document${schema.$ref}` } : { ...schema })
    validators.set(schema, validate)
  }
  return validate(value) ? null : ajv.errorsText(validate.errors)
}

/** Returns the component that a reference names, and any other value unchanged. */
export function resolve<Value extends object>(value: Value | Reference): Value {
  if (!('$ref' in value)) return value
  const path = value.$ref.replace('#/', '').split('/')
  return path.reduce<unknown>((found, key) => Reflect.get(Object(found), key), document) as Value
}

function routeOf(url: string): Route | undefined {
  const path = url.replace(/^https?:\/\/[^/]*/, '').split('?', 1)[0]!
  return routes.find(({ pattern }) => pattern.test(path))
}

/** Returns true when the document describes the API of the path. */
export const isDescribed = (url: string): boolean =>
  /^(https?:\/\/[^/]*)?(\/api\/external\/(v1|export\/v1)(?![^/?])|\/\.well-known\/jwks\.json$)/.test(url) &&
  !/\/v1\/openapi\.json(\?|$)/.test(url)

/** Returns how an answer differs from its description in the document, or null when it matches. */
export function differenceFrom(received: Received): string | null {
  const { method, url, status } = received
  const response = responseTo(received)
  const differences = response
    ? [...headerDifferences(response, received.headers), ...bodyDifferences(response, received)]
    : ['the document has no such status']
  if (differences.length === 0) return null
  return `${method} ${url.slice(0, 200)} → ${status}: ${differences.join('; ')}`
}

function responseTo({ method, url, status }: Received): ResponseObject | null {
  const route = routeOf(url)
  const operation = route?.operations.get(method)
  const isPossible = operation !== undefined || (withoutOperation.has(String(status)) && status !== (route ? 404 : 405))
  const { responses } = operation ?? Object.values(document.paths)[0]!.get!
  const response = responses[status]
  return response && isPossible ? resolve(response) : null
}

function headerDifferences({ headers: described }: ResponseObject, received: Received['headers']): string[] {
  const wanted = new Map(Object.entries(described).map(([name, it]) => [name.toLowerCase(), resolve<Header>(it)]))
  const differences: string[] = []
  for (const [name, { required, schema }] of wanted) {
    const value = received[name]
    if (value === undefined && required) differences.push(`no header ${name}`)
    if (value === undefined) continue
    const errors = schemaErrors(schema, schema.type === 'integer' ? Number(value) : value)
    if (errors !== null) differences.push(`header ${name}: ${value}: ${errors}`)
  }
  const others = Object.keys(received).filter(name => received[name] !== undefined && !wanted.has(name))
  return [
    ...differences,
    ...others.filter(name => !transportHeaders.includes(name)).map(name => `unknown header ${name}`),
  ]
}

function bodyDifferences({ content }: ResponseObject, { method, headers, text }: Received): string[] {
  if (method === 'HEAD') return text ? ['a body'] : []
  const [[type, { schema }] = [undefined, {}]] = Object.entries(content)
  if (type === undefined || schema === undefined) return text ? ['a body'] : []
  const charset = type === 'application/json' ? '; charset=utf-8' : ''
  if (headers['content-type']?.startsWith(type + charset) !== true) return [`media type ${headers['content-type']}`]
  if (text === undefined) return []
  const values = type === 'application/json' ? [text] : text.trimEnd().split('\n')
  return values.flatMap(value => {
    try {
      const errors = schemaErrors(schema, JSON.parse(value))
      return errors === null ? [] : [errors]
    } catch {
      return [`no JSON: ${value.slice(0, 100)}`]
    }
  })
}
