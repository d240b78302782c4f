import { until } from './until.ts'

/**
 * Waits until sessions of a database wait for locks.
 *
 * @param sql a connection to the database that is not used by the waiting sessions
 * @param sessions the number of sessions that have to wait
 */
export const untilLockWaits = (sql: { unsafe(query: string): PromiseLike<readonly object[]> }, sessions = 1) =>
  until(`${sessions} sessions wait for a lock`, async () => {
    const waiting = await sql.unsafe(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
    return waiting.length >= sessions
  })
