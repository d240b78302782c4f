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
  /** The rate limit of the token, or the default of the service; and the counter of the calls. */
  rate: RateBudget
  /** Identifies the rate window: the token and the IP address, whose requests share the window (R28). */
  rateKey: string
  /** The state of the rate window after the last count of this request. */
  window: RateWindow
  /** Returns true while the connection is open and no answer has been sent. */
  isWaiting: () => boolean
  /**
   * The number of quota units of the fields that the request has run. The authentication has already counted the first
   * unit.
   */
  cost: number
  /** The part of the cost that exceeded the rate limit, in quota units. */
  rejectedCost: number
  /** The maximum cost of the request in quota units, estimated before it runs; at least 1. */
  requestedCost: number
  /** Resolves when the pending quota units are counted; undefined when no units are pending. */
  counting?: Promise<unknown> | undefined
  /** The id of the first tenant that a field of the request names. */
  tenantId?: number
}
