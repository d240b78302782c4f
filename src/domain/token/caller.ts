import type { RateBudget, RateWindow } from '../rate/rate.ts'
import type { TokenLookup } from './directory.ts'
import type { Token } from './token.ts'

/** The sender of an authenticated request. */
export interface Caller {
  token: Token
  lookUp: () => TokenLookup | Promise<TokenLookup>
  address: string
  /** The id of the request, which the response returns (R17). */
  requestId: string
  /** The token's own rate limit, or the default. */
  rate: RateBudget
  /** The token and the address, whose requests share a rate window (R28). */
  rateKey: string
  /** The rate window, after the last quota unit of the request was counted. */
  window: RateWindow
  /** Returns true while the caller waits: the answer has not been given, and the connection is open. */
  isWaiting: () => boolean
  /** The quota units of the request's fields. The authentication has already counted the first unit. */
  cost: number
  /** The part of the cost that exceeded the rate limit. */
  rejectedCost: number
  /** The maximum cost of the request in quota units, estimated before it runs; at least 1. */
  requestedCost: number
  /** Resolves when the pending quota units are counted; undefined when there are none. */
  counting?: Promise<unknown> | undefined
  /** The first tenant that a field of the request names. */
  tenantId?: number
}
