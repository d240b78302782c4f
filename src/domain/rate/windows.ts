import { type RateCounter, type RateWindow, rateWindowSeconds } from './rate.ts'

interface OpenWindow {
  used: number
  /** An instant of `performance.now()`. */
  resetsAt: number
  /** The number of calls that only this process has counted. */
  unshared: number
}

const windowLength = rateWindowSeconds * 1000

/** Keeps rate windows in the memory of this process. */
export class RateWindows implements RateCounter {
  readonly #windows = new Map<string, OpenWindow>()
  #sweepAt = performance.now() + windowLength

  /** Counts calls in memory, without the store. */
  hit(key: string, calls: number): RateWindow {
    const now = performance.now()
    const window = this.#find(key, now) ?? this.#open(key, now + windowLength)
    window.used += calls
    window.unshared += calls
    return { used: window.used, resetsIn: window.resetsAt - now }
  }

  /**
   * Returns the window of a key that has already exceeded the limit, so that the store need not count the calls; null
   * when the limit is not exceeded yet.
   */
  findExceeded(key: string, calls: number, limit: number): RateWindow | null {
    const now = performance.now()
    const window = this.#find(key, now)
    return window && window.used > limit ? { used: window.used + calls, resetsIn: window.resetsAt - now } : null
  }

  /** Updates a window with the count of the shared store. */
  refresh(key: string, { used, resetsIn }: RateWindow): void {
    const now = performance.now()
    const resetsAt = now + resetsIn
    const window = this.#find(key, now) ?? this.#open(key, resetsAt)
    window.used = used + window.unshared
    window.resetsAt = resetsAt
  }

  /** Returns the keys of open windows with calls that only this process has counted. */
  unsharedKeys(): string[] {
    const now = performance.now()
    return [...this.#windows].flatMap(([key, { unshared, resetsAt }]) => (unshared > 0 && resetsAt > now ? [key] : []))
  }

  /** Returns the number of calls of a key that only this process has counted, and marks them as shared. */
  takeUnshared(key: string): number {
    const window = this.#find(key, performance.now())
    const calls = window?.unshared ?? 0
    if (window) window.unshared = 0
    return calls
  }

  /** Marks calls as unshared again, when the store could not count the calls that `takeUnshared` returned. */
  returnUnshared(key: string, calls: number): void {
    const window = this.#find(key, performance.now())
    if (window) window.unshared += calls
  }

  #find(key: string, now: number): OpenWindow | null {
    const window = this.#windows.get(key)
    return window && window.resetsAt > now ? window : null
  }

  #open(key: string, resetsAt: number): OpenWindow {
    this.#deleteExpired()
    const window = { used: 0, resetsAt, unshared: 0 }
    this.#windows.set(key, window)
    return window
  }

  /** Deletes expired windows, at most once per length of a window. */
  #deleteExpired(): void {
    const now = performance.now()
    if (now < this.#sweepAt) return
    this.#sweepAt = now + windowLength
    for (const [key, window] of this.#windows) if (window.resetsAt <= now) this.#windows.delete(key)
  }
}
