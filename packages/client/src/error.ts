/** The one error of this package. */

/**
 * The kind of an error, for programs. The first twelve come from the service, the others from connections, answers and webhooks.
 */
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
  /** The service runs trusted documents only, and does not trust the documents of this version of the client. */
  | 'DOCUMENT_NOT_TRUSTED'
  /** No connection, or the connection broke before the answer was complete. */
  | 'CONNECTION_FAILED'
  /** No byte arrived within `timeoutMs`. */
  | 'TIMEOUT'
  /** The answer is not one of this service: the address may be wrong, or a proxy answered. */
  | 'INVALID_RESPONSE'
  /** The export ended without its last line: continue it from its last cursor. */
  | 'EXPORT_INCOMPLETE'
  /** A webhook is not signed with the secret, is too old, or is no event. */
  | 'INVALID_WEBHOOK'
  /** A webhook is valid, but only a later version of the client knows its type. */
  | 'UNKNOWN_EVENT'

/** v1 has no codes in its bodies, so they follow from the status. 502 and 504 come from proxies before the service. */
const codes: Record<number, ErrorCode> = {
  400: 'BAD_USER_INPUT',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'TOO_SLOW',
  413: 'TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'BAD_USER_INPUT',
  429: 'RATE_LIMITED',
  431: 'TOO_LARGE',
  500: 'INTERNAL',
  502: 'CONNECTION_FAILED',
  503: 'UNAVAILABLE',
  504: 'CONNECTION_FAILED',
}

/** Details of an error, without its message. */
export interface ErrorDetails {
  status?: number | undefined
  code?: string | undefined
  fieldErrors?: Record<string, string[]> | undefined
  requestId?: string | undefined
  retryAfter?: number | undefined
  cause?: unknown
}

/**
 * Thrown for every answer that is not a success, and for every connection that fails. An abort throws its own reason.
 *
 * @example
 * import { VoucherGatewayError } from '@voucher-gateway/client'
 *
 * const voucher = await client.purchasedVoucher(tenantId, voucherId).catch(error => {
 *   if (error instanceof VoucherGatewayError && error.code === 'NOT_FOUND') return null
 *   throw error
 * })
 */
export class VoucherGatewayError extends Error {
  override readonly name = 'VoucherGatewayError'
  /** The HTTP status; undefined when there was no answer. */
  readonly status: number | undefined
  /** The kind of the error. A later version of the service can send codes that are not in the list. */
  readonly code: ErrorCode | (string & {})
  /** With `BAD_USER_INPUT`: sentences by the name of the field; else empty. */
  readonly fieldErrors: Readonly<Record<string, string[]>>
  /** Identifies the request in the service's log. It is also set without an answer. */
  readonly requestId: string | undefined
  /** The delay before the next attempt, in seconds (`Retry-After`). */
  readonly retryAfter: number | undefined

  /** @param message a sentence: the errors of fields and the reason of the cause are added to it */
  constructor(message: string, details: ErrorDetails = {}) {
    const fields = Object.entries(details.fieldErrors ?? {}).map(([name, texts]) => `${name}: ${texts.join(' ')}`)
    const reasons = details.cause === undefined ? [] : [`(${reasonOf(details.cause)})`]
    super(
      [message, ...fields, ...reasons].join(' '),
      details.cause === undefined ? undefined : { cause: details.cause },
    )
    this.status = details.status
    this.code = details.code ?? codes[details.status ?? 0] ?? 'INVALID_RESPONSE'
    this.fieldErrors = details.fieldErrors ?? {}
    this.requestId = details.requestId
    this.retryAfter = details.retryAfter
  }

  /**
   * True when removals can no longer bring the copy up to date: read all lists from their beginning.
   *
   * @example
   * try {
   *   await client.changes({ after: lastTime })
   * } catch (error) {
   *   if (!(error instanceof VoucherGatewayError && error.needsFullPass)) throw error
   *   await copy.readEverything()
   * }
   */
  get needsFullPass(): boolean {
    const { updatedSince = [], after = [] } = this.fieldErrors
    return this.code === 'BAD_USER_INPUT' && [...updatedSince, ...after].some(text => text.includes('full pass'))
  }
}

/** Returns why something failed. `fetch` itself says only that it failed, and has the reason in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause !== undefined) return reasonOf(error.cause)
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join(', ')
  return error.message || error.name
}
