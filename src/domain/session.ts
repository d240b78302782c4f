import type { Fragment, Sql } from '../db/connect.ts'
import type { Administrator } from './administrator.ts'
import { type Actor, auditEntry } from './audit.ts'
import type { Instant } from './instant.ts'
import { hashSecret } from './secret.ts'

/** What a session keeps from one page to the next, beside who it is. */
interface SessionData {
  /** A sentence that the next page shows once. */
  notice?: string
}

/** Somebody who has just shown who he is. It holds as long as the generation is his account's. */
export interface VerifiedAdministrator extends Administrator {
  /** Moves when the password is set anew, and when the account is removed. */
  generation: number
}

/** A session that begins. */
export interface NewSession {
  /** The secret that the browser holds; its hash alone is kept. */
  id: string
  userAgent: string | null
}

/** A session as its administrator sees it. */
export interface SessionRecord {
  address: string | null
  userAgent: string | null
  createdAt: Instant
  usedAt: Instant
  /** Whether it is the one that asks. */
  current: boolean
}

/**
 * A session ends 12 hours after it began, when it was not used for an hour, and when its account has come to another
 * generation: whoever ends all sessions need not see one that begins at the same moment.
 */
const lifetime = (sql: Sql) => sql`interval '12 hours'`
const holds = (sql: Sql) => sql`
  session.expires_at > now() and session.used_at > now() - interval '1 hour'
  and exists (select from gateway.administrator
              where administrator.id = session.administrator_id and administrator.generation = session.generation
                and administrator.removed_at is null)`

const maxUserAgent = 300

/**
 * The part of a statement that begins a session.
 *
 * @param account the name of another part, with the `id` and the `generation` of whose it is
 */
export const sessionEntry = (sql: Sql, actor: Actor, { id, userAgent }: NewSession, account: Fragment): Fragment => sql`
  insert into gateway.session (id_hash, administrator_id, generation, data, address, user_agent, expires_at)
  select ${hashSecret(id)}, id, generation, '{}', ${actor.address}::text,
         ${userAgent?.slice(0, maxUserAgent) ?? null}::text, now() + ${lifetime(sql)}
  from ${account}
  returning administrator_id`

/**
 * Begins a session, and puts down that someone has signed in.
 *
 * @param verified who has shown who he is
 * @param means what he showed
 * @returns whether it has begun: not when the account was removed or given another password since he showed it
 */
export async function startSession(
  sql: Sql,
  actor: Actor,
  verified: VerifiedAdministrator,
  session: NewSession,
  means: 'password' | 'link' | 'openid',
): Promise<boolean> {
  const started = await sql`
    with /* session.start */ account as (
      select id, generation from gateway.administrator
      where id = ${verified.id} and generation = ${verified.generation} and removed_at is null
      for share
    ), started as (${sessionEntry(sql, actor, session, sql`account`)})
    ${auditEntry(
      sql,
      actor,
      'administrator.sign_in',
      sql`null::bigint, administrator_id, null::bigint, jsonb_build_object('means', ${means}::text) from started`,
    )}
    returning id`
  return started.length > 0
}

/**
 * Finds a session that holds. That it was used is written down once a minute.
 *
 * @returns null: there is none, or it has ended
 */
export async function findSession(
  sql: Sql,
  id: string,
): Promise<{ administrator: Administrator; data: SessionData } | null> {
  const [session] = await sql<{ id: number; email: string; data: SessionData }[]>`
    with /* session.find */ found as (
      select session.id_hash, session.data, session.used_at, administrator.id, administrator.email
      from gateway.session join gateway.administrator on administrator.id = session.administrator_id
      where session.id_hash = ${hashSecret(id)} and ${holds(sql)}
    ), used as (
      update gateway.session set used_at = now() from found
      where session.id_hash = found.id_hash and found.used_at < now() - interval '1 minute'
    )
    select id, email, data from found`
  return session ? { administrator: { id: session.id, email: session.email }, data: session.data } : null
}

/** Keeps what a session carries on; one that has ended stays so. */
export async function saveSession(sql: Sql, id: string, data: SessionData): Promise<void> {
  await sql`
    update /* session.save */ gateway.session set data = ${JSON.stringify(data)}::text::jsonb where id_hash = ${hashSecret(id)}`
}

/** Ends a session, of which nothing is put down: it gives way to another. */
export async function deleteSession(sql: Sql, id: string): Promise<void> {
  await sql`delete /* session.delete */ from gateway.session where id_hash = ${hashSecret(id)}`
}

/** Signs out of one session. */
export async function signOut(sql: Sql, actor: Actor, id: string): Promise<void> {
  await sql`
    with /* session.sign_out */ ended as (
      delete from gateway.session where id_hash = ${hashSecret(id)} returning administrator_id
    )
    ${auditEntry(
      sql,
      actor,
      'administrator.sign_out',
      sql`null::bigint, administrator_id, null::bigint, '{}'::jsonb from ended`,
    )}`
}

/** Ends all sessions of an administrator. */
export async function signOutEverywhere(sql: Sql, actor: Actor, administratorId: number): Promise<void> {
  await sql`
    with /* session.sign_out_everywhere */ ended as (
      delete from gateway.session where administrator_id = ${administratorId} returning id_hash
    )
    ${auditEntry(
      sql,
      actor,
      'administrator.sign_out_everywhere',
      sql`null::bigint, ${administratorId}::bigint, null::bigint,
          jsonb_build_object('sessions', (select count(*) from ended))`,
    )}`
}

/**
 * @param currentId the session that asks
 * @returns the sessions of an administrator that hold, the one used last first
 */
export async function listSessions(sql: Sql, administratorId: number, currentId: string): Promise<SessionRecord[]> {
  return sql<SessionRecord[]>`
    select /* session.list */ address, user_agent as "userAgent", created_at as "createdAt", used_at as "usedAt",
           id_hash = ${hashSecret(currentId)} as current
    from gateway.session
    where administrator_id = ${administratorId} and ${holds(sql)}
    order by used_at desc, created_at desc`
}

/** Deletes sessions and one-time links that no longer hold. */
export async function deleteExpiredSessions(sql: Sql): Promise<void> {
  await sql`
    with /* session.delete_expired */ sessions as (
      delete from gateway.session where not (${holds(sql)})
    )
    delete from gateway.invitation where expires_at <= now()`
}
