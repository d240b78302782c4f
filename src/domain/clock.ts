import type { Sql } from '../db/connect.ts'
import { GatewayError } from './errors.ts'

/** Watches the database's clock: what is stamped after it stepped back could be missed by those who resume. */
export interface ClockWatch {
  /** Looks at the clock; called now and then. Tells `onStep` how far it stepped back, in milliseconds. */
  look(): Promise<void>
  /** @throws `UNAVAILABLE` while the clock has stepped back, and not yet come to where it was */
  requireSteady(): void
}

/** What a clock may lose against ours in between two looks without having been set back, in milliseconds. */
const tolerance = 2

/**
 * @param now our own clock in milliseconds, which never steps
 */
export function createClockWatch(
  sql: Sql,
  onStep: (milliseconds: number) => void,
  now: () => number = () => performance.now(),
): ClockWatch {
  /** The latest reading: the database's clock, and our clock when it had arrived; both milliseconds. */
  let latest: { clock: number; arrived: number } | null = null
  /** Where the clock was before it stepped back. */
  let reached: number | null = null
  return {
    async look() {
      const sent = now()
      const [row] = await sql<{ clock: number }[]>`
        select /* clock.look */ extract(epoch from clock_timestamp()) * 1000 as clock`
      if (!row) return
      if (latest) {
        // It has gone on at least for as long as lies between the two looks.
        const expected = latest.clock + (sent - latest.arrived)
        if (row.clock < expected - tolerance) {
          reached = Math.max(reached ?? 0, expected)
          onStep(expected - row.clock)
        }
      }
      if (reached !== null && row.clock > reached) reached = null
      latest = { clock: row.clock, arrived: now() }
    },
    requireSteady() {
      if (reached === null || !latest) return
      const retryAfter = Math.min(3600, Math.ceil((reached - latest.clock) / 1000) + 1)
      throw new GatewayError('UNAVAILABLE', 'The clock of the service was set back. Try again later.', { retryAfter })
    },
  }
}
