import { repairedCaptureChannel } from '../channels.ts'
import type { Sql } from '../db/sql.ts'
import { type Reason, reason } from '../reasons.ts'

/** Returns a reason for each source that is not captured. @param sql a pool of any role */
export async function findUncaptured(sql: Sql): Promise<Reason[]> {
  // `trigger` is null when the source itself is missing.
  const rows = await sql<{ source: string; trigger: string | null; statement: string }[]>`
    select /* capture.find_missing */ source, trigger, format('call gateway.capture(%L);', source) as statement
    from gateway.find_uncaptured() order by source`
  return rows.map(({ source, trigger, statement }) =>
    trigger === null ? reason('SOURCE_MISSING', { source }) : reason('CAPTURE_MISSING', { source, trigger, statement }),
  )
}

/**
 * Creates missing capture triggers. Steps then compare all records of the affected types. Leaves out sources that are
 * locked, or that the owner of the schema may not alter.
 *
 * @param report receives the name of each source as soon as its changes are captured again
 */
export async function repairCapture(sql: Sql, report: (source: string) => void): Promise<void> {
  // Each call is a transaction that repairs one source, so that only one source is locked at a time. The loop ends when
  // a source comes again, so each source is repaired at most once.
  for (const repaired = new Set<string>(); ; ) {
    const [{ source }] = await sql<[{ source: string | null }]>`
      select /* capture.repair */ gateway.repair_capture() as source`
    if (source === null || repaired.has(source)) return
    repaired.add(source)
    repairedCaptureChannel.publish({ source })
    report(source)
  }
}
