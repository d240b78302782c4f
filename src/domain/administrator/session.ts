import type { Fragment, Sql } from '../../db/sql.ts'
import { hashSecret } from '../secret/hash.ts'
import type { Instant } from '../value/instant.ts'
import type { Administrator } from './administrator.ts'
import { type Actor, auditEntry } from './audit.ts'

/** The data that pages store in a session. */
interface SessionData {
  /** A message that the next page shows once. */
  flash?: string
}

/**
 * An administrator whose identity has been verified. The verification is valid as long as the account has the same
 * generation.
 */
export interface VerifiedAdministrator extends Administrator {
  /** Increases when the password changes, and when the account is removed. */
  generation: number
}

export interface NewSession {
  /** The secret in the browser's cookie; the database stores only its hash. */
  id: string
  userAgent: string | null
}

export type SignInMeans = 'password' | 'link' | 'openid' | 'demo'

/** The properties of a session that the administrator sees. */
export interface SessionRecord {
  address: string | null
  userAgent: string | null
  createdAt: Instant
  usedAt: Instant
  /** True for the session of this request. */
  current: boolean
}

/**
 * Returns the condition that a row of `gateway.session` has not ended. A session ends 12 hours after its start, after
 * an hour without use, and when the generation of its account changes. So a session that starts while another request
 * ends all sessions of the account is not valid either.
 */
export const isValidSession = (sql: Sql) => sql`
  session.expires_at > now() and session.used_at > now() - interval '1 hour'
  and exists (select from gateway.administrator
              where administrator.id = session.administrator_id and administrator.generation = session.generation
                and administrator.removed_at is null)`

const maxUserAgentLength = 300

/**
 * Returns the text of a CTE that inserts a session.
 *
 * @param account the name of a CTE with the administrator's `id` and `generation`
 */
export const insertSession = (
  sql: Sql,
  actor: Actor,
  { id, userAgent }: NewSession,
  account: Fragment,
): Fragment => sql`
  insert into gateway.session (id_hash, administrator_id, generation, data, address, user_agent, expires_at)
  select ${hashSecret(id)}, id, generation, '{}', ${actor.address}::text,
         ${userAgent?.slice(0, maxUserAgentLength) ?? null}::text, now() + interval '12 hours'
  from ${account}
  returning administrator_id`

/**
 * Starts a session, and records the sign-in in the audit.
 *
 * @returns false when the account was removed, or its password changed, since the verification
 */
export async function startSession(
  sql: Sql,
  actor: Actor,
  verified: VerifiedAdministrator,
  session: NewSession,
  means: SignInMeans,
): Promise<boolean> {
  const detail = sql`jsonb_build_object('means', ${means}::text)`
  const started = await sql`
    with /* session.start */ account as (
      select id, generation from gateway.administrator
      where id = ${verified.id} and generation = ${verified.generation} and removed_at is null
      for share
    ), started as (${insertSession(sql, actor, session, sql`account`)})
    ${auditEntry(sql, actor, 'administrator.sign_in', sql`administrator_id, ${detail} from started`)}
    returning id`
  return started.length > 0
}

/**
 * Returns a session by its secret, or null when the session has ended. Updates `used_at` of the session at most once
 * per minute.
 */
export async function findSession(
  sql: Sql,
  id: string,
): Promise<{ administrator: Administrator; data: SessionData } | null> {
  const [session] = await sql<(Administrator & { data: SessionData })[]>`
    with /* session.find */ found as (
      select session.id_hash, session.data, session.used_at, administrator.id, administrator.email
      from gateway.session join gateway.administrator on administrator.id = session.administrator_id
      where session.id_hash = ${hashSecret(id)} and ${isValidSession(sql)}
    ), used as (
      update gateway.session set used_at = now() from found
      where session.id_hash = found.id_hash and found.used_at < now() - interval '1 minute'
    )
    select id, email, data from found`
  return session ? { administrator: { id: session.id, email: session.email }, data: session.data } : null
}

/** Updates the data of a session. A session that has ended is not started again. */
export async function saveSession(sql: Sql, id: string, data: SessionData): Promise<void> {
  await sql`
    update /* session.save */ gateway.session set data = ${JSON.stringify(data)}::text::jsonb where id_hash = ${hashSecret(id)}`
}

/** Deletes a session that a new session has replaced. Writes no audit entry, because this is no sign-out. */
export async function deleteSession(sql: Sql, id: string): Promise<void> {
  await sql`delete /* session.delete */ from gateway.session where id_hash = ${hashSecret(id)}`
}

/** Ends one session of an administrator, and records the sign-out in the audit. */
export async function signOut(sql: Sql, actor: Actor, id: string): Promise<void> {
  await sql`
    with /* session.sign_out */ ended as (
      delete from gateway.session where id_hash = ${hashSecret(id)} returning administrator_id
    )
    ${auditEntry(sql, actor, 'administrator.sign_out', sql`administrator_id, '{}'::jsonb from ended`)}`
}

/** Ends all sessions of an administrator, including sessions that start during the call. */
export async function signOutEverywhere(sql: Sql, actor: Actor, administratorId: number): Promise<void> {
  const about = sql`${administratorId}::bigint, jsonb_build_object('sessions', (select count(*) from ended))`
  await sql`
    with /* session.sign_out_everywhere */ ended as (
      delete from gateway.session where administrator_id = ${administratorId} returning id_hash
    ), raised as (
      update gateway.administrator set generation = generation + 1 where id = ${administratorId}
    )
    ${auditEntry(sql, actor, 'administrator.sign_out_everywhere', about)}`
}

/**
 * Returns the open sessions of an administrator, the last used session first.
 *
 * @param currentId the session of this request
 */
export async function listSessions(sql: Sql, administratorId: number, currentId: string): Promise<SessionRecord[]> {
  return sql<SessionRecord[]>`
    select /* session.list */ address, user_agent as "userAgent", created_at as "createdAt", used_at as "usedAt",
           id_hash = ${hashSecret(currentId)} as current
    from gateway.session
    where administrator_id = ${administratorId} and ${isValidSession(sql)}
    order by used_at desc, created_at desc`
}

/** Deletes sessions and one-time links that are no longer valid. */
export async function deleteExpiredSessions(sql: Sql): Promise<void> {
  await sql`
    with /* session.delete_expired */ sessions as (
      delete from gateway.session where not (${isValidSession(sql)})
    )
    delete from gateway.invitation where expires_at <= now()`
}
