import { createHash, randomBytes } from 'node:crypto'
import type { Sql } from '../db/connect.ts'
import { type Administrator, givePassword } from './administrator.ts'
import { type Actor, auditEntry } from './audit.ts'

/** A one-time link that holds. */
export interface Invitation {
  /** Whose password it sets; null: that of the first administrator, who gives his own e-mail. */
  email: string | null
}

const hash = (secret: string) => createHash('sha256').update(secret).digest()

/** 256 random bits, as text for an address. */
const createSecret = () => randomBytes(32).toString('base64url')

const lifetime = (sql: Sql) => sql`interval '24 hours'`

const nobodyYet = (sql: Sql) => sql`not exists (select from gateway.administrator where removed_at is null)`

/**
 * Makes a one-time link for the first administrator, which holds for 24 hours; earlier ones are void.
 *
 * @returns the link's secret; null: there is an administrator already
 */
export async function inviteFirst(sql: Sql): Promise<string | null> {
  const secret = createSecret()
  const [made] = await sql`
    with /* invitation.first */ voided as (
      delete from gateway.invitation where email is null
    )
    insert into gateway.invitation (token_hash, expires_at)
    select ${hash(secret)}, now() + ${lifetime(sql)} where ${nobodyYet(sql)}
    returning expires_at`
  return made ? secret : null
}

/**
 * Makes a one-time link with which this account gets its (new) password, and is made when it is not there. It holds
 * for 24 hours; earlier ones for the account are void.
 *
 * @returns the link's secret
 */
export async function invite(sql: Sql, actor: Actor, email: string): Promise<string> {
  const secret = createSecret()
  await sql`
    with /* invitation.make */ voided as (
      delete from gateway.invitation where email = ${email}
    ), made as (
      insert into gateway.invitation (token_hash, email, expires_at)
      values (${hash(secret)}, ${email}, now() + ${lifetime(sql)})
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
    where token_hash = ${hash(secret)} and expires_at > now() and (email is not null or ${nobodyYet(sql)})`
  return found ?? null
}

/**
 * Uses the link that makes the first administrator. Of several at once one makes him.
 *
 * @returns null: the link does not hold any more
 */
export async function acceptFirst(
  sql: Sql,
  secret: string,
  { email, address }: { email: string; address: string },
  password: string,
): Promise<Administrator | null> {
  // Whoever uses one such link takes them all, and who comes at the same time with another finds it gone.
  const wanted = sql`taken as (
    delete from gateway.invitation
    where email is null
      and exists (select from gateway.invitation where token_hash = ${hash(secret)} and email is null)
    returning token_hash, expires_at
  ), wanted as (
    select ${email}::text as email from taken
    where token_hash = ${hash(secret)} and expires_at > now() and ${nobodyYet(sql)}
  )`
  return givePassword(sql, { name: email, address }, wanted, password)
}

/**
 * Uses the link that an account was sent.
 *
 * @returns null: the link does not hold any more
 */
export async function accept(
  sql: Sql,
  secret: string,
  { email, address }: { email: string; address: string },
  password: string,
): Promise<Administrator | null> {
  const wanted = sql`wanted as (
    delete from gateway.invitation
    where token_hash = ${hash(secret)} and email = ${email} and expires_at > now()
    returning email
  )`
  return givePassword(sql, { name: email, address }, wanted, password)
}

/** A link that was not used yet. */
export interface OpenInvitation {
  email: string
  createdAt: string
  expiresAt: string
}

/** @returns the links of accounts that hold, by e-mail */
export async function listInvitations(sql: Sql): Promise<OpenInvitation[]> {
  return sql<OpenInvitation[]>`
    select /* invitation.list */ email, created_at as "createdAt", expires_at as "expiresAt"
    from gateway.invitation where email is not null and expires_at > now() order by email`
}
