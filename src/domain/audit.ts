import type { Fragment, Sql } from '../db/connect.ts'

/** Who acts, and from where. */
export interface Actor {
  /** An administrator's e-mail, a token's name, or the command line. */
  name: string
  /** Null when it is not over the network. */
  address: string | null
}

/** Every act that is put down, and what it is called. */
export const auditActions = {
  'token.create': 'Token created',
  'token.edit': 'Token edited',
  'token.rotate': 'Token rotated',
  'token.revoke': 'Token revoked',
  'customer.export': 'Personal data exported',
  'administrator.create': 'Administrator created',
  'administrator.invite': 'Administrator invited',
  'administrator.remove': 'Administrator removed',
  'administrator.sign_in': 'Signed in',
  'administrator.sign_in_refused': 'Sign-in refused',
  'administrator.sign_out': 'Signed out',
  'administrator.sign_out_everywhere': 'Signed out everywhere',
  'administrator.change_password': 'Password changed',
} as const

export type AuditAction = keyof typeof auditActions

/**
 * The part of a statement that puts an act down, so that the act and its entry stand or fall together.
 *
 * @param about the values of `token_id`, `administrator_id`, `tenant_id` and `detail` (jsonb), and where they come
 *   from: as in ``sql`created.id, null::bigint, null::bigint, ${detail}::text::jsonb from created` ``
 */
export const auditEntry = (sql: Sql, actor: Actor, action: AuditAction, about: Fragment): Fragment => sql`
  insert into gateway.audit_entry (actor, address, action, token_id, administrator_id, tenant_id, detail)
  select ${actor.name}::text, ${actor.address}::text, ${action}::text, ${about}`
