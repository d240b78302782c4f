import type { Sql } from '../db/connect.ts'

/** How many records a step of a fill reads, and how many deltas it folds: some tenths of a second. */
const stepSize = 2_000

/**
 * Makes steps of the follower until it has reached the watermark (`sql/0017`). Several instances of the service may call it:
 * one of them works at a time, and the others do not wait.
 *
 * @param sql the service's pool
 * @param closing no step begins after it is aborted
 */
export async function follow(sql: Sql, closing: AbortSignal): Promise<void> {
  for (let more: boolean | null = true; more && !closing.aborted; ) {
    const [row] = await sql<{ more: boolean | null }[]>`select /* follower.step */ gateway.follow(${stepSize}) as more`
    more = row?.more ?? null
  }
}

/**
 * Reads how many seconds the figures lag behind the clock of the database.
 *
 * @returns null before they are counted for the first time
 */
export async function readLag(sql: Sql): Promise<number | null> {
  const [row] = await sql<{ seconds: number | null }[]>`
    select /* follower.read_lag */ extract(epoch from clock_timestamp() - as_of)::float8 as seconds from gateway.follower`
  return row?.seconds ?? null
}
