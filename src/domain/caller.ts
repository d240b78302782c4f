import type { Token } from './token.ts'

/** Who asks. */
export interface Caller {
  token: Token
  /** The pair of token and address whose rate is spent (R28). */
  rateKey: string
  /** Operations that the door has already counted: it counts each request once. */
  prepaid: number
}
