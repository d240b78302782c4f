import type { Sql } from '../db/sql.ts'
import { type Reason, reason } from '../reasons.ts'

/** The difference of clocks that is tolerated, in milliseconds. */
const tolerance = 5_000

/** Returns the reason when the clock of this process differs from the clock of the database. */
export async function findClockDifference(sql: Sql): Promise<Reason[]> {
  const sent = Date.now()
  const [row] = await sql<[{ read: number }]>`
    select /* health.read_clock */ (1000 * extract(epoch from clock_timestamp()))::float8 as read`
  // The database has read its clock between the two moments.
  const [ahead, behind] = [sent - row.read, row.read - Date.now()]
  const difference = Math.max(ahead, behind)
  if (difference <= tolerance) return []
  return [
    reason('CLOCK_DIFFERS', {
      seconds: Math.round(difference / 1000),
      direction: ahead > behind ? 'ahead of' : 'behind',
    }),
  ]
}
