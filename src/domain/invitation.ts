import { randomBytes } from 'node:crypto'
import type { Sql } from '../db/connect.ts'
import { type Administrator, noAdministratorYet } from './administrator.ts'
import { setPassword } from './administrator-password.ts'
import { type Actor, auditEntry } from './audit.ts'
import { notFound } from './errors.ts'
import type { Instant } from './instant.ts'
import { hashSecret } from './secret.ts'
import type { VerifiedAdministrator } from './session.ts'

/** A one-time link that holds. */
export interface Invitation {
  /** Whose password it sets; null: that of the first administrator, who gives his own e-mail. */
  email: string | null
}

/** 256 random bits, as text for an address. */
const createSecret = () => randomBytes(32).toString('base64url')

const lifetime = (sql: Sql) => sql`interval '24 hours'`

/** A link ends with whoever made it, also one that he makes in the moment in which he is removed. */
const holds = (sql: Sql) => sql`
  invitation.expires_at > now()
  and (invitation.invited_by is null
       or exists (select from gateway.administrator
                  where administrator.id = invitation.invited_by and administrator.removed_at is null))`

/**
 * Makes a one-time link for the first administrator. It is valid for 24 hours; earlier links stay valid, because other
 * instances have printed them.
 *
 * @returns the link's secret, or null when there is an administrator
 */
export async function inviteFirstAdministrator(sql: Sql, actor: Actor): Promise<string | null> {
  const secret = createSecret()
  const [made] = await sql`
    with /* invitation.create_first */ made as (
      insert into gateway.invitation (token_hash, expires_at)
      select ${hashSecret(secret)}, now() + ${lifetime(sql)} where ${noAdministratorYet(sql)}
      returning expires_at
    )
    ${auditEntry(
      sql,
      actor,
      'administrator.invite',
      sql`null::bigint, null::bigint, null::bigint, jsonb_build_object('reason', 'there is no administrator')
          from made`,
    )}
    returning id`
  return made ? secret : null
}

/**
 * Makes a one-time link with which this account gets its (new) password, and is made when it is not there. It holds
 * for 24 hours, or until who made it is removed; earlier ones for the account are void.
 *
 * @param invitedBy who makes it; null: the command line
 * @returns the link's secret
 */
export async function inviteAdministrator(
  sql: Sql,
  actor: Actor,
  email: string,
  invitedBy: Administrator | null = null,
): Promise<string> {
  const secret = createSecret()
  await sql`
    with /* invitation.create */ voided as (
      delete from gateway.invitation where email = ${email}
    ), made as (
      insert into gateway.invitation (token_hash, email, invited_by, expires_at)
      values (${hashSecret(secret)}, ${email}, ${invitedBy?.id ?? null}, now() + ${lifetime(sql)})
      returning email
    )
    ${auditEntry(
      sql,
      actor,
      'administrator.invite',
      sql`null::bigint,
          (select id from gateway.administrator where administrator.email = made.email and removed_at is null),
          null::bigint, jsonb_build_object('email', email) from made`,
    )}`
  return secret
}

/** @returns null: the link was used, is void or too old, or never was one */
export async function findInvitation(sql: Sql, secret: string): Promise<Invitation | null> {
  const [found] = await sql<Invitation[]>`
    select /* invitation.find */ email from gateway.invitation
    where token_hash = ${hashSecret(secret)} and ${holds(sql)} and (email is not null or ${noAdministratorYet(sql)})`
  return found ?? null
}

/**
 * Uses a link that makes the first administrator. All links of this kind are void afterwards.
 *
 * @returns null when the link is not valid any more
 */
export async function acceptFirstInvitation(
  sql: Sql,
  secret: string,
  { email, address }: { email: string; address: string },
  password: string,
): Promise<VerifiedAdministrator | null> {
  // A valid link deletes all of them, so that of two links used at the same time one finds itself gone.
  const wanted = sql`taken as (
    delete from gateway.invitation
    where email is null
      and exists (select from gateway.invitation
                  where token_hash = ${hashSecret(secret)} and email is null and ${holds(sql)})
    returning token_hash
  ), wanted as (
    select ${email}::text as email from taken where token_hash = ${hashSecret(secret)} and ${noAdministratorYet(sql)}
  )`
  return setPassword(sql, { name: email, address }, wanted, password)
}

/**
 * Uses the link that an account was sent.
 *
 * @returns null: the link does not hold any more
 */
export async function acceptInvitation(
  sql: Sql,
  secret: string,
  { email, address }: { email: string; address: string },
  password: string,
): Promise<VerifiedAdministrator | null> {
  const wanted = sql`wanted as (
    delete from gateway.invitation
    where token_hash = ${hashSecret(secret)} and email = ${email} and ${holds(sql)}
    returning email
  )`
  return setPassword(sql, { name: email, address }, wanted, password)
}

/** A link that was not used yet. */
export interface PendingInvitation {
  email: string
  /** The e-mail of who made it; null: the command line. */
  invitedBy: string | null
  createdAt: Instant
  expiresAt: Instant
}

/** @returns the links of accounts that hold, by e-mail */
export async function listInvitations(sql: Sql): Promise<PendingInvitation[]> {
  return sql<PendingInvitation[]>`
    select /* invitation.list */ email, created_at as "createdAt", expires_at as "expiresAt",
           (select administrator.email from gateway.administrator where administrator.id = invited_by) as "invitedBy"
    from gateway.invitation where email is not null and ${holds(sql)} order by email`
}

/**
 * Voids the link of an account.
 *
 * @throws `NOT_FOUND` when it has none that was not used
 */
export async function withdrawInvitation(sql: Sql, actor: Actor, email: string): Promise<void> {
  const withdrawn = await sql`
    with /* invitation.withdraw */ withdrawn as (
      delete from gateway.invitation where email = ${email} returning email
    )
    ${auditEntry(
      sql,
      actor,
      'administrator.withdraw',
      sql`null::bigint,
          (select id from gateway.administrator where administrator.email = withdrawn.email and removed_at is null),
          null::bigint, jsonb_build_object('email', email) from withdrawn`,
    )}
    returning id`
  if (withdrawn.length === 0) throw notFound('invitation')
}
