/** The kinds of errors that callers see. Each transport has one translation per code. */
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

/** The errors of an input: for the name of each field, a list of sentences for a person. */
export type FieldErrors = Record<string, string[]>

/** An error with a message for a person (R18). */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  /** The errors of each field; only with the code `BAD_USER_INPUT`. */
  readonly fieldErrors?: FieldErrors
  /**
   * The time after which the caller should try again, in seconds; only with the codes `RATE_LIMITED` and `UNAVAILABLE`.
   */
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

/**
 * Returns the error of a token that is missing, malformed, unknown, expired or revoked. All five cases have the same
 * error.
 */
export const unauthenticated = () => new GatewayError('UNAUTHENTICATED', 'A valid bearer token is required.')

/** Returns the error of a token that does not have the permission of this name. */
export const missingPermission = (permission: string) =>
  new GatewayError('FORBIDDEN', `This token lacks the permission ${permission}.`)

/** Returns the error of a tenant that exists, but for which the token is not authorised (R19). */
export const tenantNotAuthorised = () => new GatewayError('FORBIDDEN', 'This token is not authorised for this tenant.')

/**
 * Returns the error of a record that does not exist in the authorised scope.
 *
 * @param noun for example `purchased voucher`
 */
export const notFound = (noun: string) => new GatewayError('NOT_FOUND', `No such ${noun}.`)

/** Returns a function that returns its argument, and throws `NOT_FOUND` when the argument is null. */
export const orNotFound =
  (noun: string) =>
  <Row>(row: Row | null): Row => {
    if (row === null) throw notFound(noun)
    return row
  }

/** Returns the error of a caller over the rate limit. The rate window resets in `retryAfter` seconds. */
export const rateLimited = (retryAfter: number) =>
  new GatewayError('RATE_LIMITED', 'The rate limit is exceeded. Try again after the window resets.', { retryAfter })

/** Returns the error of an invalid input. At least one field must have an error. */
export const badInput = (fieldErrors: FieldErrors) =>
  new GatewayError('BAD_USER_INPUT', 'The request is not valid.', { fieldErrors })

/** Returns whether any field has an error. */
export const hasErrors = (fieldErrors: FieldErrors): boolean => Object.keys(fieldErrors).length > 0

/** Throws `BAD_USER_INPUT` when any field has an error. */
export function throwIfErrors(fieldErrors: FieldErrors): void {
  if (hasErrors(fieldErrors)) throw badInput(fieldErrors)
}
