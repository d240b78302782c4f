/** One-time links, with which the owner of an account chooses a password. */
import { randomBytes } from 'node:crypto'
import type { Fragment, Sql } from '../../db/sql.ts'
import { badInput, notFound } from '../errors.ts'
import { hashSecret } from '../secret/hash.ts'
import type { Instant } from '../value/instant.ts'
import { type Administrator, listAdministrators, noAdministratorYet } from './administrator.ts'
import { setPassword } from './administrator-password.ts'
import { type Actor, auditEntry } from './audit.ts'
import { hashPassword } from './password.ts'
import type { VerifiedAdministrator } from './session.ts'

export interface Invitation {
  /**
   * The e-mail of the account whose password the link sets; null for the first administrator, who also chooses the
   * e-mail.
   */
  email: string | null
}

const createLinkSecret = () => randomBytes(32).toString('base64url')

const lifetime = (sql: Sql) => sql`interval '24 hours'`

/**
 * Returns the condition that a link is valid. The condition tests that the creator of the link still exists, because a
 * link may be created while its creator is being removed.
 */
const isValid = (sql: Sql) => sql`
  invitation.expires_at > now()
  and (invitation.invited_by is null
       or exists (select from gateway.administrator
                  where administrator.id = invitation.invited_by and administrator.removed_at is null))`

/**
 * Returns the end of a `select` for an audit entry about the `email` of a relation: the id of the account (null without
 * an account), the detail and the relation.
 */
const accountIn = (sql: Sql, relation: Fragment) => sql`
  (select id from gateway.administrator where administrator.email = ${relation}.email and removed_at is null),
  jsonb_build_object('email', email) from ${relation}`

/**
 * Creates a one-time link for the first administrator. The link is valid for 24 hours. Earlier links stay valid,
 * because other instances may have printed them.
 *
 * @returns the link's secret; null when an administrator exists already
 */
export async function inviteFirstAdministrator(sql: Sql, actor: Actor): Promise<string | null> {
  const secret = createLinkSecret()
  const about = sql`null::bigint, jsonb_build_object('reason', 'there is no administrator') from created`
  const [created] = await sql`
    with /* invitation.create_first */ created as (
      insert into gateway.invitation (token_hash, expires_at)
      select ${hashSecret(secret)}, now() + ${lifetime(sql)} where ${noAdministratorYet(sql)}
      returning expires_at
    )
    ${auditEntry(sql, actor, 'administrator.invite', about)}
    returning id`
  return created ? secret : null
}

/**
 * Creates a one-time link that sets the password of an account, and creates the account when it does not exist. The
 * link is valid for 24 hours, or until its creator is removed. Earlier links of the account become invalid.
 *
 * @param invitedBy the administrator who creates the link, who may invite only new administrators; null for the command
 * line, which may also invite existing ones
 * @returns the link's secret
 * @throws `BAD_USER_INPUT` with the error of `email` when an administrator invites an existing administrator
 */
export async function inviteAdministrator(
  sql: Sql,
  actor: Actor,
  email: string,
  invitedBy: Administrator | null = null,
): Promise<string> {
  if (invitedBy !== null && (await listAdministrators(sql)).some(existing => existing.email === email))
    throw badInput({ email: ['This is an administrator already.'] })
  const secret = createLinkSecret()
  await sql`
    with /* invitation.create */ replaced as (
      delete from gateway.invitation where email = ${email}
    ), created as (
      insert into gateway.invitation (token_hash, email, invited_by, expires_at)
      values (${hashSecret(secret)}, ${email}, ${invitedBy?.id ?? null}, now() + ${lifetime(sql)})
      returning email
    )
    ${auditEntry(sql, actor, 'administrator.invite', accountIn(sql, sql`created`))}`
  return secret
}

/** Returns the invitation, or null when the link is not valid. */
export async function findInvitation(sql: Sql, secret: string): Promise<Invitation | null> {
  const [found] = await sql<Invitation[]>`
    select /* invitation.find */ email from gateway.invitation
    where token_hash = ${hashSecret(secret)} and ${isValid(sql)} and (email is not null or ${noAdministratorYet(sql)})`
  return found ?? null
}

/**
 * Uses a link: sets the password of the link's account. A link for the first administrator creates the account of
 * `actor`, and all other links for the first administrator become invalid.
 *
 * @param actor the person who uses the link; its name is the e-mail of the account
 * @returns null when the link is no longer valid
 * @throws `UNAVAILABLE` when too many passwords are being checked
 */
export async function acceptInvitation(
  sql: Sql,
  actor: Actor,
  secret: string,
  invitation: Invitation,
  password: string,
): Promise<VerifiedAdministrator | null> {
  const hash = hashSecret(secret)
  // The use of a link for the first administrator deletes all such links. So when two links are used at the same time,
  // only one of them works.
  const account =
    invitation.email === null
      ? sql`used as (
          delete from gateway.invitation
          where email is null
            and exists (select from gateway.invitation where token_hash = ${hash} and email is null and ${isValid(sql)})
          returning token_hash
        ), account as (
          select ${actor.name}::text as email from used where token_hash = ${hash} and ${noAdministratorYet(sql)}
        )`
      : sql`account as (
          delete from gateway.invitation
          where token_hash = ${hash} and email = ${invitation.email} and ${isValid(sql)}
          returning email
        )`
  return setPassword(sql, actor, account, await hashPassword(password))
}

/** A link that has not been used yet. */
export interface PendingInvitation {
  email: string
  /** The e-mail of the administrator who created the link; null for the command line. */
  invitedBy: string | null
  createdAt: Instant
  expiresAt: Instant
}

/** Returns the valid links of all accounts, sorted by e-mail. */
export async function listInvitations(sql: Sql): Promise<PendingInvitation[]> {
  return sql<PendingInvitation[]>`
    select /* invitation.list */ email, created_at as "createdAt", expires_at as "expiresAt",
           (select administrator.email from gateway.administrator where administrator.id = invited_by) as "invitedBy"
    from gateway.invitation where email is not null and ${isValid(sql)} order by email collate "C"`
}

/** Deletes the pending link of an account, or throws `NOT_FOUND`. */
export async function withdrawInvitation(sql: Sql, actor: Actor, email: string): Promise<void> {
  const withdrawn = await sql`
    with /* invitation.withdraw */ withdrawn as (
      delete from gateway.invitation where email = ${email} returning email
    )
    ${auditEntry(sql, actor, 'administrator.withdraw', accountIn(sql, sql`withdrawn`))}
    returning id`
  if (withdrawn.length === 0) throw notFound('invitation')
}
