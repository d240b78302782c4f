import type { RateBudget } from './rate.ts'
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
  /** How many v1 operations the request has performed. The authentication has counted the first one already. */
  operations: number
}
