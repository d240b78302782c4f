/** The progress of the steps that write the records of installed mappings. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Pool, Sql } from '../db/sql.ts'
import { makeAllSteps } from '../projection/step.ts'

export interface Progress {
  phase: 'records' | 'indexes' | 'figures' | 'done' | 'stopped'
  /** The reason why steps evaluate no more keys of a mapping; null when there is none. */
  problem: string | null
  records: number
  /** Null until the steps begin. */
  rejected: number
}

/** The minimum time between two reports, in milliseconds. */
const reportInterval = 200

async function readProgress(sql: Sql): Promise<Progress> {
  const [progress] = await sql<[Progress]>`
    select /* adoption.read_progress */
      case when exists (select from gateway.open_scan) or not exists (select from gateway.step) then 'records'
           when problem is not null then 'stopped'
           when last.is_complete and exists (select from gateway.waiting_key where place > last.waited) then 'records'
           when last.is_complete then 'done'
           when exists (select from gateway.record_indexes() where to_regclass('gateway.' || name) is null) then 'indexes'
           else 'figures' end as phase, problem,
      (select count(*) from gateway.rejected) as rejected,
      (select count(*) from gateway.tenant) + (select count(*) from gateway.category) + (select count(*) from gateway.variant)
      + (select count(*) from gateway.product) + (select count(*) from gateway.voucher) + (select count(*) from gateway.customer)
        as records
    from (
      select string_agg(record || ': ' || reason, ' ' order by record) as problem from (
        select record, reason from gateway.broken_mapping
        union all
        select record, stopped from gateway.scan where stopped is not null
      ) stopped
    ) one
    left join (select is_complete, waited from gateway.step order by stamp desc limit 1) last on true`
  return progress
}

/**
 * Makes steps until all records are written, or until a mapping stops the steps. While a service makes steps, only
 * waits.
 *
 * @param signal ends the steps; a later call continues where this call ended
 * @param onProgress called several times a second
 * @returns the last progress
 */
export async function writeRecords(
  pool: Pool,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<Progress> {
  let steps: Promise<unknown> | undefined
  let failure: unknown
  let counting = 0
  for (;;) {
    steps ??= makeAllSteps(pool, signal)
      .catch(error => {
        failure = error
      })
      .finally(() => {
        steps = undefined
      })
    // The pause is at least nine times as long as the last count of the records, so that counts take a tenth of the
    // time.
    await pause(Math.max(reportInterval, counting * 9))
    if (failure) throw failure
    const began = performance.now()
    const progress = await readProgress(pool)
    counting = performance.now() - began
    onProgress(progress)
    if (progress.phase !== 'done' && progress.phase !== 'stopped' && !signal.aborted) continue
    await steps
    // The counts are read again after the last step. The phase stays, although new changes may wait by now.
    return { ...(await readProgress(pool)), phase: progress.phase, problem: progress.problem }
  }
}
