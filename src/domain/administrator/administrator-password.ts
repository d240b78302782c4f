import type { Fragment, Sql } from '../../db/sql.ts'
import { type Actor, auditEntry } from './audit.ts'
import { hashPassword, verifyPassword } from './password.ts'
import { insertSession, type NewSession, type VerifiedAdministrator } from './session.ts'

/**
 * Verifies an e-mail and a password. The check of an unknown e-mail takes as long as the check of a wrong password.
 *
 * @returns the administrator; null when the e-mail or the password is wrong
 * @throws `UNAVAILABLE` when too many passwords are being checked
 */
export async function verifyCredentials(
  sql: Sql,
  email: string,
  password: string,
): Promise<VerifiedAdministrator | null> {
  const [found] = await sql<(VerifiedAdministrator & { passwordHash: string | null })[]>`
    select /* administrator.find_credentials */ id, email, generation, password_hash as "passwordHash"
    from gateway.administrator where email = ${email} and removed_at is null`
  const isRight = await verifyPassword(found?.passwordHash ?? null, password)
  return isRight && found ? { id: found.id, email: found.email, generation: found.generation } : null
}

/** Records a failed sign-in in the audit. The reason is a few words: `wrong password`, `too many attempts`. */
export async function recordFailedSignIn(sql: Sql, actor: Actor, reason: string): Promise<void> {
  await sql`
    with /* administrator.record_failed_sign_in */ attempt as (
      select (select id from gateway.administrator where email = ${actor.name}) as id,
             jsonb_build_object('reason', ${reason}::text) as detail
    )
    ${auditEntry(sql, actor, 'administrator.sign_in_refused', sql`id, detail from attempt`)}`
}

/**
 * Sets the password of an account, and ends its sessions. Creates the account when it does not exist or was removed.
 * One-time links for the account, and for the first administrator, become invalid.
 *
 * @param account CTEs for a `with` clause. The last is `account(email)`, with one row or none
 * @param passwordHash the result of `hashPassword`
 * @returns the administrator; null when `account` has no row
 */
export async function setPassword(
  sql: Sql,
  actor: Actor,
  account: Fragment,
  passwordHash: string,
): Promise<VerifiedAdministrator | null> {
  const about = sql`id, jsonb_build_object('email', email) from changed_account`
  const [administrator] = await sql<VerifiedAdministrator[]>`
    with /* administrator.set_password */ ${account}, before as (
      select administrator.id from gateway.administrator join account using (email) where removed_at is null
    ), changed_account as (
      insert into gateway.administrator (email, password_hash) select email, ${passwordHash} from account
      on conflict (email) do update set
        password_hash = excluded.password_hash,
        generation = administrator.generation + 1,
        subject = case when administrator.removed_at is null then administrator.subject end,
        removed_at = null
      returning id, email, generation
    ), ended as (
      delete from gateway.session where administrator_id in (select id from changed_account)
    ), voided as (
      delete from gateway.invitation using changed_account
      where invitation.email = changed_account.email or invitation.email is null
    ), created as (
      ${auditEntry(sql, actor, 'administrator.create', sql`${about} where id not in (select id from before)`)}
    ), changed as (
      ${auditEntry(sql, actor, 'administrator.change_password', sql`${about} where id in (select id from before)`)}
    )
    select id, email, generation from changed_account`
  return administrator ?? null
}

/**
 * Creates an administrator with a password, or changes the password when the account exists.
 *
 * @throws `UNAVAILABLE` when too many passwords are being checked
 */
export async function createAdministrator(sql: Sql, actor: Actor, email: string, password: string): Promise<void> {
  await setPassword(sql, actor, sql`account as (select ${email}::text as email)`, await hashPassword(password))
}

/**
 * Changes the password of the administrator who is signed in. All sessions end, and a new session starts.
 *
 * @param verified the administrator, whose previous password was verified
 * @returns false when the password has changed since the verification
 * @throws `UNAVAILABLE` when too many passwords are being checked
 */
export async function changePassword(
  sql: Sql,
  actor: Actor,
  verified: VerifiedAdministrator,
  session: NewSession,
  password: string,
): Promise<boolean> {
  const passwordHash = await hashPassword(password)
  const changed = await sql`
    with /* administrator.change_password */ changed as (
      update gateway.administrator set password_hash = ${passwordHash}, generation = generation + 1
      where id = ${verified.id} and generation = ${verified.generation} and removed_at is null
      returning id, generation
    ), ended as (
      delete from gateway.session where administrator_id in (select id from changed)
    ), started as (${insertSession(sql, actor, session, sql`changed`)})
    ${auditEntry(sql, actor, 'administrator.change_password', sql`id, '{}'::jsonb from changed`)}
    returning id`
  return changed.length > 0
}
