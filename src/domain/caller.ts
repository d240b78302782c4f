import type { RateBudget } from './rate.ts'
import type { Token } from './token.ts'

/** Who asks. */
export interface Caller {
  token: Token
  /** From where. */
  address: string
  /** The id of the request, which the answer names too (R17). */
  requestId: string
  /** What the token may spend: as much as it says itself, or else what the service allows by default. */
  rate: RateBudget
  /** The pair of token and address whose rate is spent (R28). */
  rateKey: string
  /** How many v1 operations the request has performed so far. The door has counted one before it knows of any. */
  operations: number
}
