/** The state of a caller's rate window (R28). */
export interface RateWindow {
  /** The number of calls in the window, including rejected calls. */
  used: number
  /** The time until the window resets, in milliseconds, greater than 0. */
  resetsIn: number
}

/** Counts calls in fixed windows; the first call opens a window. Counting is atomic. */
export interface RateCounter {
  /**
   * Counts several calls at once. Never fails: when the store of rates fails, counts in the memory of the process.
   *
   * @param calls the number of calls, at least 1
   * @param limit the number of calls that the window allows; above it, the counter may be inexact
   * @returns the window after these calls
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
 * Returns the whole seconds until the window resets, at least 1 (R29). Rounds to milliseconds first, because sums of
 * floating-point times are not exact.
 */
export const secondsLeft = ({ resetsIn }: RateWindow): number => Math.max(1, Math.ceil(Math.round(resetsIn) / 1000))

/** Returns the number of quota units that are left in the window (R29), at least 0. */
export const callsLeft = (limit: number, { used }: RateWindow): number => Math.max(0, limit - used)
