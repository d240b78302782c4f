import { repairedCaptureChannel } from '../channels.ts'
import type { Sql } from '../db/sql.ts'
import { type Reason, reason } from '../reasons.ts'

/** Returns a reason for each source that is not captured. @param sql a pool of any role */
export async function findUncaptured(sql: Sql): Promise<Reason[]> {
  // A null trigger means that the source itself is missing.
  const rows = await sql<{ source: string; trigger: string | null; statement: string }[]>`
    select /* capture.find_missing */ source, trigger, format('call gateway.capture(%L);', source) as statement
    from gateway.find_uncaptured() order by source`
  return rows.map(({ source, trigger, statement }) =>
    trigger === null ? reason('SOURCE_MISSING', { source }) : reason('CAPTURE_MISSING', { source, trigger, statement }),
  )
}

/**
 * Restores the capture of sources that lost it: steps then compare all records of their types. Leaves out sources
 * that are locked, or that the owner of the schema may not alter.
 *
 * @param report receives the name of each source, as soon as it is captured
 */
export async function repairCapture(sql: Sql, report: (source: string) => void): Promise<void> {
  // Each call is a transaction, so that one source is locked at a time, and each source is captured at most once.
  for (const repaired = new Set<string>(); ; ) {
    const [{ source }] = await sql<[{ source: string | null }]>`
      select /* capture.repair */ gateway.repair_capture() as source`
    if (source === null || repaired.has(source)) return
    repaired.add(source)
    repairedCaptureChannel.publish({ source })
    report(source)
  }
}
