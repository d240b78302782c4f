import type { Sql } from '../../db/sql.ts'
import { badInput, notFound } from '../errors.ts'
import { invisible, trimInvisible } from '../trimmed.ts'
import type { Instant } from '../value/instant.ts'
import { type Actor, auditEntry } from './audit.ts'

/** An administrator's account, which may use the pages of API access. */
export interface Administrator {
  id: number
  /** The e-mail, in lower case. */
  email: string
}

/** The properties of an account that other administrators see. */
export interface AdministratorRecord extends Administrator {
  hasPassword: boolean
  hasOpenId: boolean
  /** The time at which the account was first created; a removal and a new creation do not change it. */
  createdAt: Instant
  signedInAt: Instant | null
}

const emailPart = `[^@${invisible.slice(1)}+`
const emailForm = new RegExp(`^${emailPart}@${emailPart}$`)

/**
 * Returns the e-mail in lower case, or null when the text is no e-mail. A check of `gateway.administrator` has the same
 * rule.
 */
export function parseEmail(text: string): string | null {
  const email = trimInvisible(text).toLowerCase()
  return [...email].length <= 254 && emailForm.test(email) ? email : null
}

/** Returns the SQL condition that no administrator exists. */
export const noAdministratorYet = (sql: Sql) =>
  sql`not exists (select from gateway.administrator where removed_at is null)`

/** Returns whether no administrator exists. */
export async function hasNoAdministrator(sql: Sql): Promise<boolean> {
  const [found] = await sql<[{ none: boolean }]>`
    select /* administrator.exists */ ${noAdministratorYet(sql)} as none`
  return found.none
}

const recordColumns = (sql: Sql) => sql`
  id, email, password_hash is not null as "hasPassword", subject is not null as "hasOpenId",
  created_at as "createdAt",
  (select at from gateway.audit_entry entry
   where entry.action = 'administrator.sign_in' and entry.administrator_id = administrator.id
   order by entry.id desc limit 1) as "signedInAt"`

/** Returns all administrators, sorted by e-mail. */
export async function listAdministrators(sql: Sql): Promise<AdministratorRecord[]> {
  return sql<AdministratorRecord[]>`
    select /* administrator.list */ ${recordColumns(sql)}
    from gateway.administrator where removed_at is null order by email collate "C"`
}

/** Returns an administrator by id, or throws `NOT_FOUND`. */
export async function getAdministrator(sql: Sql, id: number): Promise<AdministratorRecord> {
  const [found] = await sql<AdministratorRecord[]>`
    select /* administrator.get */ ${recordColumns(sql)}
    from gateway.administrator where id = ${id} and removed_at is null`
  if (!found) throw notFound('administrator')
  return found
}

/**
 * Returns an administrator that `remover` may remove.
 *
 * @throws `NOT_FOUND`; `BAD_USER_INPUT` with the error of `administrator` when it is the remover
 */
export async function getRemovable(sql: Sql, id: number, remover: Administrator): Promise<AdministratorRecord> {
  const administrator = await getAdministrator(sql, id)
  if (administrator.id === remover.id)
    throw badInput({ administrator: ['You cannot remove yourself: another administrator can do it.'] })
  return administrator
}

/**
 * Removes an administrator and ends all sessions of the account. One-time links for the account, and links that this
 * administrator created, become invalid.
 *
 * @throws `NOT_FOUND`; `BAD_USER_INPUT` with the errors of `administrator` when it is the last administrator
 */
export async function removeAdministrator(sql: Sql, actor: Actor, email: string): Promise<void> {
  // Locks all rows in the order of their ids. So when two administrators remove each other at the same time, one of
  // them stays.
  const [outcome] = await sql<[{ found: boolean; removed: boolean }]>`
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
      ${auditEntry(sql, actor, 'administrator.remove', sql`id, jsonb_build_object('email', email) from removed`)}
    )
    select exists (select from present where email = ${email}) as found, exists (select from removed) as removed`
  if (!outcome.found) throw notFound('administrator')
  if (!outcome.removed) {
    throw badInput({ administrator: ['The last administrator cannot be removed: create another administrator first.'] })
  }
}
