import { setImmediate as nextEvents } from 'node:timers/promises'

/** The longest wait of a step for other requests, in milliseconds: a service that is always busy exports slowly. */
const maxWaitMs = 4

/**
 * Schedules the steps of exports. One export at a time takes one step, so many exports delay other requests as little as
 * one. Each step waits until no other request is under way.
 *
 * @param whenIdle waits until then, for at most a limit in milliseconds
 * @returns a function that waits until the caller may take a step of some 0.5 ms
 */
export function createStepScheduler(whenIdle: (limit: number) => Promise<void>): () => Promise<void> {
  let last = Promise.resolve()
  const wait = async (former: Promise<void>) => {
    await former
    // Lets requests that have arrived in between begin.
    await nextEvents()
    await whenIdle(maxWaitMs)
  }
  return () => {
    last = wait(last)
    return last
  }
}
