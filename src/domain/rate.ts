import { RateLimiterMemory } from 'rate-limiter-flexible'

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
    async hit(key) {
      const { consumedPoints, msBeforeNext } = await limiter.consume(key)
      return { used: consumedPoints, resetsIn: msBeforeNext }
    },
    async read(key) {
      const window = await limiter.get(key)
      return { used: window?.consumedPoints ?? 0, resetsIn: window?.msBeforeNext ?? rateWindowSeconds * 1000 }
    },
  }
}
