import type { Pool, Sql } from '../../db/sql.ts'
import { GatewayError } from '../errors.ts'
import type { Instant } from '../record/instant.ts'

/** The number of records of each kind that a part has: of the first entries, or of what a step follows. */
const partSize = 100_000

/** The longest time that a long step may take, in minutes: one that writes the first rollups or compares all records. */
const longStepMinutes = 60

/**
 * Creates the job that keeps entries and figures in step with the records (`sql/0017`). Several instances of the
 * service may call it: one of them works at a time, and the others return at once. A step that exceeds the time limit
 * of background jobs is repeated on a separate connection.
 *
 * @param pool the service's pool
 * @param closing no step begins after it is aborted
 * @returns makes steps until the watermark is reached; does nothing while a former call goes on
 */
export function createFollower(pool: Pool, closing: AbortSignal): () => Promise<void> {
  let isWorking = false
  return async () => {
    if (isWorking) return
    isWorking = true
    let session: ReturnType<Pool['openSession']> | undefined
    const disconnect = () => session?.end({ timeout: 0 })
    closing.addEventListener('abort', disconnect)
    try {
      for (let more: boolean | null = true; more && !closing.aborted; ) {
        try {
          more = session ? await makeLongStep(session) : await makeStep(pool.background)
        } catch (error) {
          if (session || !isTimeout(error)) throw error
          session = pool.openSession({ answerTimeoutMs: longStepMinutes * 60_000 })
        }
      }
    } finally {
      closing.removeEventListener('abort', disconnect)
      await disconnect()
      isWorking = false
    }
  }
}

async function makeStep(sql: Sql): Promise<boolean | null> {
  const [row] = await sql<{ more: boolean | null }[]>`
    select /* follower.step */ gateway.follow(${partSize}) as more`
  return row?.more ?? null
}

/**
 * Makes a step in one message that also sets its time limit: each statement of a message has the limit that was set
 * before it.
 */
async function makeLongStep(sql: Sql): Promise<boolean | null> {
  const [, row] = await sql
    .unsafe<[{ more: boolean | null }[], { more: boolean | null }[]]>(
      `set local statement_timeout = '${longStepMinutes}min';
       select /* follower.step */ gateway.follow(${partSize}) as more`,
    )
    .simple()
  return row?.[0]?.more ?? null
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
 * Reads how far the entries follow the records: a statement that begins later finds in them all changes before this instant.
 *
 * @throws `UNAVAILABLE` before all entries were written
 */
export async function readFollowed(sql: Sql): Promise<Instant> {
  const [row] = await sql<{ asOf: Instant | null }[]>`select /* follower.read */ as_of as "asOf" from gateway.follower`
  if (!row?.asOf) throw notFollowed()
  return row.asOf
}

/** Returns the error of a read of entries that are not all written. */
export const notFollowed = (): GatewayError =>
  new GatewayError('UNAVAILABLE', 'The records are being read for searches. Try again in a minute.', { retryAfter: 60 })
