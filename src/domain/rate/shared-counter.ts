import { type CountCalls, RateBatcher } from './batch.ts'
import type { RateWindow } from './rate.ts'
import { RateWindows } from './windows.ts'

/** The interval at which a failed store is tried again, in milliseconds. */
const retryInterval = 250

/** The maximum number of windows that one round trip shares with the store. */
const chunkSize = 500

/**
 * Creates a counter whose store several processes share. While the store fails, this process counts in its own memory,
 * without a wait. When the store works again, the process adds these counts to the store.
 *
 * @param options.timeLimit the time after which a round trip to the store has failed, in milliseconds
 * @param options.report called with the error when the store has failed, and with null when it counts again
 */
export function createSharedRateCounter(
  count: CountCalls,
  { timeLimit, report }: { timeLimit: number; report: (error: unknown) => void },
) {
  const windows = new RateWindows()
  const store = new RateBatcher(count, timeLimit)
  let failed = false
  let closed = false
  let retry: NodeJS.Timeout | undefined

  function fail(error: unknown): void {
    if (failed || closed) return
    failed = true
    report(error)
    retryLater()
  }

  function retryLater(): void {
    retry = setTimeout(() => {
      // Counts zero calls, because that is a write: a store that only answers reads has not recovered.
      store.hit('check', 0).then(recover, retryLater)
    }, retryInterval).unref()
    if (closed) clearTimeout(retry)
  }

  async function recover(): Promise<void> {
    failed = false
    report(null)
    await share().catch(fail)
  }

  /** Adds the calls that only this process has counted to the store. @throws an error when the store fails */
  async function share(): Promise<void> {
    const keys = windows.unsharedKeys()
    for (let at = 0; at < keys.length; at += chunkSize) {
      await Promise.all(keys.slice(at, at + chunkSize).map(key => countInStore(key, 0)))
    }
  }

  /** Counts calls in the store, together with the calls of the key that only this process has counted so far. */
  async function countInStore(key: string, calls: number): Promise<RateWindow> {
    const unshared = windows.takeUnshared(key)
    try {
      const window = await store.hit(key, calls + unshared)
      windows.refresh(key, window)
      return window
    } catch (error) {
      windows.returnUnshared(key, unshared)
      throw error
    }
  }

  async function hitStore(key: string, calls: number): Promise<RateWindow> {
    try {
      return await countInStore(key, calls)
    } catch (error) {
      fail(error)
      return windows.hit(key, calls)
    }
  }

  return {
    share,
    /** Counts zero calls, so that a failure of the store is reported before the first call. */
    check: (): Promise<void> => store.hit('check', 0).then(() => {}, fail),

    hit(key: string, calls: number, limit: number): RateWindow | Promise<RateWindow> {
      const exceeded = windows.findExceeded(key, calls, limit)
      if (exceeded) return exceeded
      return failed ? windows.hit(key, calls) : hitStore(key, calls)
    },

    /** Stops the checks of a failed store. */
    close(): void {
      closed = true
      clearTimeout(retry)
    },
  }
}
