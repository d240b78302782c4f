import { createWriteBuffer } from '../../async/write-buffer.ts'
import { arrayText, type Sql } from '../../db/sql.ts'
import { millisecondsPerDay } from '../value/date.ts'
import type { Instant } from '../value/instant.ts'

/** An error of a whole request, or of a part of it. The code and the reason contain no text of the caller. */
export interface RequestError {
  code: string
  /** A sentence for the person who is responsible for the token. */
  reason: string
}

/**
 * Returns an error in the form in which it is counted: with the names of the fields, but without the messages of field
 * errors, because a message may quote the caller.
 */
export function toRequestError(error: { code: string; message: string; fieldErrors?: object }): RequestError {
  const { code, message, fieldErrors } = error
  return { code, reason: fieldErrors ? `${message} Fields: ${Object.keys(fieldErrors).sort().join(', ')}.` : message }
}

export type RequestCounter = ReturnType<typeof createRequestCounter>

/** The number of days before today for which counts are kept. */
const keptDays = 90

/**
 * The maximum number of different errors between two saves; further errors are counted by their code, with the reason
 * `other`.
 */
const maxErrors = 10_000

interface Count {
  tokenId: number
  /** The number of days since 1970-01-01, UTC. */
  day: number
  operation: string
  status: number
  requests: number
}

/** `lastAt` is in milliseconds since 1970. */
type ErrorCount = Omit<Count, 'status'> & RequestError & { lastAt: number }

/**
 * Counts the requests of tokens in memory, and saves the counts at intervals. Only the number of reasons needs a limit
 * (`maxErrors`), because there are few tokens, operations and statuses.
 */
export function createRequestCounter(sql: Sql) {
  const counts = createWriteBuffer<Count>(
    (before, after) => {
      before.requests += after.requests
      return before
    },
    rows => saveCounts(sql, rows),
  )
  const errorCounts = createWriteBuffer<ErrorCount>(
    (before, after) => ({
      ...before,
      requests: before.requests + after.requests,
      lastAt: Math.max(before.lastAt, after.lastAt),
    }),
    rows => saveErrorCounts(sql, rows),
  )

  function countError(tokenId: number, day: number, operation: string, error: RequestError, lastAt: number): void {
    const keyOf = (reason: string) => `${tokenId} ${day} ${operation} ${error.code} ${reason}`
    const isFull = errorCounts.size >= maxErrors && !errorCounts.has(keyOf(error.reason))
    const reason = isFull ? 'other' : error.reason
    errorCounts.add(keyOf(reason), { tokenId, day, operation, code: error.code, reason, requests: 1, lastAt })
  }

  return {
    /**
     * Counts one request of a token in memory; sends no statement.
     *
     * @param operation the name of the route's operation, or `unknown`
     * @param status the HTTP status of the response
     * @param errors the errors of the request, each only once
     */
    count(tokenId: number, operation: string, status: number, errors: readonly RequestError[]): void {
      const now = Date.now()
      const day = Math.floor(now / millisecondsPerDay)
      counts.add(`${tokenId} ${day} ${operation} ${status}`, { tokenId, day, operation, status, requests: 1 })
      for (const error of errors) countError(tokenId, day, operation, error, now)
    },
    /** Adds the counts to the counts in the database. After a failure, the counts are kept for the next call. */
    async save(): Promise<void> {
      const results = await Promise.allSettled([counts.flush(), errorCounts.flush()])
      for (const result of results) if (result.status === 'rejected') throw result.reason
    },
  }
}

const dateOf = (day: number) => new Date(day * millisecondsPerDay).toISOString().slice(0, 10)

/** Returns the columns that both tables have, as arrays for `unnest`. */
const commonColumns = (sql: Sql, rows: readonly Pick<Count, 'tokenId' | 'day' | 'operation' | 'requests'>[]) => sql`
  ${arrayText(rows.map(({ tokenId }) => tokenId))}::text::bigint[],
  ${arrayText(rows.map(({ day }) => dateOf(day)))}::text::date[],
  ${arrayText(rows.map(({ operation }) => operation))}::text::text[],
  ${arrayText(rows.map(({ requests }) => requests))}::text::bigint[]`

// Counts of deleted tokens are dropped. All instances lock the rows in the same order, so that no deadlock occurs.
const saveCounts = (sql: Sql, rows: readonly Count[]) => sql`
  insert /* request_count.save */ into gateway.request_count (token_id, day, operation, status, requests)
  select token_id, day, operation, status, requests
  from unnest(${commonColumns(sql, rows)}, ${arrayText(rows.map(({ status }) => status))}::text::integer[])
       as counted(token_id, day, operation, requests, status)
  where exists (select from gateway.token where id = token_id)
  order by token_id, day, operation, status
  on conflict (token_id, day, operation, status) do update set requests = request_count.requests + excluded.requests`

const saveErrorCounts = (sql: Sql, rows: readonly ErrorCount[]) => sql`
  insert /* request_error.save */ into gateway.request_error (token_id, day, operation, code, reason, requests, last_at)
  select token_id, day, operation, code, reason, requests, last_at
  from unnest(${commonColumns(sql, rows)},
              ${arrayText(rows.map(({ code }) => code))}::text::text[],
              ${arrayText(rows.map(({ reason }) => reason))}::text::text[],
              ${arrayText(rows.map(({ lastAt }) => new Date(lastAt).toISOString()))}::text::timestamptz[])
       as counted(token_id, day, operation, requests, code, reason, last_at)
  where exists (select from gateway.token where id = token_id)
  order by token_id, day, operation, code, reason
  on conflict (token_id, day, operation, code, reason) do update
  set requests = request_error.requests + excluded.requests, last_at = greatest(request_error.last_at, excluded.last_at)`

/** Deletes the counts of requests, errors and exports that are older than 90 days. */
export async function deleteExpiredRequestCounts(sql: Sql): Promise<void> {
  const isExpired = sql`day < ${today(sql)} - ${keptDays}::integer`
  await sql`
    with /* request_count.delete_expired */ errors as (
      delete from gateway.request_error where ${isExpired}
    ), exports as (
      delete from gateway.token_export where ${isExpired}
    )
    delete from gateway.request_count where ${isExpired}`
}

const today = (sql: Sql) => sql`(now() at time zone 'UTC')::date`

/** Returns the condition that `day` is today or one of the days before, in UTC. */
export const isWithinDays = (sql: Sql, days: number) => sql`day > ${today(sql)} - ${days}::integer`

/** The number of requests of a token on one day (`YYYY-MM-DD`, UTC) with one operation and one status. */
export type RequestCount = Pick<Count, 'operation' | 'status' | 'requests'> & { day: string }

/** Returns the numbers of requests of a token on the last days in UTC, including today, the newest day first. */
export async function listRequestCounts(sql: Sql, tokenId: number, days: number): Promise<RequestCount[]> {
  return sql<RequestCount[]>`
    select /* request_count.list */ day, operation, status, requests
    from gateway.request_count where token_id = ${tokenId} and ${isWithinDays(sql, days)}
    order by day desc, operation, status`
}

/** The number of times that a token's requests had an error, and the time of the last such request. */
export type RequestErrorCount = RequestError & Pick<Count, 'operation' | 'requests'> & { lastAt: Instant }

/** Returns the errors of a token's requests on the last days in UTC, including today: the latest first, at most 100. */
export async function listRequestErrors(sql: Sql, tokenId: number, days: number): Promise<RequestErrorCount[]> {
  return sql<RequestErrorCount[]>`
    select /* request_error.list */ operation, code, reason, sum(requests)::bigint as requests, max(last_at) as "lastAt"
    from gateway.request_error where token_id = ${tokenId} and ${isWithinDays(sql, days)}
    group by operation, code, reason order by max(last_at) desc, operation, code, reason limit 100`
}
