// Counts calls in windows of the table gateway.rate_window, which all processes share, by the clock of the database.
import { arrayText, type Sql } from '../../db/sql.ts'
import type { CountCalls } from './batch.ts'
import { type RateWindow, rateWindowSeconds } from './rate.ts'

/**
 * Counts calls of several keys in one statement. Opens a window for each key without an open window.
 *
 * @param seconds the length of a new window, in seconds
 */
async function countCalls(
  sql: Sql,
  calls: ReadonlyMap<string, number>,
  seconds: number,
): Promise<Map<string, RateWindow>> {
  // `excluded.resets_at` minus the length of a window is the `clock_timestamp()` of the `select`. So the test and the
  // new end of the window use the same time.
  const isOpen = sql`counted.resets_at > excluded.resets_at - make_interval(secs => ${seconds}::integer)`
  // All instances lock the rows in the order of the keys, so that no deadlock occurs.
  const rows = await sql<(RateWindow & { key: string })[]>`
    insert /* rate_window.count */ into gateway.rate_window as counted (key, used, resets_at)
    select key, calls, clock_timestamp() + make_interval(secs => ${seconds}::integer)
    from unnest(${arrayText([...calls.keys()])}::text::text[], ${arrayText([...calls.values()])}::text::bigint[])
         as hit(key, calls)
    order by key
    on conflict (key) do update
    set used = excluded.used + case when ${isOpen} then counted.used else 0 end,
        resets_at = case when ${isOpen} then counted.resets_at else excluded.resets_at end
    returning key, used, (extract(epoch from resets_at - clock_timestamp()) * 1000)::float8 as "resetsIn"`
  // A window may end while the statement waits for the lock of the row, so the rest is at least 1 ms.
  return new Map(rows.map(({ key, used, resetsIn }) => [key, { used, resetsIn: Math.max(1, resetsIn) }]))
}

/**
 * Returns a function that counts the calls of all callers of a batch in one statement (R28). The keys begin with the id
 * of a token; the keys of attempt counters begin with a kind.
 */
export const createTableCounter =
  (sql: Sql): CountCalls =>
  calls =>
    countCalls(sql, calls, rateWindowSeconds)

/** Deletes the windows that have ended. */
export async function deleteEndedWindows(sql: Sql): Promise<void> {
  await sql`delete /* rate_window.delete_ended */ from gateway.rate_window
            where resets_at < now() - interval '1 minute'`
}

export type AttemptCounter = ReturnType<typeof createAttemptCounter>

/**
 * Creates a counter of attempts of one kind in the database, for all instances.
 *
 * @param kind the prefix of the keys
 * @param limit the maximum number of attempts in a window
 * @param seconds the length of a window, in seconds
 */
export function createAttemptCounter(sql: Sql, kind: string, limit: number, seconds: number) {
  return {
    limit,
    /** Counts one attempt. @returns the window that includes this attempt */
    async hit(key: string): Promise<RateWindow> {
      const windows = await countCalls(sql, new Map([[`${kind} ${key}`, 1]]), seconds)
      const [window] = windows.values()
      if (!window) throw new Error('The database has not counted an attempt.')
      return window
    },
    /** Uncounts one attempt. */
    async refund(key: string): Promise<void> {
      await sql`update /* rate_window.refund */ gateway.rate_window set used = used - 1
                where key = ${`${kind} ${key}`} and used > 0 and resets_at > clock_timestamp()`
    },
    /** Deletes the window. */
    async clear(key: string): Promise<void> {
      await sql`delete /* rate_window.clear */ from gateway.rate_window where key = ${`${kind} ${key}`}`
    },
  }
}
