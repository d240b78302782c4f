/**
 * The state of webhook deliveries (R36): for each list and endpoint, the instant up to which changes were delivered,
 * and the window of the current delivery.
 */
import type { Fragment, Sql } from '../../db/sql.ts'
import { type Actor, auditEntry } from '../administrator/audit.ts'
import { notFound } from '../errors.ts'
import { type Instant, instantText } from '../value/instant.ts'
import { formerSigns, tokenIsActive } from './endpoint.ts'

/** An endpoint that is not paused and whose token is active. The process with the lease sends to it. */
export interface ActiveEndpoint {
  id: number
  url: string
  tokenId: number
  tokenRevision: number
  /** The instant after which the changes of a list are sent, when the list has no position yet. */
  startsAt: Instant
  /**
   * All changes up to this instant were delivered, as long as the epoch of the records and the access of the token are
   * the same.
   */
  deliveredTo: Instant
  epoch: number
  access: string
  secretVersion: number
  formerSigns: boolean
  isFailing: boolean
  generation: number
  revision: number
}

/** The duration of the lease of the process that sends, in seconds. The process renews the lease each second. */
export const leaseSeconds = 8

const isHeld = (sql: Sql, instance: string): Fragment =>
  sql`exists (select from gateway.webhook_sender where instance = ${instance} and held_until > clock_timestamp())`

/**
 * Takes or renews the lease, when there are endpoints. Of all processes of all instances, only the process with the
 * lease sends.
 *
 * @param instance a unique name of this process
 * @returns the endpoints to which this process sends; none while another process has the lease
 */
export const holdLease = (sql: Sql, instance: string): Promise<ActiveEndpoint[]> =>
  sql<ActiveEndpoint[]>`
    with /* webhook.hold_lease */ held as (
      update gateway.webhook_sender
      set instance = ${instance}, held_until = clock_timestamp() + ${leaseSeconds}::integer * interval '1 second'
      where (instance = ${instance} or held_until < clock_timestamp())
        and exists (select from gateway.webhook_endpoint where paused_at is null)
      returning 1
    )
    select endpoint.id, url, token_id as "tokenId", token.revision as "tokenRevision", starts_at as "startsAt",
           delivered_to as "deliveredTo", epoch, access, secret_version as "secretVersion",
           ${formerSigns(sql)} as "formerSigns", failing_since is not null as "isFailing", generation, endpoint.revision
    from held, gateway.webhook_endpoint endpoint join gateway.token on token.id = token_id
    where paused_at is null and ${tokenIsActive(sql)} order by endpoint.id`.execute()

/** Ends the lease, so that the next process that calls `holdLease` gets the lease. */
export const releaseLease = (sql: Sql, instance: string): Promise<unknown> =>
  sql`update /* webhook.release_lease */ gateway.webhook_sender set held_until = '-infinity' where instance = ${instance}`.execute()

/** Identifies a list: the tenant and the type of records. */
export interface ListKey {
  tenantId: number
  /** The type of the records: `record` of `RecordType`. */
  record: string
}

/** The window of an event: a client that reads the list from `since` gets all changes up to `until`. */
export interface Window {
  /** Null when the whole list must be read. */
  since: Instant | null
  until: Instant
}

/** The position of a list at an endpoint. */
export interface Position extends ListKey {
  /** All changes up to this instant were delivered; null before the first delivery since `startsAt`. */
  deliveredTo: Instant | null
  /** The window of a delivery that has begun but has not succeeded yet; null when there is none. */
  window: Window | null
}

/** Reads the positions of an endpoint. */
export const listPositions = (sql: Sql, { id, generation }: ActiveEndpoint): Promise<Position[]> =>
  sql<Position[]>`
    select /* webhook.list_positions */ tenant_id as "tenantId", record, delivered_to as "deliveredTo",
           case when until is not null then json_build_object('since', ${instantText(sql, sql`since`)},
                                                              'until', ${instantText(sql, sql`until`)}) end as window
    from gateway.webhook_position where endpoint_id = ${id} and generation = ${generation}`.execute()

/** A try to deliver an event, which is about to begin. */
export interface Try extends ListKey, Window {
  endpointId: number
  /** The revision of the endpoint when the try was planned; `tokenRevision` is the revision of its token. */
  revision: number
  tokenRevision: number
}

/**
 * Stores the windows of tries. Each retry, by any process, then has the same window, and so the same id and body.
 *
 * @returns the tries that may begin; none without the lease, or when the endpoint or the token has changed or is not
 * active
 */
export const beginTries = (sql: Sql, instance: string, tries: readonly Try[]) =>
  sql<(ListKey & { endpointId: number })[]>`
    insert /* webhook.begin_tries */ into gateway.webhook_position (endpoint_id, tenant_id, record, since, until, generation)
    select "endpointId", "tenantId", record, since, until, generation
    from json_to_recordset(${JSON.stringify(tries)}::text::json) as try(
           "endpointId" bigint, revision integer, "tokenRevision" integer, "tenantId" bigint, record gateway.record_type,
           since timestamptz, until timestamptz)
    join gateway.webhook_endpoint endpoint on endpoint.id = "endpointId" and endpoint.revision = try.revision
    join gateway.token on token.id = token_id and token.revision = "tokenRevision"
    where paused_at is null and ${tokenIsActive(sql)} and ${isHeld(sql, instance)}
    on conflict (endpoint_id, tenant_id, record) do update
    set since = excluded.since, until = excluded.until, generation = excluded.generation,
        delivered_to = case when webhook_position.generation = excluded.generation then webhook_position.delivered_to end
    returning endpoint_id as "endpointId", tenant_id as "tenantId", record`.execute()

export interface Outcome extends Try {
  generation: number
  messageId: string
  type: string
  /** The HTTP status of the response; null without a response. */
  status: number | null
  /** The error code of a try without a response; otherwise null. */
  error: string | null
  durationMs: number
  isDelivered: boolean
}

/** The HTTP status (410 Gone) with which a receiver asks for no more events. */
const goneStatus = 410

/** The time in which all tries have failed after which an endpoint is paused, in days. */
const maxFailingDays = 5

/**
 * Records the outcomes of tries in the log: advances the positions of delivered lists, records since when an
 * endpoint fails, and pauses endpoints that fail for too long or answer 410.
 */
export const recordOutcomes = (sql: Sql, outcomes: readonly Outcome[]): Promise<unknown> =>
  sql`
    with /* webhook.record_outcomes */ outcome as (
      select * from json_to_recordset(${JSON.stringify(outcomes)}::text::json) as outcome(
        "endpointId" bigint, generation integer, "tenantId" bigint, record gateway.record_type, until timestamptz,
        "messageId" text, type text, status integer, error text, "durationMs" integer, "isDelivered" boolean)
    ), logged as (
      insert into gateway.webhook_delivery (endpoint_id, message_id, type, tenant_id, status, error, duration_ms)
      select "endpointId", "messageId", type, "tenantId", status, error, "durationMs"
      from outcome where exists (select from gateway.webhook_endpoint where id = "endpointId")
    ), advanced as (
      update gateway.webhook_position as position set delivered_to = outcome.until, since = null, until = null
      from outcome
      where "isDelivered" and endpoint_id = "endpointId" and tenant_id = "tenantId" and position.record = outcome.record
        and position.until = outcome.until and position.generation = outcome.generation
    ), ended as (
      select "endpointId", bool_or("isDelivered") as succeeded, bool_or(status = ${goneStatus}) as is_gone,
             bool_or(failing_since < now() - ${maxFailingDays}::integer * interval '1 day') as is_dead
      from outcome join gateway.webhook_endpoint on id = "endpointId" group by "endpointId"
    )
    update gateway.webhook_endpoint as endpoint
    set failing_since = case when not succeeded then coalesce(failing_since, now()) end,
        paused_at = case when is_gone or (is_dead and not succeeded) then now() end,
        pause_reason = case when is_gone then 'gone' when is_dead and not succeeded then 'failing' end
    from ended
    where id = "endpointId" and paused_at is null
      and (is_gone or succeeded = (failing_since is not null) or (is_dead and not succeeded))`.execute()

/** The progress of an endpoint: the instant up to which the changes of all its lists were delivered. */
export type Progress = Pick<ActiveEndpoint, 'id' | 'revision' | 'deliveredTo' | 'epoch' | 'access'>

/**
 * Saves the progress of endpoints, so that the next process with the lease need not compare the positions of all lists.
 */
export const saveProgress = (sql: Sql, instance: string, progress: readonly Progress[]): Promise<unknown> =>
  sql`
    update /* webhook.save_progress */ gateway.webhook_endpoint as endpoint
    set delivered_to = saved."deliveredTo", epoch = saved.epoch, access = saved.access
    from json_to_recordset(${JSON.stringify(progress)}::text::json) as saved(
           id bigint, revision integer, "deliveredTo" timestamptz, epoch bigint, access text)
    where endpoint.id = saved.id and endpoint.revision = saved.revision and ${isHeld(sql, instance)}`.execute()

/** A try in the log. */
export interface Delivery {
  id: number
  at: Instant
  messageId: string
  type: string
  tenantId: number | null
  status: number | null
  error: string | null
  durationMs: number
}

/** Returns the last tries of an endpoint, newest first. */
export const listDeliveries = (sql: Sql, endpointId: number, limit: number): Promise<Delivery[]> =>
  sql<Delivery[]>`
    select /* webhook.list_deliveries */ id, at, message_id as "messageId", type, tenant_id as "tenantId", status, error,
           duration_ms as "durationMs"
    from gateway.webhook_delivery where endpoint_id = ${endpointId} order by id desc limit ${limit}`.execute()

/** Records the outcome of an administrator's test request in the log and in the audit. @throws `NOT_FOUND` */
export async function recordTest(
  sql: Sql,
  actor: Actor,
  id: number,
  { messageId, status, error, durationMs }: Pick<Delivery, 'messageId' | 'status' | 'error' | 'durationMs'>,
): Promise<void> {
  const detail = JSON.stringify({ endpoint: id, status, error })
  const [recorded] = await sql`
    with /* webhook.record_test */ tested as (
      select id, token_id from gateway.webhook_endpoint where id = ${id}
    ), logged as (
      insert into gateway.webhook_delivery (endpoint_id, message_id, type, status, error, duration_ms)
      select id, ${messageId}, 'test', ${status}::integer, ${error}::text, ${durationMs}::integer from tested
    )
    ${auditEntry(sql, actor, 'webhook.test', sql`token_id, ${detail}::text::jsonb from tested`)} returning 1`
  if (!recorded) throw notFound('webhook')
}

/** The number of tries per endpoint that the log keeps. */
const maxLogged = 10_000

/**
 * Deletes tries from the log that are older than a week, or that are not among the last 10,000 of their endpoint.
 */
export const deleteOldDeliveries = (sql: Sql): Promise<unknown> =>
  sql`
    delete /* webhook.delete_old_deliveries */ from gateway.webhook_delivery as delivery
    using gateway.webhook_endpoint as endpoint cross join lateral (
      select max(id) as id from (
        select id, at, row_number() over (order by id desc) as place
        from gateway.webhook_delivery where endpoint_id = endpoint.id
      ) newer where place > ${maxLogged}::integer or at < now() - interval '7 days'
    ) last
    where delivery.endpoint_id = endpoint.id and delivery.id <= last.id`.execute()
