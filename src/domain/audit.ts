import type { Fragment, Sql } from '../db/connect.ts'
import type { Instant } from './instant.ts'

/** Who acts, and from where. */
export interface Actor {
  /** An administrator's e-mail, a token's name, the command line, or the service. */
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
  'administrator.withdraw': 'Invitation withdrawn',
  'administrator.bind': 'Bound to the OpenID provider',
  'administrator.remove': 'Administrator removed',
  'administrator.sign_in': 'Signed in',
  'administrator.sign_in_refused': 'Sign-in refused',
  'administrator.sign_out': 'Signed out',
  'administrator.sign_out_everywhere': 'Signed out everywhere',
  'administrator.change_password': 'Password changed',
  'audit.export': 'Audit exported',
} as const

export type AuditAction = keyof typeof auditActions

/** @returns whether the word names an act */
export const isAuditAction = (word: string): word is AuditAction => Object.hasOwn(auditActions, word)

/**
 * The part of a statement that puts an act down, so that the act and its entry stand or fall together.
 *
 * @param about the values of `token_id`, `administrator_id`, `tenant_id` and `detail` (jsonb), and where they come
 *   from: as in ``sql`created.id, null::bigint, null::bigint, ${detail}::text::jsonb from created` ``
 */
export const auditEntry = (sql: Sql, actor: Actor, action: AuditAction, about: Fragment): Fragment => sql`
  insert into gateway.audit_entry (actor, address, action, token_id, administrator_id, tenant_id, detail)
  select ${actor.name}::text, ${actor.address}::text, ${action}::text, ${about}`

/** An act as it was put down. The names are those of today; null when what they named is gone. */
export interface AuditEntry {
  id: number
  at: Instant
  actor: string
  address: string | null
  action: AuditAction
  tokenId: number | null
  tokenName: string | null
  tenantId: number | null
  tenantName: string | null
  /** The administrator whom the act concerns. */
  administratorId: number | null
  administratorEmail: string | null
  /** What changed, in the form that each act gives it. */
  detail: Record<string, unknown>
}

/** Which entries to list; each part that is given narrows the list. */
export interface AuditFilter {
  /** Part of who acted, in any case. */
  actor?: string
  action?: AuditAction
  tokenId?: number
  /** The tenant whose data were given out, or that was granted to a token or taken from it. */
  tenantId?: number
  /** First and last day, `YYYY-MM-DD`, UTC. */
  from?: string
  to?: string
}

const matching = (sql: Sql, { actor, action, tokenId, from, to }: AuditFilter) => sql`
  true
  ${actor ? sql`and position(lower(${actor}) in lower(entry.actor)) > 0` : sql``}
  ${action ? sql`and entry.action = ${action}` : sql``}
  ${tokenId ? sql`and entry.token_id = ${tokenId}` : sql``}
  ${from ? sql`and entry.at >= ${from}::text::date` : sql``}
  ${to ? sql`and entry.at < ${to}::text::date + 1` : sql``}`

/** The entries that name the tenant, and those of tokens that were granted it or lost it: each has an index. */
const aboutTenant = (sql: Sql, tenantId: number): [named: Fragment, granted: Fragment] => [
  sql`and entry.tenant_id = ${tenantId}`,
  sql`and entry.tenant_id is distinct from ${tenantId} and entry.action in ('token.create', 'token.edit')
      and jsonb_path_exists(entry.detail, '$.tenants.**.tenantId ? (@ == $id)',
                            jsonb_build_object('id', ${tenantId}::bigint))`,
]

/**
 * Lists what was done, newest first.
 *
 * @param range `before`: those older than this entry; `after`: those next newer than it; neither: from the newest
 * @returns at most `limit` entries
 */
export async function listAudit(
  sql: Sql,
  filter: AuditFilter,
  range: { before?: number; after?: number; limit: number },
): Promise<AuditEntry[]> {
  const { before, after, limit } = range
  const direction = after === undefined ? sql`desc` : sql`asc`
  const placeOf = (id: number) => sql`((select at from gateway.audit_entry where id = ${id}), ${id})`
  const first = (about: Fragment) => sql`
    (select * from gateway.audit_entry entry
     where ${matching(sql, filter)} ${about}
       ${before === undefined ? sql`` : sql`and (entry.at, entry.id) < ${placeOf(before)}`}
       ${after === undefined ? sql`` : sql`and (entry.at, entry.id) > ${placeOf(after)}`}
     order by entry.at ${direction}, entry.id ${direction} limit ${limit})`
  const [named, granted] = filter.tenantId ? aboutTenant(sql, filter.tenantId) : []
  // The names are looked up of the entries that are shown, one by one: a join for any limit would read all tokens.
  const entries = await sql<AuditEntry[]>`
    select /* audit.list */ id, at, actor, address, action, token_id as "tokenId", tenant_id as "tenantId",
           administrator_id as "administratorId", detail,
           (select name from gateway.token where token.id = entry.token_id) as "tokenName",
           (select name from tenant where tenant.id = entry.tenant_id) as "tenantName",
           (select email from gateway.administrator where administrator.id = entry.administrator_id) as "administratorEmail"
    from (
      select * from (${first(named ?? sql``)} ${granted ? sql`union all ${first(granted)}` : sql``}) entry
      order by at ${direction}, id ${direction} limit ${limit}
    ) entry
    order by at desc, id desc`
  return entries
}

/** Entries that are read at a time when all are: some hundred kilobytes. */
const batchSize = 1_000

/**
 * Puts down that the audit is taken out, and reads it from there back to its beginning, newest first, a batch at a
 * time: however long it is, little of it is in memory.
 *
 * @returns every entry that matches and was there before this export
 */
export async function exportAudit(sql: Sql, actor: Actor, filter: AuditFilter): Promise<AsyncGenerator<AuditEntry>> {
  const action: AuditAction = 'audit.export'
  const [noted] = await sql<{ id: number }[]>`
    insert /* audit.record_export */ into gateway.audit_entry (actor, address, action, detail)
    values (${actor.name}, ${actor.address}, ${action}, ${JSON.stringify(filter)}::text::jsonb)
    returning id`
  if (!noted) throw new Error('the export was not put down')
  return entriesBefore(sql, filter, noted.id)
}

async function* entriesBefore(sql: Sql, filter: AuditFilter, start: number): AsyncGenerator<AuditEntry> {
  for (let before: number | undefined = start; before !== undefined; ) {
    const batch: AuditEntry[] = await listAudit(sql, filter, { before, limit: batchSize })
    yield* batch
    before = batch.length === batchSize ? batch.at(-1)?.id : undefined
  }
}
