/** The records of mappings that were installed: how far steps have written them. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Mapping } from '../db/mappings.ts'
import type { Pool, Sql } from '../db/sql.ts'
import { createSteps } from '../projection/step.ts'

/** How far the steps have come that write the records of all rows. */
export interface Progress {
  phase: 'records' | 'indexes' | 'figures' | 'done'
  records: number
  /** Null until the steps begin. */
  rejected: number
}

/** The time between two reports, in milliseconds. */
const interval = 200

/** Reads how far steps have come. */
export async function readProgress(sql: Sql): Promise<Progress> {
  const [progress] = await sql<Progress[]>`
    select /* adoption.read_progress */
      case when exists (select from gateway.scan) or not exists (select from gateway.step) then 'records'
           when (select is_complete from gateway.step order by stamp desc limit 1) then 'done'
           when exists (select from gateway.record_indexes() where to_regclass('gateway.' || name) is null) then 'indexes'
           else 'figures' end as phase,
      (select count(*) from gateway.rejected) as rejected,
      (select count(*) from gateway.tenant) + (select count(*) from gateway.category) + (select count(*) from gateway.variant)
      + (select count(*) from gateway.product) + (select count(*) from gateway.voucher) + (select count(*) from gateway.customer)
        as records`
  if (!progress) throw new Error('The database returned no progress.')
  return progress
}

/** Returns how many rows the mappings have, as the planner estimates. */
export async function estimateRows(sql: Sql, mappings: readonly Mapping[]): Promise<number> {
  let rows = 0
  for (const { select } of mappings) {
    const [row] = await sql.unsafe<{ 'QUERY PLAN': { Plan: { 'Plan Rows': number } }[] }[]>(
      `explain /* adoption.estimate */ (format json)\n${select}`,
    )
    rows += row?.['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0
  }
  return rows
}

/**
 * Makes steps, unless a service does, until all records are written.
 *
 * @param signal ends the steps; a later call goes on with them
 * @param onProgress called several times a second
 * @returns the last progress
 */
export async function writeRecords(
  pool: Pool,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<Progress> {
  const makeSteps = createSteps(pool, signal)
  let steps: Promise<void> | undefined
  let failure: unknown
  for (;;) {
    steps ??= makeSteps()
      .catch(error => {
        failure = error
      })
      .finally(() => {
        steps = undefined
      })
    await pause(interval)
    if (failure) throw failure
    const progress = await readProgress(pool)
    onProgress(progress)
    if (progress.phase !== 'done' && !signal.aborted) continue
    await steps
    return progress
  }
}
