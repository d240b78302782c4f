// Windows in the table gateway.rate_window, which all processes share. The time is from the clock of the database.
import { arrayText, type Sql } from '../../db/sql.ts'
import type { CountCalls } from './batch.ts'
import { type RateWindow, rateWindowSeconds } from './rate.ts'

/**
 * Opens or continues the window of each key, in one statement.
 *
 * @param seconds the length of a new window
 */
async function count(sql: Sql, calls: ReadonlyMap<string, number>, seconds: number): Promise<Map<string, RateWindow>> {
  // The time of the statement, the same in both places.
  const isOpen = sql`counted.resets_at > excluded.resets_at - make_interval(secs => ${seconds}::integer)`
  // Rows are locked in one order, so that instances do not deadlock.
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
  // A window may end while its row is locked.
  return new Map(rows.map(({ key, used, resetsIn }) => [key, { used, resetsIn: Math.max(1, resetsIn) }]))
}

/**
 * Returns a counter of calls that uses one statement for all callers (R28). Its keys begin with the number of a token;
 * other keys of the table begin with the kind of their attempts.
 */
export const countInTable =
  (sql: Sql): CountCalls =>
  calls =>
    count(sql, calls, rateWindowSeconds)

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
 * @param limit the maximum number of attempts of a window
 * @param seconds the length of a window
 */
export function createAttemptCounter(sql: Sql, kind: string, limit: number, seconds: number) {
  return {
    limit,
    /** Counts one attempt. @returns the window that includes this attempt */
    async hit(key: string): Promise<RateWindow> {
      const windows = await count(sql, new Map([[`${kind} ${key}`, 1]]), seconds)
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
