/** Watches the clock of the database: clients that resume could miss what is stamped after it stepped back. */
import type { Sql } from '../db/connect.ts'
import { GatewayError } from './errors.ts'
import { requireFullPass } from './full-pass.ts'

export interface ClockWatch {
  /**
   * Looks at the clock; to be called each 250 ms. When it stepped back, calls `onStep` and demands a full pass. Returns
   * at once while another look is under way.
   *
   * @throws when the database does not answer; the next look then demands what is still to be demanded
   */
  look(): Promise<void>
  /**
   * Compares the clock with the newest stamps and with where it had been, which shows a step back that happened while
   * the service did not run. To be called at start, and again only when it failed.
   */
  compareStamps(): Promise<void>
  /** @throws `UNAVAILABLE` while the clock has stepped back, and not yet come to where it was */
  requireSteady(): void
}

/**
 * By how much two clocks may differ over a time without either having been set, in milliseconds. NTP slews a clock
 * instead of setting it: chrony, the fastest, by 8.3 %.
 */
const allowance = (elapsed: number) => 2 + 0.1 * Math.max(0, elapsed)

/**
 * @param onStep called with how far the clock stepped back, in milliseconds
 * @param now the service's own clock in milliseconds, which never steps
 */
export function createClockWatch(
  sql: Sql,
  onStep: (milliseconds: number) => void,
  now: () => number = () => performance.now(),
): ClockWatch {
  /** The latest reading: the database's clock, and the service's own when it was asked for and had arrived. */
  let latest: { clock: number; sent: number; arrived: number } | null = null
  /** Where the clock was before it stepped back, at most. */
  let reached: number | null = null
  /** The same, until the full pass is demanded. */
  let owed: number | null = null
  let looking = false

  function stepped(from: number, milliseconds: number): void {
    reached = Math.max(reached ?? 0, from)
    owed = Math.max(owed ?? 0, from)
    onStep(milliseconds)
  }

  async function demand(): Promise<void> {
    if (owed === null) return
    const demanded = owed
    await requireFullPass(sql, Math.ceil(demanded * 1000) + 1)
    if (owed === demanded) owed = null
  }

  async function read(): Promise<void> {
    const sent = now()
    const [row] = await sql<{ clock: number }[]>`
      select /* clock.look */ extract(epoch from clock_timestamp()) * 1000 as clock`
    if (!row) return
    const arrived = now()
    if (latest) {
      // At least this long lies between the two readings, and at most from `latest.sent` to `arrived`.
      const elapsed = sent - latest.arrived
      const behind = latest.clock + elapsed - row.clock
      if (behind > allowance(elapsed)) {
        const longest = arrived - latest.sent
        stepped(latest.clock + longest + allowance(longest), behind)
      }
    }
    if (reached !== null && row.clock > reached) reached = null
    latest = { clock: row.clock, sent, arrived }
  }

  return {
    async look() {
      if (looking) return
      looking = true
      try {
        await read()
        await demand()
      } finally {
        looking = false
      }
    },

    async compareStamps() {
      const [row] = await sql<{ ahead: number | null; clock: number }[]>`
        select /* clock.compare_stamps */ extract(epoch from gateway.newest_stamp_ahead()) * 1000 as ahead,
               extract(epoch from clock_timestamp()) * 1000 as clock`
      if (!row || row.ahead === null) return
      stepped(row.ahead, row.ahead - row.clock)
      await demand()
    },

    requireSteady() {
      if (reached === null) return
      const left = latest ? reached - latest.clock : 0
      const retryAfter = Math.min(3600, Math.ceil(left / 1000) + 1)
      throw new GatewayError('UNAVAILABLE', 'The clock of the service was set back. Try again later.', { retryAfter })
    },
  }
}

/** Deletes the planned stamps (`sql/0012`) that have passed: they explain no stamp that lies ahead any more. */
export async function deletePassedStamps(sql: Sql): Promise<void> {
  await sql`
    delete /* planned_stamp.delete_passed */ from gateway.planned_stamp where stamp < clock_timestamp() - interval '1 day'`
}
