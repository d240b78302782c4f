/**
 * Detects that the clock of the database stepped back: clients that resume could miss records that are stamped after
 * that.
 */
import type { Pool, Sql } from '../../db/sql.ts'
import { GatewayError } from '../errors.ts'
import { requireFullPass } from './full-pass.ts'

/** Watches the clock of the database for steps back. */
export interface ClockWatch {
  /**
   * Compares the database's clock with the service's own and with the recorded clock, and reads whether a writer found it
   * behind the recorded one, as after a step back that happened while the service did not run; to be called every 250 ms.
   * After a step back it calls `onStep` and requires a full pass. Returns at once while another check runs.
   *
   * @throws when the database does not answer; the next check then requires the full pass
   */
  check(): Promise<void>
  /**
   * Compares the clock with the newest stamps, which show a clock that was ahead while the service did not run. Call it
   * at start, and again only if it failed.
   */
  compareStamps(): Promise<void>
  /** Throws `UNAVAILABLE` after a step back, until the clock is where it was before. */
  requireSteady(): void
}

/**
 * Returns how much two clocks may differ although neither was set, in milliseconds. NTP slews a clock instead of setting
 * it: chrony, the fastest, by 8.3 %.
 *
 * @param elapsed the time between the two readings, in milliseconds
 */
const allowedDifference = (elapsed: number) => 2 + 0.1 * Math.max(0, elapsed)

/** A reading of the database's clock, in milliseconds since 1970 (`sql/0008`). */
interface Reading {
  clock: number
  /** No `server_time` that was published lies behind this. */
  publishedBefore: number
  /** The same for those before a step back that requires a full pass; null without one. */
  stepBefore: number | null
}

/**
 * Creates the watch.
 *
 * @param onStep called with the size of a step back, in milliseconds; null when only writers noticed it
 * @param now the service's own clock in milliseconds, which never steps
 */
export function createClockWatch(
  sql: Pool,
  onStep: (milliseconds: number | null) => void,
  now: () => number = () => performance.now(),
): ClockWatch {
  /** The latest reading: the database's clock, and the service's own when the statement was sent and its answer arrived. */
  let latest: { clock: number; sent: number; arrived: number } | null = null
  /** The latest time that the clock can have shown before it stepped back; null when it is steady. */
  let reached: number | null = null
  /** The same, until the full pass is required; null when none is pending. */
  let pendingFullPass: number | null = null
  let checking = false

  function recordStep(from: number, milliseconds: number | null): void {
    reached = Math.max(reached ?? 0, from)
    pendingFullPass = Math.max(pendingFullPass ?? 0, from)
    onStep(milliseconds)
  }

  async function requirePendingFullPass(): Promise<void> {
    if (pendingFullPass === null) return
    const required = pendingFullPass
    await requireFullPass(sql, Math.ceil(required * 1000) + 1)
    if (pendingFullPass === required) pendingFullPass = null
  }

  async function compareClocks(): Promise<void> {
    const sent = now()
    const [row] = await sql<Reading[]>`
      select /* clock.read */ extract(epoch from clock) * 1000 as clock,
             extract(epoch from published_before) * 1000 as "publishedBefore",
             extract(epoch from step_before) * 1000 as "stepBefore"
      from gateway.read_clock()`
    if (!row) return
    const arrived = now()
    // The time between the two readings is at least this, and at most from `latest.sent` to `arrived`.
    const elapsed = latest ? sent - latest.arrived : 0
    const behind = latest ? latest.clock + elapsed - row.clock : 0
    if (latest && behind > allowedDifference(elapsed)) {
      const longest = arrived - latest.sent
      recordStep(Math.max(latest.clock + longest + allowedDifference(longest), row.publishedBefore), behind)
    } else if (row.stepBefore !== null && row.stepBefore > (pendingFullPass ?? 0)) {
      recordStep(row.stepBefore, null)
    }
    if (reached !== null && row.clock > reached) reached = null
    latest = { clock: row.clock, sent, arrived }
  }

  return {
    async check() {
      if (checking) return
      checking = true
      try {
        await compareClocks()
        await requirePendingFullPass()
      } finally {
        checking = false
      }
    },

    async compareStamps() {
      const [row] = await sql.background<{ ahead: number | null; clock: number }[]>`
        select /* clock.compare_stamps */ extract(epoch from gateway.newest_stamp_ahead()) * 1000 as ahead,
               extract(epoch from clock_timestamp()) * 1000 as clock`
      if (!row || row.ahead === null) return
      recordStep(row.ahead, row.ahead - row.clock)
      await requirePendingFullPass()
    },

    requireSteady() {
      if (reached === null) return
      const left = latest ? reached - latest.clock : 0
      const retryAfter = Math.min(3600, Math.ceil(left / 1000) + 1)
      throw new GatewayError('UNAVAILABLE', 'The clock of the service was set back. Try again later.', { retryAfter })
    },
  }
}

/** Records where the database's clock is, so that writers notice a step back while no instance runs (`sql/0003`). */
export async function recordClock(sql: Sql): Promise<void> {
  await sql`select /* clock.record */ gateway.record_clock()`
}

/** Deletes planned stamps (`sql/0004`) that passed a day ago: they no longer explain a stamp ahead of the clock. */
export async function deletePassedStamps(sql: Sql): Promise<void> {
  await sql`
    delete /* planned_stamp.delete_passed */ from gateway.planned_stamp where stamp < clock_timestamp() - interval '1 day'`
}
