import type { Fragment, Sql } from '../db/connect.ts'
import { type Actor, auditEntry } from './audit.ts'
import { hashPassword, verifyPassword } from './password.ts'
import { type NewSession, sessionEntry, type VerifiedAdministrator } from './session.ts'

/**
 * @returns who has this e-mail and this password; null: nobody. Both take the same time.
 * @throws `UNAVAILABLE` when too many passwords are looked at just now
 */
export async function verifyCredentials(
  sql: Sql,
  email: string,
  password: string,
): Promise<VerifiedAdministrator | null> {
  const [found] = await sql<(VerifiedAdministrator & { passwordHash: string | null })[]>`
    select /* administrator.find_credentials */ id, email, generation, password_hash as "passwordHash"
    from gateway.administrator where email = ${email} and removed_at is null`
  const right = await verifyPassword(found?.passwordHash ?? null, password)
  return right && found ? { id: found.id, email: found.email, generation: found.generation } : null
}

/**
 * Puts down that somebody was not let in.
 *
 * @param reason a few words: `wrong password`, `too many attempts`
 */
export async function recordFailedSignIn(sql: Sql, actor: Actor, reason: string): Promise<void> {
  await sql`
    with /* administrator.record_failed_sign_in */ refused as (select ${actor.name}::text as email)
    ${auditEntry(
      sql,
      actor,
      'administrator.sign_in_refused',
      sql`null::bigint, (select id from gateway.administrator where administrator.email = refused.email), null::bigint,
          jsonb_build_object('reason', ${reason}::text) from refused`,
    )}`
}

/**
 * Gives an account a password: one that is there ends its sessions; one that is not, or was removed, is made. One-time
 * links for it are void, and so is that of the first set-up.
 *
 * @param wanted a part of a statement `with …` that ends in `wanted(email)`, of one row at most
 * @returns null: `wanted` has no row
 * @throws `UNAVAILABLE` when too many passwords are looked at just now
 */
export async function setPassword(
  sql: Sql,
  actor: Actor,
  wanted: Fragment,
  password: string,
): Promise<VerifiedAdministrator | null> {
  const passwordHash = await hashPassword(password)
  const [given] = await sql<VerifiedAdministrator[]>`
    with /* administrator.set_password */ ${wanted}, before as (
      select administrator.id from gateway.administrator join wanted using (email) where removed_at is null
    ), given as (
      insert into gateway.administrator (email, password_hash) select email, ${passwordHash} from wanted
      on conflict (email) do update set
        password_hash = excluded.password_hash,
        generation = administrator.generation + 1,
        created_at = case when administrator.removed_at is null then administrator.created_at else now() end,
        subject = case when administrator.removed_at is null then administrator.subject end,
        removed_at = null
      returning id, email, generation
    ), ended as (
      delete from gateway.session where administrator_id in (select id from given)
    ), voided as (
      delete from gateway.invitation using given where invitation.email = given.email or invitation.email is null
    ), created as (
      ${auditEntry(
        sql,
        actor,
        'administrator.create',
        sql`null::bigint, id, null::bigint, jsonb_build_object('email', email) from given
            where id not in (select id from before)`,
      )}
    ), changed as (
      ${auditEntry(
        sql,
        actor,
        'administrator.change_password',
        sql`null::bigint, id, null::bigint, jsonb_build_object('email', email) from given
            where id in (select id from before)`,
      )}
    )
    select id, email, generation from given`
  return given ?? null
}

/** Makes an administrator with a password, or gives him this one when he is there already. */
export async function createAdministrator(sql: Sql, actor: Actor, email: string, password: string): Promise<void> {
  await setPassword(sql, actor, sql`wanted as (select ${email}::text as email)`, password)
}

/**
 * Changes one's own password. All sessions end, and a new one begins.
 *
 * @param verified who has just shown the password before
 * @param session the one that begins
 * @returns whether it was changed: not when another password was set meanwhile
 * @throws `UNAVAILABLE` when too many passwords are looked at just now
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
    ), started as (${sessionEntry(sql, actor, session, sql`changed`)})
    ${auditEntry(
      sql,
      actor,
      'administrator.change_password',
      sql`null::bigint, id, null::bigint, '{}'::jsonb from changed`,
    )}
    returning id`
  return changed.length > 0
}
