/** The kinds of errors that callers see. Each transport translates every code once, and no other codes. */
export type ErrorCode =
  | 'UNAUTHENTICATED'
  | 'RATE_LIMITED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'BAD_USER_INPUT'
  | 'TOO_LARGE'
  | 'TOO_SLOW'
  | 'METHOD_NOT_ALLOWED'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'UNAVAILABLE'
  | 'INTERNAL'

/** The errors of an input: sentences for a person, by field name. */
export type FieldErrors = Record<string, string[]>

/** An error with a message for a person (R18). */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  /** With `BAD_USER_INPUT`: the errors of each field. */
  readonly fieldErrors?: FieldErrors
  /** With `RATE_LIMITED` and `UNAVAILABLE`: seconds after which the caller should try again. */
  readonly retryAfter?: number

  constructor(
    readonly code: ErrorCode,
    message: string,
    details: { fieldErrors?: FieldErrors; retryAfter?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause })
    if (details.fieldErrors) this.fieldErrors = details.fieldErrors
    if (details.retryAfter !== undefined) this.retryAfter = details.retryAfter
  }
}

/** The one error of a token that is missing, malformed, unknown, expired or revoked. */
export const unauthenticated = () => new GatewayError('UNAUTHENTICATED', 'A valid bearer token is required.')

/** The token lacks the permission of this name. */
export const missingPermission = (permission: string) =>
  new GatewayError('FORBIDDEN', `This token lacks the permission ${permission}.`)

/** The tenant exists, but the token is not authorised for it (R19). */
export const tenantNotAuthorised = () => new GatewayError('FORBIDDEN', 'This token is not authorised for this tenant.')

/** A record does not exist in the authorised scope. @param noun for example `purchased voucher` */
export const notFound = (noun: string) => new GatewayError('NOT_FOUND', `No such ${noun}.`)

/** Returns a function that returns the given record, and throws `NOT_FOUND` for null. */
export const orNotFound =
  (noun: string) =>
  <Row>(row: Row | null): Row => {
    if (row === null) throw notFound(noun)
    return row
  }

/** The rate limit is exceeded. The window resets in `retryAfter` seconds. */
export const rateLimited = (retryAfter: number) =>
  new GatewayError('RATE_LIMITED', 'The rate limit is exceeded. Try again after the window resets.', { retryAfter })

/** The input is not valid: at least one field has at least one error. */
export const badInput = (fieldErrors: FieldErrors) =>
  new GatewayError('BAD_USER_INPUT', 'The request is not valid.', { fieldErrors })

/** Returns whether any field has an error. */
export const hasErrors = (fieldErrors: FieldErrors): boolean => Object.keys(fieldErrors).length > 0

/** Throws `BAD_USER_INPUT` when any field has an error. */
export function throwIfErrors(fieldErrors: FieldErrors): void {
  if (hasErrors(fieldErrors)) throw badInput(fieldErrors)
}
