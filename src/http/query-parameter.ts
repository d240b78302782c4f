import type { FastifyRequest } from 'fastify'
import type { FieldErrors } from '../domain/errors.ts'

/**
 * Reads a query parameter. Absent, empty and `null` are the same (R4).
 *
 * @param fieldErrors receives the error of a parameter that is given twice (R5)
 */
export function queryParameter(request: FastifyRequest, name: string, fieldErrors: FieldErrors): string | null {
  const query = request.query
  const value: unknown = typeof query === 'object' && query !== null ? Reflect.get(query, name) : undefined
  if (Array.isArray(value)) fieldErrors[name] = ['Give this parameter once.']
  return typeof value === 'string' && value !== '' && value !== 'null' ? value : null
}
