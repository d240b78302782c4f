import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { badInput, type FieldErrors, throwIfErrors } from '../domain/errors.ts'

const json = 'application/json'

/**
 * Checks the headers of a v1 request (R2, R3).
 *
 * @param hasBody whether the operation takes a body, and so needs `Content-Type`
 * @throws `BAD_USER_INPUT` with the errors of `accept` and `content-type`
 */
export function requireJsonHeaders(request: FastifyRequest, hasBody: boolean): void {
  const fieldErrors: FieldErrors = {}
  const { accept = '', 'content-type': contentType = '' } = request.headers
  if (accept !== json && !namesMediaType(accept, json)) {
    fieldErrors.accept = [`The header Accept must name ${json}.`]
  }
  if (hasBody && contentType.split(';', 1)[0]?.trim().toLowerCase() !== json) {
    fieldErrors['content-type'] = [`The header Content-Type must be ${json}.`]
  }
  throwIfErrors(fieldErrors)
}

/** Returns whether `Accept` names the media type with a weight above 0 (R2); ranges with `*` do not name it. */
export const namesMediaType = (accept: string, mediaType: string): boolean =>
  accept.trim() !== '' && new Negotiator({ headers: { accept: accept.toLowerCase() } }).mediaTypes().includes(mediaType)

/** The media type of bulk exports, which have one JSON text per line. */
export const lineFormat = 'application/x-ndjson'

/** The media ranges that an export accepts. */
const exportMediaRanges = new Set([lineFormat, json, 'application/*', '*/*'])

/**
 * Checks the headers of a bulk export (R2): accepts NDJSON, JSON, a wildcard, or no `Accept`.
 *
 * @throws `BAD_USER_INPUT` with the errors of `accept`
 */
export function requireLineHeaders({ headers: { accept = '' } }: FastifyRequest): void {
  const given = accept.trim().toLowerCase() || '*/*'
  // Called without a list of types, the library returns the accepted ranges without their parameters. Parameters do not
  // matter (R2).
  const ranges = new Negotiator({ headers: { accept: given } }).mediaTypes()
  if (ranges.some(range => exportMediaRanges.has(range))) return
  throw badInput({ accept: [`The header Accept must name ${lineFormat}.`] })
}
