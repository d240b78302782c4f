/** The only error class of this package. */

/**
 * The machine-readable code of an error. The service sends the first twelve codes; the client sets the others for
 * problems with connections, answers and webhooks.
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
  /** The service accepts only trusted documents, and the documents of this client version are not among them. */
  | 'DOCUMENT_NOT_TRUSTED'
  /** There was no connection, or the connection broke before the answer was complete. */
  | 'CONNECTION_FAILED'
  /** No byte arrived within `timeoutMs`. */
  | 'TIMEOUT'
  /** The answer does not come from this service: the address may be wrong, or a proxy answered. */
  | 'INVALID_RESPONSE'
  /** The export ended without the service's last line. Continue the export from the last cursor. */
  | 'EXPORT_INCOMPLETE'
  /** The webhook is not signed with the secret, is too old, or is not an event. */
  | 'INVALID_WEBHOOK'
  /** The webhook is valid, but this version of the client does not know the type of the event. */
  | 'UNKNOWN_EVENT'

/**
 * Bodies of v1 have no error code, so the code depends on the status. 502 and 504 come from proxies in front of the
 * service.
 */
const codesByStatus: Record<number, ErrorCode> = {
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

/** The details of an error that its message does not contain. */
export interface ErrorDetails {
  status?: number | undefined
  code?: string | undefined
  fieldErrors?: Record<string, string[]> | undefined
  requestId?: string | undefined
  retryAfter?: number | undefined
  cause?: unknown
}

/**
 * Thrown for every unsuccessful answer and every failed connection. When the caller aborts a signal, the call throws
 * the reason of the signal instead.
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
  /** The machine-readable code. A later version of the service can send codes that this type does not list. */
  readonly code: ErrorCode | (string & {})
  /** The messages of the invalid fields, by field name. Empty unless the code is `BAD_USER_INPUT`. */
  readonly fieldErrors: Readonly<Record<string, string[]>>
  /** Identifies the request in the service's log. It is set even when there was no answer. */
  readonly requestId: string | undefined
  /** The delay before the next attempt, in seconds (`Retry-After`). */
  readonly retryAfter: number | undefined

  /** @param message a sentence; the constructor adds the errors of fields and the message of the cause */
  constructor(message: string, details: ErrorDetails = {}) {
    const fields = Object.entries(details.fieldErrors ?? {}).map(([name, texts]) => `${name}: ${texts.join(' ')}`)
    const reasons = details.cause === undefined ? [] : [`(${reasonOf(details.cause)})`]
    super(
      [message, ...fields, ...reasons].join(' '),
      details.cause === undefined ? undefined : { cause: details.cause },
    )
    this.status = details.status
    this.code = details.code ?? codesByStatus[details.status ?? 0] ?? 'INVALID_RESPONSE'
    this.fieldErrors = details.fieldErrors ?? {}
    this.requestId = details.requestId
    this.retryAfter = details.retryAfter
  }

  /**
   * True when the service no longer has all removals since the given time. The caller must then read all lists from the
   * beginning.
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

/**
 * Returns why something failed. The message of an error from `fetch` says only that it failed. The reason is in
 * `cause`.
 */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause !== undefined) return reasonOf(error.cause)
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join(', ')
  return error.message || error.name
}
