import type { Sql } from '../../db/connect.ts'
import { GatewayError } from '../errors.ts'
import type { Instant } from '../record/instant.ts'

/** The number of records that a step of a fill reads; it folds five times as many deltas. That takes a second at most. */
const stepSize = 5_000

/** The interval at which changes of the tree are looked for, in milliseconds: a read corrects what has moved since. */
const treeInterval = 30_000

/**
 * Creates what brings the figures up to the records (`sql/0017`). Several instances of the service may call it: one of them
 * works at a time, and the others do not wait.
 *
 * @param sql the service's pool
 * @param closing no step begins after it is aborted
 * @returns makes steps until the watermark is reached; does nothing while a former call goes on
 */
export function createFollower(sql: Sql, closing: AbortSignal): () => Promise<void> {
  let isWorking = false
  let treeDue = 0
  return async () => {
    if (isWorking) return
    isWorking = true
    const followsTree = performance.now() >= treeDue
    try {
      for (let more: boolean | null = true; more && !closing.aborted; ) {
        const [row] = await sql<{ more: boolean | null }[]>`
          select /* follower.step */ gateway.follow(${stepSize}, ${followsTree}) as more`
        more = row?.more ?? null
      }
      if (followsTree) treeDue = performance.now() + treeInterval
    } catch (error) {
      // A fill takes smaller steps.
      if (isTimeout(error)) await requestFill(sql)
      throw error
    } finally {
      isWorking = false
    }
  }
}

/** Lets the follower read all records again, in parts. */
export async function requestFill(sql: Sql): Promise<void> {
  await sql`select /* follower.request_fill */ gateway.request_fill()`
}

/** Returns whether the server has ended a statement because it took too long. */
const isTimeout = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '57014'

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

/**
 * Reads how far the entries follow the records. A statement that begins later finds in them all changes before `asOf`, and,
 * during a fill, a part of those before `readTo`.
 *
 * @throws `UNAVAILABLE` before all records were read once
 */
export async function readFollowed(sql: Sql): Promise<{ asOf: Instant; readTo: Instant }> {
  const [row] = await sql<{ asOf: Instant | null; readTo: Instant | null }[]>`
    select /* follower.read */ as_of as "asOf", since as "readTo" from gateway.follower`
  if (!row?.asOf || !row.readTo) {
    throw new GatewayError('UNAVAILABLE', 'The records are being read for searches. Try again in a minute.', {
      retryAfter: 60,
    })
  }
  return { asOf: row.asOf, readTo: row.readTo }
}
