/** Reads queries and bodies of version 1 into the variables of its documents. */
import type { FastifyRequest } from 'fastify'
import type { FieldErrors } from '../../domain/errors.ts'
import type { Input } from '../operation.ts'

/** The input of an operation whose path is all it takes. */
export const readNothing = (): Input<object> => ({ variables: {}, fieldErrors: {} })

interface ListVariables {
  cursor?: string
  updated_since?: string
}

/** Reads the query of a list: `cursor` and `updated_since`. */
export function readListQuery(request: FastifyRequest): Input<ListVariables> {
  const fieldErrors: FieldErrors = {}
  const variables: ListVariables = {}
  const cursor = queryParameter(request, 'cursor', fieldErrors)
  const updated_since = queryParameter(request, 'updated_since', fieldErrors)
  if (cursor) variables.cursor = cursor
  if (updated_since) variables.updated_since = updated_since
  return { variables, fieldErrors }
}

/** Reads the query of the catalog list: `cursor`, `updated_since` and `include` (R5). */
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

/**
 * Reads a query parameter. Absent, empty and `null` are the same (R4).
 *
 * @param fieldErrors receives the error of a parameter that is given twice (R5)
 */
function queryParameter(request: FastifyRequest, name: string, fieldErrors: FieldErrors): string | undefined {
  const query = request.query
  const value: unknown = typeof query === 'object' && query !== null ? Reflect.get(query, name) : undefined
  if (Array.isArray(value)) fieldErrors[name] = ['Give this parameter once.']
  return typeof value === 'string' && value !== '' && value !== 'null' ? value : undefined
}

/** Reads the body of a resolution: a JSON object with the two fields as strings or null (R9). */
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
