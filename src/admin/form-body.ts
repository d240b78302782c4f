// Reads posted forms and query strings for the pages.
import type { FastifyRequest } from 'fastify'
import { trimInvisible } from '../domain/trimmed.ts'

/** Returns the form that was posted, or null. */
export const findForm = ({ body }: FastifyRequest): URLSearchParams | null =>
  body instanceof URLSearchParams ? body : null

/** Returns the form that was posted, or an empty form when no form was posted. */
export const formBody = (request: FastifyRequest): URLSearchParams => findForm(request) ?? new URLSearchParams()

/** Returns the parameters after the `?` of the URL. */
export const queryParameters = (request: FastifyRequest): URLSearchParams =>
  new URLSearchParams(/\?(.*)/.exec(request.url)?.[1])

/** Returns the trimmed value without NUL, which Postgres rejects; empty when the field is missing. */
export const textField = (form: URLSearchParams, name: string): string =>
  trimInvisible(form.get(name) ?? '').replaceAll('\0', '')
