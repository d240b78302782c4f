import { setTimeout as pause } from 'node:timers/promises'
import type { Sql } from './sql.ts'

/** A transaction for whose lock another session waits. */
export interface Blocker {
  /** Its backend; 0 for a prepared transaction. */
  pid: number
  /** The columns below are null for a prepared transaction, and when the login may not see the sessions of that role. */
  login: string | null
  application: string | null
  state: string | null
  /** The age of the transaction, in seconds. */
  seconds: number | null
  /** The beginning of its latest statement. */
  statement: string | null
}

/** Times in milliseconds: blockers are read at least once before `lock_timeout` ends a wait. */
const times = { interval: 50, report: 2_000 }

/**
 * Reads the transactions for which a session waits, until a signal is aborted.
 *
 * @param sql a pool without that session's connection
 * @param pid the backend of the session
 * @param options.onBlocked called every two seconds of a wait
 * @returns a function that returns what the session waited for last; empty when it has not waited
 */
export function watchBlockers(
  sql: Sql,
  pid: number,
  { signal, onBlocked }: { signal: AbortSignal; onBlocked?: ((blockers: Blocker[]) => void) | undefined },
): () => Blocker[] {
  let latest: Blocker[] = []
  const watch = async () => {
    let reported = performance.now()
    while (!signal.aborted) {
      const found = await readBlockers(sql, pid)
      const now = performance.now()
      if (found.length > 0) latest = found
      else reported = now
      if (now - reported >= times.report) {
        onBlocked?.(found)
        reported = now
      }
      await pause(times.interval, undefined, { signal })
    }
  }
  // It ends with the signal, or with the connection; then the session's own statements also fail.
  watch().catch(() => {})
  return () => latest
}

const readBlockers = (sql: Sql, pid: number) => sql<Blocker[]>`
  select /* blockers.read */ blocker.pid, usename as login, nullif(application_name, '') as application, state,
         extract(epoch from clock_timestamp() - xact_start)::integer as seconds,
         left(regexp_replace(query, '[[:space:]]+', ' ', 'g'), 80) as statement
  from (select distinct unnest(pg_blocking_pids(${pid})) as pid) blocker left join pg_stat_activity using (pid)`

/** Describes blockers for the person who may end them. */
export const describeBlockers = (blockers: readonly Blocker[]): string =>
  blockers.map(describe).join('; ') || 'another transaction'

function describe({ pid, login, application, state, seconds, statement }: Blocker): string {
  if (pid === 0) return 'a prepared transaction (select * from pg_prepared_xacts)'
  const facts = [
    application && `application ${application}`,
    login && `login ${login}`,
    state,
    seconds !== null && `open for ${seconds} s`,
  ].filter(Boolean)
  return `backend ${pid} (${facts.join(', ') || 'of another role'})${statement ? `: ${statement}` : ''}`
}
