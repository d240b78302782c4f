import type { Fragment, Sql } from '../db/connect.ts'
import { type Actor, auditEntry } from './audit.ts'
import { badInput, notFound } from './errors.ts'
import type { Instant } from './instant.ts'
import { hashPassword, verifyPassword } from './password.ts'
import { type NewSession, type Proven, sessionEntry } from './session.ts'

/** Who administers the gateway. */
export interface Administrator {
  id: number
  /** In lower case. */
  email: string
}

/** An administrator as the others see him. */
export interface AdministratorRecord extends Administrator {
  hasPassword: boolean
  hasOpenId: boolean
  createdAt: Instant
  signedInAt: Instant | null
}

/** @returns the e-mail as it is kept, in lower case; null: the text is none */
export function readEmail(text: string): string | null {
  const email = text.trim().toLowerCase()
  return email.length <= 254 && /^[^@\s\p{Cc}]+@[^@\s\p{Cc}]+$/u.test(email) ? email : null
}

/**
 * @returns who has this e-mail and this password; null: nobody. Both take the same time.
 * @throws `UNAVAILABLE` when too many passwords are looked at just now
 */
export async function authenticate(sql: Sql, email: string, password: string): Promise<Proven | null> {
  const [found] = await sql<(Proven & { passwordHash: string | null })[]>`
    select /* administrator.authenticate */ id, email, generation, password_hash as "passwordHash"
    from gateway.administrator where email = ${email} and removed_at is null`
  const right = await verifyPassword(found?.passwordHash ?? null, password)
  return right && found ? { id: found.id, email: found.email, generation: found.generation } : null
}

/**
 * Puts down that somebody was not let in.
 *
 * @param reason a few words: `wrong password`, `too many attempts`
 */
export async function noteRefusedSignIn(sql: Sql, actor: Actor, reason: string): Promise<void> {
  await sql`
    with /* administrator.refuse */ refused as (select ${actor.name}::text as email)
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
export async function givePassword(sql: Sql, actor: Actor, wanted: Fragment, password: string): Promise<Proven | null> {
  const passwordHash = await hashPassword(password)
  const [given] = await sql<Proven[]>`
    with /* administrator.give_password */ ${wanted}, before as (
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
  await givePassword(sql, actor, sql`wanted as (select ${email}::text as email)`, password)
}

/**
 * Changes one's own password. All sessions end, and a new one begins.
 *
 * @param proven who has just shown the password before
 * @param session the one that begins
 * @returns whether it was changed: not when another password was set meanwhile
 * @throws `UNAVAILABLE` when too many passwords are looked at just now
 */
export async function changePassword(
  sql: Sql,
  actor: Actor,
  proven: Proven,
  session: NewSession,
  password: string,
): Promise<boolean> {
  const passwordHash = await hashPassword(password)
  const changed = await sql`
    with /* administrator.change_password */ changed as (
      update gateway.administrator set password_hash = ${passwordHash}, generation = generation + 1
      where id = ${proven.id} and generation = ${proven.generation} and removed_at is null
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

/** Somebody whom the OpenID provider vouches for. */
export interface OpenIdIdentity {
  /** The issuer, a space, and who it is there. */
  subject: string
  /** As `readEmail` has it; null: the provider has not verified one. */
  email: string | null
}

/**
 * The administrator whom the OpenID provider vouches for: who is bound to the subject, else who has the e-mail and is
 * bound to no subject yet, else a new one.
 *
 * @returns null: he was removed, or the e-mail is that of another subject, or there is none to make him with
 */
export async function admitOpenId(sql: Sql, actor: Actor, { subject, email }: OpenIdIdentity): Promise<Proven | null> {
  const [admitted] = await sql<Proven[]>`
    with /* administrator.admit */ found as (
      select id, email, generation, subject, removed_at from gateway.administrator
      where subject = ${subject} or email = ${email}::text
      order by (subject is not null and subject = ${subject}) desc limit 1
    ), bound as (
      update gateway.administrator set subject = ${subject} from found
      where administrator.id = found.id and administrator.subject is null and administrator.removed_at is null
      returning administrator.id, administrator.email, administrator.generation
    ), created as (
      insert into gateway.administrator (email, subject)
      select ${email}::text, ${subject} where ${email}::text is not null and not exists (select from found)
      on conflict do nothing
      returning id, email, generation
    ), voided as (
      delete from gateway.invitation using created
      where invitation.email = created.email or invitation.email is null
    ), audited_binding as (
      ${auditEntry(
        sql,
        actor,
        'administrator.bind',
        sql`null::bigint, id, null::bigint, jsonb_build_object('email', email, 'subject', ${subject}::text) from bound`,
      )}
    ), audited_creation as (
      ${auditEntry(
        sql,
        actor,
        'administrator.create',
        sql`null::bigint, id, null::bigint, jsonb_build_object('email', email) from created`,
      )}
    )
    select id, email, generation from found where subject = ${subject} and removed_at is null
    union all select id, email, generation from bound
    union all select id, email, generation from created`
  return admitted ?? null
}

const recordColumns = (sql: Sql) => sql`
  id, email, password_hash is not null as "hasPassword", subject is not null as "hasOpenId",
  created_at as "createdAt",
  (select at from gateway.audit_entry entry
   where entry.action = 'administrator.sign_in' and entry.administrator_id = administrator.id
   order by entry.id desc limit 1) as "signedInAt"`

/** @returns all administrators, by e-mail */
export async function listAdministrators(sql: Sql): Promise<AdministratorRecord[]> {
  return sql<AdministratorRecord[]>`
    select /* administrator.list */ ${recordColumns(sql)}
    from gateway.administrator where removed_at is null order by email`
}

/** @throws `NOT_FOUND` */
export async function getAdministrator(sql: Sql, id: number): Promise<AdministratorRecord> {
  const [found] = await sql<AdministratorRecord[]>`
    select /* administrator.get */ ${recordColumns(sql)}
    from gateway.administrator where id = ${id} and removed_at is null`
  if (!found) throw notFound('administrator')
  return found
}

/**
 * Removes an administrator: his sessions end, and void are the links that were made for him and those that he made.
 *
 * @throws `NOT_FOUND`; `BAD_USER_INPUT` with the faults of `administrator` when he is the last
 */
export async function removeAdministrator(sql: Sql, actor: Actor, email: string): Promise<void> {
  // All are locked, in one order: of two who remove each other at once, one stays.
  const [outcome] = await sql<{ found: boolean; removed: boolean }[]>`
    with /* administrator.remove */ present as (
      select id, email from gateway.administrator where removed_at is null order by id for update
    ), removed as (
      update gateway.administrator set removed_at = now(), generation = generation + 1 from present
      where administrator.id = present.id and present.email = ${email} and (select count(*) from present) > 1
      returning administrator.id, administrator.email
    ), ended as (
      delete from gateway.session where administrator_id in (select id from removed)
    ), voided as (
      delete from gateway.invitation using removed
      where invitation.email = removed.email or invitation.invited_by = removed.id
    ), audited as (
      ${auditEntry(
        sql,
        actor,
        'administrator.remove',
        sql`null::bigint, id, null::bigint, jsonb_build_object('email', email) from removed`,
      )}
    )
    select exists (select from present where email = ${email}) as found, exists (select from removed) as removed`
  if (!outcome?.found) throw notFound('administrator')
  if (!outcome.removed) {
    throw badInput({ administrator: ['The last administrator cannot be removed: make another one first.'] })
  }
}
