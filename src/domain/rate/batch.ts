import type { RateWindow } from './rate.ts'

/**
 * Counts calls in one round trip.
 *
 * @param calls how many, by key
 * @returns the window of each key, with all its calls
 */
export type CountCalls = (calls: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, RateWindow>>

interface Waiting {
  key: string
  calls: number
  resolve: (window: RateWindow) => void
  reject: (error: unknown) => void
}

class RateStoreTimeout extends Error {
  override readonly name = 'RateStoreTimeout'
  readonly code = 'ETIMEDOUT'
}

/** Counts the calls that come during a round trip as one batch in the next one, so few round trips are needed. */
export class RateBatcher {
  readonly #count: CountCalls
  readonly #timeLimit: number
  #waiting: Waiting[] = []
  #inFlight = false
  /** True when the round trip in flight has taken longer than the limit. */
  #late = false

  /** @param timeLimit how long a round trip may take, in milliseconds */
  constructor(count: CountCalls, timeLimit: number) {
    this.#count = count
    this.#timeLimit = timeLimit
  }

  /**
   * Counts calls.
   *
   * @returns the window with these calls, and with those of the same key that came before
   * @throws what the round trip throws; and after the time limit, which also rejects all calls that wait, and those that
   *   come before that round trip has ended
   */
  hit(key: string, calls: number): Promise<RateWindow> {
    if (this.#late) return Promise.reject(new RateStoreTimeout('no answer'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, calls, resolve, reject })
      if (!this.#inFlight) this.#send()
    })
  }

  #send(): void {
    const sent = this.#waiting
    if (sent.length === 0) return
    this.#waiting = []
    this.#inFlight = true
    const failAll = (error: unknown) => {
      const unsent = this.#waiting
      this.#waiting = []
      for (const { reject } of sent) reject(error)
      for (const { reject } of unsent) reject(error)
    }
    const cancelTimer = afterLimit(this.#timeLimit, () => {
      this.#late = true
      failAll(new RateStoreTimeout('no answer'))
    })
    this.#count(sumByKey(sent))
      .then(windows => settle(sent, windows), failAll)
      .finally(() => {
        cancelTimer()
        this.#inFlight = false
        this.#late = false
        this.#send()
      })
  }
}

function sumByKey(hits: readonly Waiting[]): Map<string, number> {
  const calls = new Map<string, number>()
  for (const hit of hits) calls.set(hit.key, (calls.get(hit.key) ?? 0) + hit.calls)
  return calls
}

/** Gives each hit its place in the window: hits of one key were counted together. */
function settle(hits: readonly Waiting[], windows: ReadonlyMap<string, RateWindow>): void {
  const later = new Map<string, number>()
  for (let at = hits.length - 1; at >= 0; at--) {
    const { key, calls, resolve, reject } = hits[at]!
    const window = windows.get(key)
    if (!window) {
      reject(new Error('The store of rates has not counted a key.'))
      continue
    }
    const after = later.get(key) ?? 0
    later.set(key, after + calls)
    resolve({ used: window.used - after, resetsIn: window.resetsIn })
  }
}

/** The time limit of a round trip is checked this often, in milliseconds. */
const slice = 10

/** A time limit never grows beyond this many times its length. */
const longestFactor = 5

/**
 * Calls something after a time limit. Time in which the event loop was blocked, or the process did not run, does not
 * count: the answer may have arrived, and a store on the same machine may not have run either.
 *
 * @param limit in milliseconds
 * @returns a function that cancels it
 */
function afterLimit(limit: number, call: () => void): () => void {
  const start = performance.now()
  let counted = 0
  let last = start
  let cancelled = false
  let timer: NodeJS.Timeout
  const check = () => {
    const now = performance.now()
    if (now - last < 1.5 * slice) counted += slice
    last = now
    if (counted < limit && now - start < limit * longestFactor) timer = setTimeout(check, slice)
    // Timers run before sockets are read, so it first reads the data that has arrived.
    else setImmediate(() => setImmediate(() => cancelled || call()))
  }
  timer = setTimeout(check, slice)
  return () => {
    cancelled = true
    clearTimeout(timer)
  }
}
