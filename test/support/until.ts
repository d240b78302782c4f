import { setTimeout as pause } from 'node:timers/promises'

/**
 * Repeats a check until it holds.
 *
 * @param timeout in milliseconds; give one when the check has to hold soon
 * @throws Error after the timeout, with the last failure
 */
export async function until(what: string, holds: () => unknown, timeout = 10_000): Promise<void> {
  for (const deadline = performance.now() + timeout; !(await holds()); await pause(20)) {
    if (performance.now() > deadline) throw new Error(`not within ${timeout} ms: ${what}`)
  }
}
