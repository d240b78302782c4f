/** Repeats statements that need a lock. Each attempt waits only for a short time, because writers queue behind it. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Fragment, Sql } from '../sql.ts'
import { codeOf } from './outage.ts'

/**
 * In milliseconds. `read`: the interval at which the lock holders are read, less than `lock_timeout`. `retry`: the
 * pause after a failed attempt.
 */
const intervalsMs = { read: 50, retry: 1_500 }

/** The SQLSTATEs of errors because another transaction holds a lock: `lock_timeout` (55P03) and deadlock (40P01). */
const lockConflict = /^(55P03|40P01)$/

export interface LockRetryOptions {
  /** The time after which a failed attempt is not repeated, in seconds. */
  lockWait: number
  /** Called after each attempt that failed, with the transactions that hold the locks. */
  onBlocked?: ((holders: string) => void) | undefined
  /** The subject of the error message, and the remedy when the locks are not released in time. */
  subject: string
  remedy: string
}

/**
 * Creates a function that repeats statements of a session. The session must have a `lock_timeout`.
 *
 * @param sql a pool without that session's connection
 * @param pid the backend of the session
 * @returns a function that repeats `work` until `work` gets its locks. It throws any other error of `work`, and after
 * `lockWait` an Error that names the transactions with the locks
 */
export function retryLocks(
  sql: Sql,
  pid: number,
  { lockWait, onBlocked, subject, remedy }: LockRetryOptions,
): <Result>(work: () => Promise<Result>) => Promise<Result> {
  return async work => {
    let holders = 'another transaction'
    for (const deadline = performance.now() + lockWait * 1000; ; await pause(intervalsMs.retry)) {
      const reading = setInterval(async () => {
        // Ignores an error of this read, because the error would also end the attempt.
        holders = (await readHolders(sql, pid).catch(() => '')) || holders
      }, intervalsMs.read)
      try {
        return await work()
      } catch (error) {
        if (!lockConflict.test(codeOf(error))) throw error
        if (performance.now() > deadline) {
          throw new Error(`${subject} did not get a lock that it needs. It is held by ${holders}. ${remedy}`, {
            cause: error,
          })
        }
        onBlocked?.(holders)
      } finally {
        clearInterval(reading)
      }
    }
  }
}

/** Returns a description of the transactions whose locks a session waits for; empty when the session does not wait. */
async function readHolders(sql: Sql, pid: number): Promise<string> {
  const rows = await sql<{ holder: string }[]>`
    select /* blockers.read */ ${describeHolder(sql)} as holder
    from (select distinct unnest(pg_blocking_pids(${pid})) as pid) blocker left join pg_stat_activity using (pid)`
  return rows.map(({ holder }) => holder).join('; ')
}

/**
 * Returns the SQL expression of a text about a transaction, for the person who may end the transaction. In
 * `pg_stat_activity` most columns are null when the login may not see the sessions of that role. A prepared transaction
 * has no row in `pg_stat_activity`: its `pid` is 0 or null.
 */
export const describeHolder = (sql: Sql): Fragment => sql`
  case when coalesce(pid, 0) = 0 then 'a prepared transaction (select * from pg_prepared_xacts)'
       else format('backend %s (%s)', pid, coalesce(nullif(concat_ws(', ', 'application ' || nullif(application_name, ''),
              'login ' || usename, state, 'open for ' || extract(epoch from now() - xact_start)::integer || ' s'), ''), 'of another role'))
            || coalesce(': ' || nullif(left(regexp_replace(query, '[[:space:]]+', ' ', 'g'), 80), ''), '') end`
