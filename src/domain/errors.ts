/** Every way in which the gateway refuses. Each door translates these once, and knows no others. */
export type ErrorCode =
  | 'UNAUTHENTICATED'
  | 'RATE_LIMITED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'BAD_USER_INPUT'
  | 'TOO_LARGE'
  | 'TOO_SLOW'
  | 'METHOD_NOT_ALLOWED'
  | 'UNAVAILABLE'
  | 'INTERNAL'

/** What is wrong with each field of an input: sentences for a person, by field name. */
export type FieldErrors = Record<string, string[]>

/** A refusal, with a sentence for the person who reads it (R18). */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: ErrorCode
  /** With `BAD_USER_INPUT`: the errors of each field. */
  readonly fieldErrors?: FieldErrors
  /** With `RATE_LIMITED` and `UNAVAILABLE`: seconds until it is worth trying again. */
  readonly retryAfter?: number

  constructor(
    code: ErrorCode,
    message: string,
    details: { fieldErrors?: FieldErrors; retryAfter?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause })
    this.code = code
    if (details.fieldErrors) this.fieldErrors = details.fieldErrors
    if (details.retryAfter !== undefined) this.retryAfter = details.retryAfter
  }
}

/** One answer for a token that is missing, malformed, unknown, expired or revoked. */
export const unauthenticated = () => new GatewayError('UNAUTHENTICATED', 'A valid bearer token is required.')

/** @param permission the name of the permission that the token lacks */
export const lacksPermission = (permission: string) =>
  new GatewayError('FORBIDDEN', `This token lacks the permission ${permission}.`)

/** The tenant exists, but the token is not authorised for it (R19). */
export const lacksTenant = () => new GatewayError('FORBIDDEN', 'This token is not authorised for this tenant.')

/** @param what a noun: `tenant`, `purchased voucher` */
export const notFound = (what: string) => new GatewayError('NOT_FOUND', `No such ${what}.`)

/** @returns a function that gives the record that was found, and throws `NOT_FOUND` when there is none */
export const orNotFound =
  (what: string) =>
  <Row>(row: Row | null): Row => {
    if (row === null) throw notFound(what)
    return row
  }

/** @param retryAfter seconds until the window resets */
export const rateLimited = (retryAfter: number) =>
  new GatewayError('RATE_LIMITED', 'The rate limit is exceeded. Try again after the window resets.', { retryAfter })

/** @param errors at least one field with at least one sentence */
export const badInput = (fieldErrors: FieldErrors) =>
  new GatewayError('BAD_USER_INPUT', 'The request is not valid.', { fieldErrors })
