import type { RateBudget, RateWindow } from '../rate/rate.ts'
import type { Token } from './token.ts'

/** The sender of an authenticated request. */
export interface Caller {
  token: Token
  /** The client's IP address. */
  address: string
  /** The id of the request, which the response returns (R17). */
  requestId: string
  /** The token's own rate limit, or the default. */
  rate: RateBudget
  /** The token and the address, whose requests share a rate window (R28). */
  rateKey: string
  /** The window after the request's last counted operation. */
  window: RateWindow
  /** Returns true while the caller waits for the answer: it has not been given, and the connection is open. */
  isWaiting: () => boolean
  /** The v1 operations that the request has performed. The authentication has counted the first one already. */
  operations: number
  /** The operations that the rate did not allow. */
  rejectedOperations: number
  /** The most v1 operations that the request performs, as worked out before it runs; at least 1. */
  requestedOperations: number
  /** Ends when the operations that are being counted are counted; undefined: there are none. */
  counting?: Promise<unknown> | undefined
  /** The first tenant that a field of the request names. */
  tenantId?: number
}
