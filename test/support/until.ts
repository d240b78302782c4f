import { setTimeout as pause } from 'node:timers/promises'

/**
 * Repeats a check until it returns a truthy value.
 *
 * @param holds a truthy value ends the wait
 * @param timeout the maximum time in milliseconds, for a check that must hold soon. Only the beginning of a check
 * counts, because a slow machine delays answers
 * @returns the value
 * @throws Error when a check that began after the timeout does not hold
 */
export async function until<Value>(what: string, holds: () => Value | Promise<Value>, timeout = 10_000) {
  for (const deadline = performance.now() + timeout; ; await pause(20)) {
    const began = performance.now()
    const value = await holds()
    if (value) return value
    if (began > deadline) throw new Error(`not within ${timeout} ms: ${what}`)
  }
}
