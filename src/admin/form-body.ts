// Forms and query strings as the pages read them.
import type { FastifyRequest } from 'fastify'
import { type FieldErrors, GatewayError } from '../domain/errors.ts'
import { trimmed } from '../domain/trimmed.ts'

/** Returns the form that was posted, or null. */
export const findForm = ({ body }: FastifyRequest): URLSearchParams | null =>
  body instanceof URLSearchParams ? body : null

/** Returns the form that was posted; an empty one when none was. */
export const formBody = (request: FastifyRequest): URLSearchParams => findForm(request) ?? new URLSearchParams()

/** Returns the parameters after the `?` of the URL. */
export const queryParameters = (request: FastifyRequest): URLSearchParams =>
  new URLSearchParams(/\?(.*)/.exec(request.url)?.[1])

/** Returns the trimmed value without NUL, which Postgres rejects; empty when the field is missing. */
export const textField = (form: URLSearchParams, name: string): string =>
  trimmed(form.get(name) ?? '').replaceAll('\0', '')

/** Returns the field errors of a thrown error, which the form shows. @throws the same error when it has none */
export function fieldErrorsOf(error: unknown): FieldErrors {
  if (error instanceof GatewayError && error.fieldErrors) return error.fieldErrors
  throw error
}
