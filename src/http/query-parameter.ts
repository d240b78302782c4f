import type { FastifyRequest } from 'fastify'
import type { FieldErrors } from '../domain/errors.ts'

/** Returns whether a parameter has a value. An empty text and `null` count as absent (R4). */
const hasValue = (value: unknown): value is string => typeof value === 'string' && value !== '' && value !== 'null'

/** Returns the value of a query parameter: undefined, a string, or an array when it is given twice. */
const readRawParameter = ({ query }: FastifyRequest, name: string): unknown =>
  typeof query === 'object' && query !== null ? Reflect.get(query, name) : undefined

/**
 * Reads a query parameter that is given once at most.
 *
 * @param fieldErrors receives the error of a parameter that is given twice (R5)
 * @returns the value, or null when the parameter has no value (R4)
 */
export function queryParameter(request: FastifyRequest, name: string, fieldErrors: FieldErrors): string | null {
  const value = readRawParameter(request, name)
  if (Array.isArray(value)) fieldErrors[name] = ['Give this parameter once.']
  return hasValue(value) ? value : null
}

/**
 * Reads a query parameter that may be repeated. Returns all values (R5).
 *
 * @returns the values in their order, without empty ones and `null` (R4)
 */
export const queryParameterValues = (request: FastifyRequest, name: string): string[] =>
  [readRawParameter(request, name)].flat().filter(hasValue)
