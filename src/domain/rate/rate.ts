/** The state of a caller's rate window (R28). */
export interface RateWindow {
  /** Calls in the window, with rejected ones. */
  used: number
  /** Milliseconds until it resets, above 0. */
  resetsIn: number
}

/** Counts calls in fixed windows; the first call opens a window. Counting is atomic. */
export interface RateCounter {
  /**
   * Counts calls in one step. It never fails: a counter whose store fails counts by itself.
   *
   * @param calls how many, at least 1
   * @param limit what the window allows: calls beyond it need not be counted
   * @returns the window with these calls
   */
  hit(key: string, calls: number, limit: number): RateWindow | Promise<RateWindow>
}

/** The number of calls that a window allows, and the counter of the calls. */
export interface RateBudget {
  limit: number
  counter: RateCounter
}

/** The length of a window, in seconds (R28). */
export const rateWindowSeconds = 60

/**
 * Returns whole seconds until the window resets, at least 1 (R29). Rounds to milliseconds first, because sums of instants
 * are not exact.
 */
export const secondsLeft = ({ resetsIn }: RateWindow): number => Math.max(1, Math.ceil(Math.round(resetsIn) / 1000))

/** Returns the quota units left in the window (R29). */
export const callsLeft = (limit: number, { used }: RateWindow): number => Math.max(0, limit - used)
