/** Which transactions a session waits for. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Sql } from './connect.ts'

/** A transaction for whose lock another session waits. */
export interface Blocker {
  /** Its backend; 0 for a prepared transaction. */
  pid: number
  /** The columns below are null for a prepared transaction, and when the login may not see the sessions of that role. */
  login: string | null
  application: string | null
  state: string | null
  /** For how many seconds the transaction has been open. */
  seconds: number | null
  /** The beginning of its latest statement. */
  statement: string | null
}

/** How often the blockers are read, in milliseconds: a few times before `lock_timeout` ends a wait. */
const interval = 100

/**
 * Reads what a session waits for until a signal is aborted.
 *
 * @param sql a pool with another connection than that session's; a pool of one reads nothing meanwhile
 * @param pid the backend of the session
 * @returns what it waited for last; empty when it did not wait
 */
export async function watchBlockers(sql: Sql, pid: number, done: AbortSignal): Promise<Blocker[]> {
  let latest: Blocker[] = []
  while (!done.aborted) {
    const found = await sql<Blocker[]>`
      select /* blockers.read */ blocker.pid, usename as login, nullif(application_name, '') as application, state,
             extract(epoch from clock_timestamp() - xact_start)::integer as seconds,
             left(regexp_replace(query, '[[:space:]]+', ' ', 'g'), 80) as statement
      from (select distinct unnest(pg_blocking_pids(${pid})) as pid) blocker left join pg_stat_activity using (pid)`
    if (found.length > 0) latest = found
    await pause(interval, undefined, { signal: done }).catch(() => {})
  }
  return latest
}

/** Describes a blocker for the person who may end it. */
export function describeBlocker({ pid, login, application, state, seconds, statement }: Blocker): string {
  if (pid === 0) return 'a prepared transaction (select * from pg_prepared_xacts)'
  const facts = [
    application && `application ${application}`,
    login && `login ${login}`,
    state,
    seconds !== null && `open for ${seconds} s`,
  ].filter(Boolean)
  return `backend ${pid} (${facts.join(', ') || 'of another role'})${statement ? `: ${statement}` : ''}`
}
