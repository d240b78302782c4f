/** Arbitrary requests, made from the schemas of the OpenAPI document. */
import fc from 'fast-check'
import type { JsonSchema } from '../../tools/openapi/json-schema.ts'
import type { OperationObject, Parameter } from '../../tools/openapi/openapi.ts'
import { apiPaths, document, resolve } from '../support/openapi.ts'

/** Values that exist in the service under test, so that requests find something. */
export interface Known {
  secrets: string[]
  /** Ids, by the name of the path parameter. */
  ids: Record<string, number[]>
  cursors: string[]
  references: string[]
}

/** A request, and whether its parts are valid by the schemas. */
export interface FuzzRequest {
  operationId: string
  method: string
  url: string
  headers: Record<string, string>
  payload?: string
  /** True when every part is valid by its schema, and the token can read the tenant. */
  isValid: boolean
}

/** A part of a request, and whether it is valid by its schema. */
interface Part<Value> {
  value: Value
  isValid: boolean
}

const valid = <Value>(value: Value): Part<Value> => ({ value, isValid: true })
const odd = <Value>(value: Value): Part<Value> => ({ value, isValid: false })

/** Any text that UTF-8 can express. */
const anyText = fc.string({ unit: 'binary', maxLength: 30 })

export function valuesOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { type, anyOf, enum: members, const: constant, properties, items, format, pattern } = schema
  if (constant !== undefined) return fc.constant(constant)
  if (members) return fc.constantFrom(...members)
  if (anyOf) return fc.oneof(...anyOf.map(option => valuesOf(toSchema(option))))
  if (Array.isArray(type)) return fc.oneof(...type.map(one => valuesOf({ ...schema, type: one })))
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -100, max: schema.maximum ?? 2 ** 31 - 1 })
    case 'array':
      return fc.array(valuesOf(toSchema(items)), { maxLength: 4 })
    case 'object':
      return fc.record(
        Object.fromEntries(Object.entries(properties ?? {}).map(([name, value]) => [name, valuesOf(toSchema(value))])),
        { requiredKeys: schema.required ?? [] },
      )
    case 'string': {
      if (format === 'date-time') return instants
      const limit = { unit: 'binary', maxLength: schema.maxLength ?? 60 } as const
      if (pattern?.startsWith('^')) return fc.stringMatching(new RegExp(pattern))
      const texts = fc.string(limit).filter(text => pattern === undefined || new RegExp(pattern).test(text))
      return schema.maxLength === undefined ? texts : fc.oneof(texts, fc.constant('🎁'.repeat(schema.maxLength)))
    }
  }
  throw new Error(`There are no arbitrary values of ${JSON.stringify(schema)}.`)
}

const toSchema = (schema: unknown): JsonSchema => {
  if (typeof schema !== 'object' || schema === null) throw new Error('The schema is no object.')
  return { ...schema }
}

/** Instants of RFC 3339, with `Z` or an offset, and any number of fraction digits. */
const instants = fc
  .tuple(
    fc.date({ min: new Date('0001-01-02T00:00:00Z'), max: new Date('9999-12-30T00:00:00Z'), noInvalidDate: true }),
    fc.stringMatching(/^(\.\d{1,9})?$/),
    fc.stringMatching(/^(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/),
  )
  .map(([date, fraction, offset]) => date.toISOString().slice(0, 19) + fraction + offset)

/** Requests of all operations: most of them valid, many with one part that is not. */
export function requestsOf(known: Known): fc.Arbitrary<FuzzRequest> {
  const all = apiPaths.flatMap(([path, { get, post, parameters }]) => {
    // Each export takes several statements.
    const weight = path.startsWith('/export') ? 1 : 2
    const of = (method: 'GET' | 'POST', operation?: OperationObject) =>
      operation ? [{ weight, arbitrary: requestOf(known, path, method, operation, parameters) }] : []
    return [...of('GET', get), ...of('POST', post)]
  })
  return fc.oneof(...all)
}

function requestOf(
  known: Known,
  path: string,
  method: 'GET' | 'POST',
  operation: OperationObject,
  shared: readonly Parameters<typeof resolve<Parameter>>[0][] = [],
): fc.Arbitrary<FuzzRequest> {
  const parameters = [...shared, ...operation.parameters].map(parameter => resolve<Parameter>(parameter))
  const within = (place: Parameter['in']) => parameters.filter(parameter => parameter.in === place)
  return fc
    .record({
      segments: fc.tuple(...within('path').map(parameter => segment(known, parameter))),
      query: fc.tuple(...within('query').map(parameter => queryPart(known, parameter))),
      extra: often(
        fc.constant(''),
        fc.tuple(anyText, anyText).map(pair => `&${pair.map(encodeURIComponent).join('=')}`),
      ),
      method: often(
        fc.constant(valid<string>(method)),
        fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD').map(odd),
      ),
      token: often(fc.constantFrom(...known.secrets).map(valid), fc.constantFrom('', 'vgw_unknown').map(odd)),
      headers: headersOf(within('header')),
      body: operation.requestBody ? bodyOf(known, operation.requestBody.content) : fc.constant(valid(undefined)),
    })
    .map(({ segments, query, extra, method, token, headers, body }) => {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
      const fill = (url: string, name: string, at: number) => url.replace(`{${name}}`, () => segments[at]?.value ?? '')
      const filled = names.reduce(fill, path)
      const search = query.map(({ value }) => value).join('') + extra
      const parts = [...segments, ...query, method, token, headers, body]
      return {
        operationId: operation.operationId,
        method: method.value,
        url: `${document.servers[0]?.url}${filled}${search.replace('&', '?')}`,
        headers: { ...headers.value, authorization: `Bearer ${token.value}` },
        ...(body.value !== undefined && { payload: body.value }),
        isValid: parts.every(({ isValid }) => isValid),
      }
    })
}

const often = <Value>(usual: fc.Arbitrary<Value>, other: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: other })

const hasDots = (text: string) => /^(\.|%2e){1,2}$/i.test(text)

function segment({ ids }: Known, { name, schema }: Parameter): fc.Arbitrary<Part<string>> {
  const raw = fc.constantFrom(' ', ...'0 -1 01 1.0 1e0 %00 %zz %ff %2F null 9007199254740992'.split(' '))
  const encoded = anyText.map(encodeURIComponent).filter(text => text !== '' && !hasDots(text))
  return fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom(...(ids[name] ?? [])).map(id => valid(String(id))) },
    { weight: 1, arbitrary: valuesOf(schema).map(id => valid(String(id))) },
    { weight: 1, arbitrary: raw.map(odd) },
    { weight: 1, arbitrary: encoded.map(odd) },
  )
}

function queryPart({ cursors }: Known, { name, schema }: Parameter): fc.Arbitrary<Part<string>> {
  const write = (value: unknown) => `&${name}=${encodeURIComponent(String(value ?? 'null'))}`
  const instantsOrNone = fc.oneof(instants, fc.constantFrom('', 'null'))
  const known = { cursor: fc.constantFrom(...cursors), updated_since: instantsOrNone }[name]
  const values = known ?? valuesOf(schema)
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant(valid('')) },
    // A cursor of another list is an error.
    { weight: 4, arbitrary: values.map(value => (name === 'cursor' ? odd : valid)(write(value))) },
    { weight: 1, arbitrary: anyText.map(text => odd(write(text))) },
    { weight: 1, arbitrary: fc.constantFrom('&x', `&${name}&${name}`, `&${name}=%zz`, `&${name}[]=1`).map(odd) },
  )
}

function headersOf(parameters: readonly Parameter[]): fc.Arbitrary<Part<Record<string, string>>> {
  const accepts = ['application/json', 'application/json; charset=utf-8', 'text/html, application/json;q=0.1']
  const visible = fc.stringMatching(/^[ -~]{0,40}$/)
  const own = ({ name, schema }: Parameter) =>
    fc.oneof(fc.constant(''), valuesOf(schema), visible).map(value => [name.toLowerCase(), String(value)] as const)
  return fc
    .record({
      accept: often(fc.constantFrom(...accepts).map(valid), fc.oneof(fc.constant('*/*'), visible).map(odd)),
      encoding: fc.constantFrom('', 'br', 'gzip', 'identity', 'br;q=0.5, gzip', '*;q=0'),
      own: fc.tuple(...parameters.map(own)),
    })
    .map(({ accept, encoding, own }) => ({
      value: {
        accept: accept.value,
        ...(encoding && { 'accept-encoding': encoding }),
        ...Object.fromEntries(own.filter(([, value]) => value !== '')),
      },
      isValid: accept.isValid,
    }))
}

function bodyOf(
  { references }: Known,
  content: NonNullable<OperationObject['requestBody']>['content'],
): fc.Arbitrary<Part<string | undefined>> {
  const [type] = Object.values(content)
  if (!type) throw new Error('The body has no schema.')
  const named = fc.constantFrom(...references).map(reference => ({ voucher_reference: reference }))
  return fc.oneof(
    { weight: 4, arbitrary: named.map(body => valid(JSON.stringify(body))) },
    { weight: 6, arbitrary: valuesOf(type.schema).map(body => valid(JSON.stringify(body))) },
    { weight: 1, arbitrary: fc.jsonValue().map(body => odd(JSON.stringify(body))) },
    { weight: 1, arbitrary: anyText.map(odd) },
    { weight: 1, arbitrary: fc.constant(odd(undefined)) },
  )
}
