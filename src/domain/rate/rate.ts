/** The state of a caller's rate window (R28). */
export interface RateWindow {
  /** The calls in the window, rejected ones included. */
  used: number
  /** Milliseconds until the window resets, above 0. */
  resetsIn: number
}

/** Counts calls in fixed windows; the first call opens a window. Counting is atomic. */
export interface RateCounter {
  /**
   * Counts calls in one step. Never fails: when the store of rates fails, the counter counts in the memory of the
   * process.
   *
   * @param calls their number, at least 1
   * @param limit the calls that the window allows; further calls need not be counted
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
