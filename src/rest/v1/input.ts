import type { FastifyRequest } from 'fastify'
import type { FieldErrors } from '../../domain/errors.ts'
import { parseIdentifier } from '../../domain/identifier.ts'

/** What a request asks, as the variables of its document, and what is wrong with it that only the door can see. */
export interface Input<Variables> {
  variables: Variables
  fieldErrors: FieldErrors
}

/** @returns the identifiers in the path; one that no record has for what is not a plain positive integer (R7) */
export function readPath(request: FastifyRequest): Record<string, string> {
  const identifiers: Record<string, string> = {}
  for (const [name, text] of Object.entries(request.params ?? {})) {
    identifiers[name] = String(parseIdentifier(String(text)))
  }
  return identifiers
}

/** The input of an operation that asks nothing beside its path. */
export const readNothing = (): Input<object> => ({ variables: {}, fieldErrors: {} })

interface ListVariables {
  cursor?: string
  updated_since?: string
}

/** The query of a list: `cursor` and `updated_since`. */
export function readListQuery(request: FastifyRequest): Input<ListVariables> {
  const fieldErrors: FieldErrors = {}
  const variables: ListVariables = {}
  const cursor = queryParameter(request, 'cursor', fieldErrors)
  const updated_since = queryParameter(request, 'updated_since', fieldErrors)
  if (cursor) variables.cursor = cursor
  if (updated_since) variables.updated_since = updated_since
  return { variables, fieldErrors }
}

/** The query of the catalog list: that of a list, and `include` (R5). */
export function readCatalogQuery(
  request: FastifyRequest,
): Input<ListVariables & { categories: boolean; variants: boolean }> {
  const { variables, fieldErrors } = readListQuery(request)
  const include = queryParameter(request, 'include', fieldErrors)
  const wanted = include?.split(',').map(word => word.trim()) ?? []
  if (wanted.some(word => word !== 'categories' && word !== 'variants')) {
    fieldErrors.include = ['Name categories, variants or both, separated by a comma.']
  }
  const included = { categories: wanted.includes('categories'), variants: wanted.includes('variants') }
  return { variables: Object.assign(included, variables), fieldErrors }
}

/** A query parameter; absent, empty and `null` are the same (R4), and it may be given once (R5). */
function queryParameter(request: FastifyRequest, name: string, fieldErrors: FieldErrors): string | undefined {
  const query = request.query
  const value: unknown = typeof query === 'object' && query !== null ? Reflect.get(query, name) : undefined
  if (Array.isArray(value)) fieldErrors[name] = ['Give this parameter once.']
  return typeof value === 'string' && value !== '' && value !== 'null' ? value : undefined
}

/** The body of a resolution: a JSON object with the two fields as strings or null (R9). */
export function readResolveBody(
  request: FastifyRequest,
): Input<{ qr_token?: string | null; voucher_reference?: string | null }> {
  const body = parseObject(request.body)
  if (!body) return { variables: {}, fieldErrors: { body: ['The body must be a JSON object.'] } }
  const fieldErrors: FieldErrors = {}
  const read = (name: string) => {
    const value = body[name] ?? null
    if (value !== null && typeof value !== 'string') fieldErrors[name] = ['This must be a string.']
    return typeof value === 'string' ? value : null
  }
  return { variables: { qr_token: read('qr_token'), voucher_reference: read('voucher_reference') }, fieldErrors }
}

function parseObject(text: unknown): Record<string, unknown> | null {
  if (typeof text !== 'string') return null
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    return null
  }
}
