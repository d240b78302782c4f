import { setTimeout as pause } from 'node:timers/promises'

/**
 * Waits until sessions of a database wait for locks.
 *
 * @param sql a connection to the database that does not wait itself
 * @param sessions how many have to wait
 * @throws Error after 10 seconds
 */
export async function untilLockWaits(
  sql: { unsafe(query: string): PromiseLike<readonly object[]> },
  sessions = 1,
): Promise<void> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; await pause(5)) {
    const waiting = await sql.unsafe(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
    if (waiting.length >= sessions) return
  }
  throw new Error(`fewer than ${sessions} sessions wait for a lock`)
}
