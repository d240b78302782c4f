import type { Sql } from '../../db/sql.ts'
import { type Actor, auditEntry } from './audit.ts'
import type { VerifiedAdministrator } from './session.ts'

/** A person whose identity the OpenID provider has verified. */
export interface OpenIdIdentity {
  /** The issuer, a space, and the subject. */
  subject: string
  /** The e-mail that the provider has verified, as `parseEmail` returns it; null without a verified e-mail. */
  email: string | null
  /** The e-mail of a new account: the verified e-mail, or a replacement for it; null when there is neither. */
  name: string | null
}

/**
 * Finds the administrator of an OpenID identity: the account that is bound to the subject; otherwise the account with
 * the e-mail, which is then bound; otherwise a new account.
 *
 * @returns the administrator; null when the account was removed, when its e-mail belongs to another subject, or when a
 * new account would have no e-mail
 */
export async function verifyOpenIdAdministrator(
  sql: Sql,
  actor: Actor,
  { subject, email, name }: OpenIdIdentity,
): Promise<VerifiedAdministrator | null> {
  const emailAndSubject = sql`jsonb_build_object('email', email, 'subject', ${subject}::text)`
  const [verified] = await sql<VerifiedAdministrator[]>`
    with /* administrator.verify_openid */ found as (
      select id, email, generation, subject, removed_at from gateway.administrator
      where subject = ${subject} or email = ${email}::text
      order by (subject is not null and subject = ${subject}) desc limit 1
    ), bound as (
      update gateway.administrator set subject = ${subject} from found
      where administrator.id = found.id and administrator.subject is null and administrator.removed_at is null
      returning administrator.id, administrator.email, administrator.generation
    ), created as (
      insert into gateway.administrator (email, subject)
      select ${name}::text, ${subject} where ${name}::text is not null and not exists (select from found)
      on conflict do nothing
      returning id, email, generation
    ), voided as (
      delete from gateway.invitation using created
      where invitation.email = created.email or invitation.email is null
    ), audited_binding as (
      ${auditEntry(sql, actor, 'administrator.bind', sql`id, ${emailAndSubject} from bound`)}
    ), audited_creation as (
      ${auditEntry(sql, actor, 'administrator.create', sql`id, ${emailAndSubject} from created`)}
    )
    select id, email, generation from found where subject = ${subject} and removed_at is null
    union all select id, email, generation from bound
    union all select id, email, generation from created`
  return verified ?? null
}
