import type { FastifyRequest } from 'fastify'
import { type FieldErrors, GatewayError } from '../domain/errors.ts'

/**
 * A text of a form or a query string, blanks round it cut. Postgres keeps no NUL in a text: it goes too.
 *
 * @returns empty when the field is not there
 */
export const textOf = (form: URLSearchParams, name: string): string =>
  (form.get(name) ?? '').replaceAll('\0', '').trim()

/** What the path is followed by. */
export const queryOf = (request: FastifyRequest): URLSearchParams =>
  new URLSearchParams(/\?(.*)$/.exec(request.url)?.[1])

/**
 * What is wrong with what was posted, for the form to say.
 *
 * @throws what is no fault of the form
 */
export function faultsOf(error: unknown): FieldErrors {
  if (error instanceof GatewayError && error.fieldErrors) return error.fieldErrors
  throw error
}
