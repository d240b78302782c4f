import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'

/** The state of a caller's rate window (R28). */
export interface RateWindow {
  /** Calls in the window, with rejected ones. */
  used: number
  /** Milliseconds until it resets; the whole length when no window is open. */
  resetsIn: number
}

/** Counts calls in fixed windows; the first call opens a window. Counting is atomic. */
interface RateCounter {
  /** Counts one call, and returns the window. */
  hit(key: string): Promise<RateWindow>
  /** Returns the window without counting. */
  read(key: string): Promise<RateWindow>
}

/** How many calls a window allows, and the counter of the calls. */
export interface RateBudget {
  limit: number
  counter: RateCounter
}

/** The length of a window, in seconds (R28). */
export const rateWindowSeconds = 60

/** @returns a counter in memory, for one process, which deletes expired windows */
export function createMemoryRateCounter(): RateCounter {
  const limiter = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: rateWindowSeconds })
  return {
    hit: key => limiter.consume(key).then(toWindow),
    read: key => limiter.get(key).then(toWindow),
  }
}

/** @param open the open window, or null */
const toWindow = (open: RateLimiterRes | null): RateWindow => ({
  used: open?.consumedPoints ?? 0,
  resetsIn: open?.msBeforeNext ?? rateWindowSeconds * 1000,
})
