import { setImmediate as nextEvents, setTimeout as pause } from 'node:timers/promises'
import DataLoader from 'dataloader'
import type { RateWindow } from './rate.ts'

/**
 * Counts calls in one round trip.
 *
 * @param calls the number of calls, by key
 * @returns the window of each key, after these calls
 */
export type CountCalls = (calls: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, RateWindow>>

interface Hit {
  key: string
  calls: number
}

class RateStoreTimeout extends Error {
  override readonly name = 'RateStoreTimeout'
  readonly code = 'ETIMEDOUT'
}

/**
 * Counts all calls that arrive during a round trip as one batch in the next round trip. So only one round trip to the
 * store runs at a time.
 */
export class RateBatcher {
  readonly #hits = new DataLoader<Hit, RateWindow>(hits => this.#send(hits), {
    cache: false,
    batchScheduleFn: send => void this.#roundTrip.then(send),
  })
  /** Resolves when the last round trip has ended or has exceeded the time limit. */
  #roundTrip: Promise<unknown> = Promise.resolve()
  /** True while a round trip runs that has exceeded the time limit. */
  #late = false

  /** @param timeLimit the maximum time of a round trip, in milliseconds */
  constructor(
    private readonly count: CountCalls,
    private readonly timeLimit: number,
  ) {}

  /**
   * Counts calls.
   *
   * @returns the window after these calls, without later calls of the same batch
   * @throws the error of the round trip. When a round trip exceeds the time limit, all waiting calls fail, and so do
   * later calls until that round trip ends
   */
  hit(key: string, calls: number): Promise<RateWindow> {
    return this.#late ? Promise.reject(new RateStoreTimeout('no answer')) : this.#hits.load({ key, calls })
  }

  async #send(hits: readonly Hit[]): Promise<(RateWindow | Error)[]> {
    if (this.#late) throw new RateStoreTimeout('no answer')
    const totals = new Map<string, number>()
    // The number of calls of the key, including this call.
    const calls = hits.map(hit => {
      const sum = (totals.get(hit.key) ?? 0) + hit.calls
      totals.set(hit.key, sum)
      return sum
    })
    const windows = await this.#withinLimit(this.count(totals))
    return hits.map(({ key }, index) => {
      const window = windows.get(key)
      if (!window) return new Error('The store of rates has not counted a key.')
      return { used: window.used - totals.get(key)! + calls[index]!, resetsIn: window.resetsIn }
    })
  }

  /** Returns the result of a round trip, or throws when the round trip exceeds the time limit. */
  #withinLimit<Result>(counting: Promise<Result>): Promise<Result> {
    let hasEnded = false
    const end = () => {
      hasEnded = true
      this.#late = false
    }
    counting.then(end, end)
    const limited = waitForLimit(this.timeLimit, () => hasEnded).then(() => {
      if (hasEnded) return counting
      this.#late = true
      throw new RateStoreTimeout('no answer')
    })
    const first = Promise.race([counting, limited])
    this.#roundTrip = first.catch(() => {})
    return first
  }
}

/** The interval at which the time limit of a round trip is checked, in milliseconds. */
const checkIntervalMs = 10

/** The maximum time until a time limit ends, as a multiple of the limit. */
const maxWaitFactor = 5

/**
 * Waits for a time limit. Time in which the event loop is blocked or the process is stopped does not count, because the
 * answer may have arrived in that time, or a store on the same machine may have been stopped too.
 *
 * @param limit in milliseconds
 * @param hasEnded returns true when the round trip has ended
 */
async function waitForLimit(limit: number, hasEnded: () => boolean): Promise<void> {
  const start = performance.now()
  let last = start
  for (let counted = 0; counted < limit && last - start < limit * maxWaitFactor && !hasEnded(); ) {
    await pause(checkIntervalMs)
    const now = performance.now()
    if (now - last < 1.5 * checkIntervalMs) counted += checkIntervalMs
    last = now
  }
  // Timers run before sockets are read, so this waits until the data that has arrived is read.
  await nextEvents()
  await nextEvents()
}
