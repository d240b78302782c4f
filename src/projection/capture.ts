import type { Sql } from '../db/sql.ts'
import { type Reason, reason } from '../reasons.ts'

/** Reports changes of sources that no trigger notes, so that records stay behind them. */
export type CaptureWatch = ReturnType<typeof createCaptureWatch>

/** Returns a reason for each source that is not captured. @param sql a pool of any role */
export async function findUncaptured(sql: Sql): Promise<Reason[]> {
  // Without a trigger, the source itself is missing.
  const rows = await sql<{ source: string; trigger: string | null; statement: string }[]>`
    select /* capture.find_missing */ source, trigger, format('call gateway.capture(%L);', source) as statement
    from gateway.find_uncaptured() order by source`
  return rows.map(({ source, trigger, statement }) =>
    trigger === null ? reason('SOURCE_MISSING', { source }) : reason('CAPTURE_MISSING', { source, trigger, statement }),
  )
}

/**
 * Creates the watch.
 *
 * @param onChange called with the reasons when they differ from the check before; before the first check there are none
 */
export function createCaptureWatch(onChange: (reasons: Reason[]) => void) {
  let latest = '[]'
  return {
    /** Does the same as `findUncaptured`. */
    async check(sql: Sql): Promise<Reason[]> {
      const reasons = await findUncaptured(sql)
      const text = JSON.stringify(reasons)
      if (text !== latest) onChange(reasons)
      latest = text
      return reasons
    },
  }
}
