import { arrayText, type Sql } from '../db/connect.ts'
import type { Instant } from './instant.ts'
import { createWriteBuffer } from './write-buffer.ts'

/** Why a request, or a part of one, was refused. Few of a kind: neither part holds what a caller sent. */
export interface RequestError {
  code: string
  /** For the person who answers for the token. */
  reason: string
}

/** @returns what is counted of a refusal: of errors the fields' names alone, for what is said of them may quote */
export function toRequestError({
  code,
  message,
  fieldErrors,
}: {
  code: string
  message: string
  fieldErrors?: object
}): RequestError {
  return { code, reason: fieldErrors ? `${message} Fields: ${Object.keys(fieldErrors).sort().join(', ')}.` : message }
}

/** Counts what tokens are used for: in memory, and now and then saved. */
export interface RequestCounter {
  /**
   * Counts one request of a token; costs no statement.
   *
   * @param operation its name; `unknown` when it has none
   * @param status the status of its answer
   * @param refusals each distinct one once
   */
  count(tokenId: number, operation: string, status: number, refusals: readonly RequestError[]): void
  /** Adds what was counted to what the database holds. What cannot be written is kept for the next time. */
  save(): Promise<void>
}

/** For how many days, today not among them, what was counted is kept. */
const daysKept = 90

const millisecondsOfDay = 86_400_000

/** Distinct refusals that are kept until the next save; those beyond go under one reason for each code. */
const mostRefusals = 10_000

interface Use {
  tokenId: number
  /** Days since 1970, UTC. */
  day: number
  operation: string
  status: number
  requests: number
}

type RefusedUse = Omit<Use, 'status'> & RequestError & { lastAt: number }

/**
 * What is counted stays small by itself: tokens are those that exist, operations and statuses are the service's own.
 * Only reasons could be many, and have a bound.
 */
export function createRequestCounter(sql: Sql): RequestCounter {
  const uses = createWriteBuffer<Use>(
    (before, after) => {
      before.requests += after.requests
      return before
    },
    rows => saveUses(sql, rows),
  )
  const refused = createWriteBuffer<RefusedUse>(
    (before, after) => ({
      ...before,
      requests: before.requests + after.requests,
      lastAt: Math.max(before.lastAt, after.lastAt),
    }),
    rows => saveRefusals(sql, rows),
  )

  function countRefusal(tokenId: number, day: number, operation: string, refusal: RequestError, lastAt: number): void {
    const keyOf = (reason: string) => `${tokenId} ${day} ${operation} ${refusal.code} ${reason}`
    const full = refused.size >= mostRefusals && !refused.has(keyOf(refusal.reason))
    const reason = full ? 'other' : refusal.reason
    refused.add(keyOf(reason), { tokenId, day, operation, code: refusal.code, reason, requests: 1, lastAt })
  }

  return {
    count(tokenId, operation, status, refusals) {
      const now = Date.now()
      const day = Math.floor(now / millisecondsOfDay)
      uses.add(`${tokenId} ${day} ${operation} ${status}`, { tokenId, day, operation, status, requests: 1 })
      for (const refusal of refusals) countRefusal(tokenId, day, operation, refusal, now)
    },
    async save() {
      const outcomes = await Promise.allSettled([uses.flush(), refused.flush()])
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    },
  }
}

const dateOf = (day: number) => new Date(day * millisecondsOfDay).toISOString().slice(0, 10)

/** What all counts have, as columns to be unnested. */
const columnsOf = (sql: Sql, rows: readonly Pick<Use, 'tokenId' | 'day' | 'operation' | 'requests'>[]) => sql`
  ${arrayText(rows.map(({ tokenId }) => tokenId))}::text::bigint[],
  ${arrayText(rows.map(({ day }) => dateOf(day)))}::text::date[],
  ${arrayText(rows.map(({ operation }) => operation))}::text::text[],
  ${arrayText(rows.map(({ requests }) => requests))}::text::bigint[]`

// Tokens that are gone drop out. Rows are locked in one order, so that instances wait for each other, and none for all.
const saveUses = (sql: Sql, rows: readonly Use[]) => sql`
  insert /* request_count.save */ into gateway.request_count (token_id, day, operation, status, requests)
  select token_id, day, operation, status, requests
  from unnest(${columnsOf(sql, rows)}, ${arrayText(rows.map(({ status }) => status))}::text::integer[])
       as counted(token_id, day, operation, requests, status)
  where exists (select from gateway.token where id = token_id)
  order by token_id, day, operation, status
  on conflict (token_id, day, operation, status) do update set requests = request_count.requests + excluded.requests`

const saveRefusals = (sql: Sql, rows: readonly RefusedUse[]) => sql`
  insert /* request_error.save */ into gateway.request_error (token_id, day, operation, code, reason, requests, last_at)
  select token_id, day, operation, code, reason, requests, last_at
  from unnest(${columnsOf(sql, rows)},
              ${arrayText(rows.map(({ code }) => code))}::text::text[],
              ${arrayText(rows.map(({ reason }) => reason))}::text::text[],
              ${arrayText(rows.map(({ lastAt }) => new Date(lastAt).toISOString()))}::text::timestamptz[])
       as counted(token_id, day, operation, requests, code, reason, last_at)
  where exists (select from gateway.token where id = token_id)
  order by token_id, day, operation, code, reason
  on conflict (token_id, day, operation, code, reason) do update
  set requests = request_error.requests + excluded.requests, last_at = greatest(request_error.last_at, excluded.last_at)`

/** Forgets what was counted more than 90 days ago. */
export async function deleteExpiredRequestCounts(sql: Sql): Promise<void> {
  const isOld = sql`day < ${today(sql)} - ${daysKept}::integer`
  await sql`
    with /* request_count.delete_expired */ refusals as (
      delete from gateway.request_error where ${isOld}
    ), exports as (
      delete from gateway.token_export where ${isOld}
    )
    delete from gateway.request_count where ${isOld}`
}

const today = (sql: Sql) => sql`(now() at time zone 'UTC')::date`

/** A condition: the day is one of the last so many, UTC, today among them. */
const within = (sql: Sql, days: number) => sql`day > ${today(sql)} - ${days}::integer`

/** Requests of a token on one day. */
export interface RequestCount {
  /** `YYYY-MM-DD`, UTC. */
  day: string
  operation: string
  status: number
  requests: number
}

/**
 * @param days how many, UTC, today among them
 * @returns what the token asked on each of them, the newest day first
 */
export async function listRequestCounts(sql: Sql, tokenId: number, days: number): Promise<RequestCount[]> {
  return sql<RequestCount[]>`
    select /* request_count.list */ day, operation, status, requests
    from gateway.request_count where token_id = ${tokenId} and ${within(sql, days)}
    order by day desc, operation, status`
}

/** How often a token was refused something, and when it last was. */
export interface RequestErrorCount extends RequestError {
  operation: string
  requests: number
  lastAt: Instant
}

/**
 * @param days how many, UTC, today among them
 * @returns what the token was refused in them, the latest first, at most 100
 */
export async function listRequestErrors(sql: Sql, tokenId: number, days: number): Promise<RequestErrorCount[]> {
  return sql<RequestErrorCount[]>`
    select /* request_error.list */ operation, code, reason, sum(requests)::bigint as requests, max(last_at) as "lastAt"
    from gateway.request_error where token_id = ${tokenId} and ${within(sql, days)}
    group by operation, code, reason order by max(last_at) desc, operation, code, reason limit 100`
}

/** Personal data that a token was given of one tenant on one day. */
export interface DailyExport {
  /** `YYYY-MM-DD`, UTC. */
  day: string
  tenantId: number
  /** Null when the tenant is gone. */
  tenantName: string | null
  /** Records, one given out twice counted twice. */
  records: number
  lastAt: Instant
}

/**
 * @param days how many, UTC, today among them
 * @returns the personal data that the token was given in them, by day and tenant, the latest first, at most 200
 */
export async function listExports(sql: Sql, tokenId: number, days: number): Promise<DailyExport[]> {
  return sql<DailyExport[]>`
    select /* export.list */ day, tenant_id as "tenantId", tenant.name as "tenantName", records,
           last_at as "lastAt"
    from gateway.token_export left join tenant on tenant.id = tenant_id
    where token_id = ${tokenId} and ${within(sql, days)}
    order by day desc, last_at desc, tenant_id limit 200`
}
