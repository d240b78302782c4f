/** The endpoints of tokens, to which the service sends events (R36), and the actions of administrators on endpoints. */
import type { Fragment, Sql } from '../../db/sql.ts'
import { type Actor, type AuditAction, auditEntry } from '../administrator/audit.ts'
import { badInput, notFound } from '../errors.ts'
import { lastStamp } from '../sync/server-time.ts'
import { isExpired, sessionEnded } from '../token/token.ts'
import type { Instant } from '../value/instant.ts'

/** The reasons of pauses, each as the end of a sentence that begins with *is paused since …*. */
export const pauseReasons = {
  administrator: 'by an administrator',
  failing: 'after five days without a success',
  gone: 'because the receiver answered 410: it wants no more events',
}

export type PauseReason = keyof typeof pauseReasons

/** The properties of an endpoint that an administrator sees. */
export interface Endpoint {
  id: number
  tokenId: number
  tokenName: string
  /** False when the token is revoked or expired, or its session has ended; then the service sends no events. */
  tokenIsActive: boolean
  url: string
  createdAt: Instant
  createdBy: string
  /** The instant up to which all changes were delivered. */
  deliveredTo: Instant
  /** The time since `deliveredTo`, in seconds. */
  lag: number
  secretVersion: number
  /** True for a day after a rotation: then the former secret also signs. */
  formerSigns: boolean
  failingSince: Instant | null
  pausedAt: Instant | null
  pauseReason: PauseReason | null
  /** Increases with each change by an administrator. */
  revision: number
}

/** `failing`: the last try failed; `ended`: the token is not active. */
type EndpointState = 'active' | 'failing' | 'paused' | 'ended'

/** Returns the state of an endpoint. */
export function endpointState({ tokenIsActive, pausedAt, failingSince }: Endpoint): EndpointState {
  if (!tokenIsActive) return 'ended'
  if (pausedAt !== null) return 'paused'
  return failingSince === null ? 'active' : 'failing'
}

/** The time for which two secrets sign after a rotation, in hours. */
const overlapHours = 24

/** The maximum number of endpoints of a token. */
export const maxEndpoints = 10

/** Returns the SQL condition that the token of an endpoint is active. */
export const tokenIsActive = (sql: Sql): Fragment =>
  sql`(token.revoked_at is null and not ${isExpired(sql)} and not ${sessionEnded(sql)})`

/** Returns the SQL condition that the former secret of an endpoint still signs. */
export const formerSigns = (sql: Sql): Fragment =>
  sql`coalesce(endpoint.rotated_at > now() - ${overlapHours}::integer * interval '1 hour', false)`

const endpointColumns = (sql: Sql): Fragment => sql`
  endpoint.id, token_id as "tokenId", token.name as "tokenName", ${tokenIsActive(sql)} as "tokenIsActive", url,
  endpoint.created_at as "createdAt", endpoint.created_by as "createdBy", delivered_to as "deliveredTo",
  extract(epoch from now() - delivered_to)::integer as lag, secret_version as "secretVersion",
  ${formerSigns(sql)} as "formerSigns", failing_since as "failingSince", paused_at as "pausedAt", pause_reason as "pauseReason",
  endpoint.revision`

/** Returns the endpoints of a token, or of all tokens, oldest first. */
export const listEndpoints = (sql: Sql, tokenId: number | null = null): Promise<Endpoint[]> =>
  sql<Endpoint[]>`
    select /* webhook.list */ ${endpointColumns(sql)}
    from gateway.webhook_endpoint endpoint join gateway.token on token.id = token_id
    where ${tokenId === null ? sql`true` : sql`token_id = ${tokenId}`} order by endpoint.id`.execute()

/** The numbers of endpoints of active tokens. */
interface EndpointCounts {
  active: number
  failing: number
  paused: Record<PauseReason, number>
  /** The maximum of the times since `deliveredTo`, over the endpoints that are not paused, in seconds. */
  lag: number
}

/** Counts the endpoints by state, for metrics. */
export async function countEndpoints(sql: Sql): Promise<EndpointCounts> {
  const [counts] = await sql<[EndpointCounts]>`
    select /* webhook.count */ count(*) filter (where paused_at is null and failing_since is null)::integer as active,
           count(*) filter (where paused_at is null and failing_since is not null)::integer as failing,
           json_build_object('administrator', count(*) filter (where pause_reason = 'administrator'),
                             'failing', count(*) filter (where pause_reason = 'failing'),
                             'gone', count(*) filter (where pause_reason = 'gone')) as paused,
           coalesce(extract(epoch from now() - min(delivered_to) filter (where paused_at is null))::float8, 0) as lag
    from gateway.webhook_endpoint endpoint join gateway.token on token.id = token_id
    where ${tokenIsActive(sql)}`
  return counts
}

/** Returns an endpoint by id, or throws `NOT_FOUND`. */
export async function getEndpoint(sql: Sql, id: number): Promise<Endpoint> {
  const [endpoint] = await sql<Endpoint[]>`
    select /* webhook.get */ ${endpointColumns(sql)}
    from gateway.webhook_endpoint endpoint join gateway.token on token.id = token_id where endpoint.id = ${id}`
  if (!endpoint) throw notFound('webhook')
  return endpoint
}

/**
 * Returns the reason why events cannot be sent to an address, or null.
 *
 * @param text an https URL, at port 443 or above 1024. The IP addresses of the host are checked only when events are
 * sent, because they can change
 */
function findUrlProblem(text: string): string | null {
  // Measures `href`, because non-ASCII characters become longer when the URL is sent.
  if (!URL.canParse(text) || new URL(text).href.length > 2000)
    return 'Give a URL of at most 2,000 characters, such as https://partner.example.com/hooks.'
  const { protocol, port, username, password, hash } = new URL(text)
  if (protocol !== 'https:')
    return 'The URL must begin with https://. Otherwise others on the network can read and change events.'
  if (username + password !== '')
    return 'Leave out the user name and password: the signature shows the receiver that an event is genuine.'
  if (hash !== '') return 'Leave out the part after #: it is not sent.'
  if (port !== '' && Number(port) <= 1024) return 'Use port 443, or a port above 1024.'
  return null
}

/**
 * Creates an endpoint. The endpoint gets only changes after its creation.
 *
 * @throws `BAD_USER_INPUT` with the errors of `url`, or of `token` when it is not active or has too many endpoints;
 * `UNAVAILABLE` during the first fill
 */
export async function createEndpoint(sql: Sql, actor: Actor, tokenId: number, text: string): Promise<Endpoint> {
  const problem = findUrlProblem(text)
  if (problem !== null) throw badInput({ url: [problem] })
  const url = new URL(text).href
  const [created] = await sql<{ id: number }[]>`
    with /* webhook.create */ created as (
      insert into gateway.webhook_endpoint (token_id, url, created_by, starts_at, delivered_to, epoch)
      select token.id, ${url}, ${actor.name}, stamp, stamp, sync_state.epoch
      from gateway.token, gateway.sync_state, (select ${lastStamp(sql)} as stamp) last
      where token.id = ${tokenId} and ${tokenIsActive(sql)} and stamp is not null
        and (select count(*) from gateway.webhook_endpoint where token_id = token.id) < ${maxEndpoints}::integer
      on conflict (token_id, url) do nothing
      returning id, token_id
    ), audited as (
      ${auditEntry(sql, actor, 'webhook.create', sql`token_id, jsonb_build_object('endpoint', id, 'url', ${url}::text) from created`)}
    )
    select id from created`
  if (created) return getEndpoint(sql, created.id)
  const existing = (await listEndpoints(sql, tokenId)).find(endpoint => endpoint.url === url)
  if (existing) throw badInput({ url: [`Webhook ${existing.id} of this token already sends to this URL.`] })
  const rule = `The token must be active, and may have ${maxEndpoints} endpoints. During the first fill, try again in a minute.`
  throw badInput({ token: [rule] })
}

/**
 * Changes an endpoint, and records the change in the audit.
 *
 * @param update the statement, which returns the token's id
 * @param more further CTEs of the statement
 * @throws `NOT_FOUND`; `BAD_USER_INPUT` with the error of `revision` when the endpoint exists but `update` changed no
 * row, because of another revision
 */
async function changeEndpoint(
  sql: Sql,
  actor: Actor,
  id: number,
  action: AuditAction,
  update: Fragment,
  { more = sql``, ...detail }: { more?: Fragment; from?: Instant } = {},
) {
  const shown = JSON.stringify({ endpoint: id, ...detail })
  const [changed] = await sql`
    with /* webhook.change */ changed as (${update}) ${more}
    ${auditEntry(sql, actor, action, sql`token_id, ${shown}::text::jsonb from changed`)} returning 1`
  if (changed) return
  await getEndpoint(sql, id)
  const conflict = 'The webhook has changed meanwhile, so nothing was done: look at its present state, and try again.'
  throw badInput({ revision: [conflict] })
}

/**
 * Pauses an endpoint. Changes are kept, and are sent after an administrator resumes the endpoint.
 *
 * @throws `NOT_FOUND`
 */
export function pauseEndpoint(sql: Sql, actor: Actor, id: number): Promise<void> {
  const update = sql`
      update gateway.webhook_endpoint
      set paused_at = coalesce(paused_at, now()), pause_reason = 'administrator', revision = revision + 1
      where id = ${id} returning token_id`
  return changeEndpoint(sql, actor, id, 'webhook.pause', update)
}

/** Resumes an endpoint at the positions of its lists. Waiting changes are sent immediately. @throws `NOT_FOUND` */
export function resumeEndpoint(sql: Sql, actor: Actor, id: number): Promise<void> {
  const update = sql`
      update gateway.webhook_endpoint
      set paused_at = null, pause_reason = null, failing_since = null, revision = revision + 1
      where id = ${id} returning token_id`
  return changeEndpoint(sql, actor, id, 'webhook.resume', update)
}

/**
 * Makes the service send the changes since an instant again, and earlier changes that are not delivered yet.
 *
 * @param revision the revision that the administrator has seen, so that a form that is sent twice has one effect; null
 * accepts any revision
 * @throws the errors of `change`; `BAD_USER_INPUT` with the errors of `from` when it is in the future or no date
 */
export async function replayEndpoint(
  sql: Sql,
  actor: Actor,
  id: number,
  from: Instant,
  revision: number | null = null,
): Promise<void> {
  // The comparison also rejects `infinity`, whose date is NaN.
  if (!(Date.parse(from) <= Date.now())) throw badInput({ from: ['Give a time in the past.'] })
  const update = sql`
    update gateway.webhook_endpoint
    set starts_at = least(starts_at, ${from}::text::timestamptz), delivered_to = least(delivered_to, ${from}::text::timestamptz),
        generation = generation + 1, revision = revision + 1
    where id = ${id} and revision = coalesce(${revision}::integer, revision) returning id, token_id, generation`
  // A try that begins at the same time can write a position of the former generation. Such a position does not
  // count, so the list is sent again from `starts_at`.
  const more = sql`
    , moved as (
      update gateway.webhook_position as position
      set delivered_to = case when position.delivered_to is not null then least(position.delivered_to, ${from}::text::timestamptz) end,
          since = null, until = null, generation = changed.generation
      from changed where endpoint_id = changed.id and position.generation = changed.generation - 1
    )`
  await changeEndpoint(sql, actor, id, 'webhook.replay', update, { from, more })
}

/**
 * Replaces the secret of an endpoint. For 24 hours the former secret also signs.
 *
 * @param revision as for `replayEndpoint`
 * @returns the endpoint with the new secret
 * @throws the errors of `change`
 */
export async function rotateSecret(
  sql: Sql,
  actor: Actor,
  id: number,
  revision: number | null = null,
): Promise<Endpoint> {
  const update = sql`
    update gateway.webhook_endpoint
    set secret_version = secret_version + 1, rotated_at = now(), revision = revision + 1
    where id = ${id} and revision = coalesce(${revision}::integer, revision) returning token_id`
  await changeEndpoint(sql, actor, id, 'webhook.rotate', update)
  return getEndpoint(sql, id)
}

/** Deletes an endpoint with its positions and its log. @throws `NOT_FOUND` */
export async function deleteEndpoint(sql: Sql, actor: Actor, id: number): Promise<void> {
  const [deleted] = await sql`
    with /* webhook.delete */ deleted as (
      delete from gateway.webhook_endpoint where id = ${id} returning token_id, url
    )
    ${auditEntry(sql, actor, 'webhook.delete', sql`token_id, jsonb_build_object('endpoint', ${id}::bigint, 'url', url) from deleted`)}
    returning 1`
  if (!deleted) throw notFound('webhook')
}
