import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'

/** A caller's window as it stands (R28). */
export interface RateWindow {
  /** Calls counted in the window, those that were refused among them. */
  used: number
  /** Milliseconds until it resets; the whole length when it is not open. */
  resetsIn: number
}

/** Counts calls in fixed windows, each opened by its first call. Counting is atomic. */
export interface RateCounter {
  /** Counts one call. */
  hit(key: string): Promise<RateWindow>
  /** Counts nothing. */
  read(key: string): Promise<RateWindow>
}

/** How many calls a window allows, and what counts them. */
export interface RateBudget {
  limit: number
  counter: RateCounter
}

/** The length of a window, in seconds (R28). */
export const rateWindowSeconds = 60

/** A counter for one process; windows that have ended are forgotten. */
export function createMemoryRateCounter(): RateCounter {
  const limiter = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: rateWindowSeconds })
  return {
    hit: key => limiter.consume(key).then(toWindow),
    read: key => limiter.get(key).then(toWindow),
  }
}

/** @param open null: there is none */
const toWindow = (open: RateLimiterRes | null): RateWindow => ({
  used: open?.consumedPoints ?? 0,
  resetsIn: open?.msBeforeNext ?? rateWindowSeconds * 1000,
})
