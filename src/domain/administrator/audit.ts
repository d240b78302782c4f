import type { Fragment, Sql } from '../../db/sql.ts'
import { betweenRows, type Page, type RowOrder, type RowWindow, toPage } from '../paging/page.ts'
import type { Instant } from '../value/instant.ts'

/** The person or program that performs an action, with the IP address. */
export interface Actor {
  /** An administrator's e-mail, a token's name, or a name for the command line or the service. */
  name: string
  /** Null for the command line and the service itself. */
  address: string | null
}

/** The actions that the audit records, with their labels. */
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
  'administrator.sign_in_refused': 'Sign-in failed',
  'administrator.sign_out': 'Signed out',
  'administrator.sign_out_everywhere': 'Signed out everywhere',
  'administrator.change_password': 'Password changed',
  'audit.export': 'Audit exported',
  'signing_key.rotate': 'Signing key rotated',
  'webhook.create': 'Webhook created',
  'webhook.pause': 'Webhook paused',
  'webhook.resume': 'Webhook resumed',
  'webhook.replay': 'Webhook replayed',
  'webhook.rotate': 'Webhook secret rotated',
  'webhook.test': 'Webhook tested',
  'webhook.delete': 'Webhook deleted',
} as const

export type AuditAction = keyof typeof auditActions

/** Returns whether the text is the name of an action. */
export const isAuditAction = (text: string): text is AuditAction => Object.hasOwn(auditActions, text)

/**
 * The column of `gateway.audit_entry` for the subject of an action, by the first word of the action; a signing key has
 * no column.
 */
const subjectColumn = (sql: Sql, action: AuditAction) =>
  /^(token|webhook)\./.test(action) ? sql`token_id` : sql`administrator_id`

/**
 * Returns the part of a statement that inserts an audit entry. The same statement performs the action, so either both
 * the action and its entry are stored, or neither is.
 *
 * @param about the end of a `select`: the id of the token or administrator, the detail (jsonb), and the relation that
 * has them, as in ``sql`id, ${detail}::text::jsonb from created` ``
 */
export const auditEntry = (sql: Sql, actor: Actor, action: AuditAction, about: Fragment): Fragment => sql`
  insert into gateway.audit_entry (actor, address, action, ${subjectColumn(sql, action)}, detail)
  select ${actor.name}::text, ${actor.address}::text, ${action}::text, ${about}`

/**
 * An entry of the audit. The names of tokens, tenants and administrators are the current names; null when the record is
 * deleted.
 */
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
  administratorId: number | null
  administratorEmail: string | null
  /** The details of the action; each action has its own format. */
  detail: Record<string, unknown>
}

/** Filters of the audit; an entry must match all of them. */
export interface AuditFilter {
  /** Part of the actor's name, in any case. */
  actor?: string
  action?: AuditAction
  tokenId?: number
  /** A tenant whose data was exported, or whose grant a token got or lost. */
  tenantId?: number
  /** The first and the last day of the entries, `YYYY-MM-DD`, UTC. */
  from?: string
  to?: string
}

const matching = (sql: Sql, { actor, action, tokenId, from, to }: AuditFilter) => sql`
  true
  ${actor ? sql`and gateway.has_text(entry.actor, ${actor})` : sql``}
  ${action ? sql`and entry.action = ${action}` : sql``}
  ${tokenId ? sql`and entry.token_id = ${tokenId}` : sql``}
  ${from ? sql`and entry.at >= ${from}::text::date` : sql``}
  ${to ? sql`and entry.at < ${to}::text::date + 1` : sql``}`

/**
 * Returns two SQL conditions, each of which has an index: the entry names the tenant; the entry's token got or lost a
 * grant of the tenant.
 */
const aboutTenant = (sql: Sql, tenantId: number): [named: Fragment, granted: Fragment] => [
  sql`and entry.tenant_id = ${tenantId}`,
  sql`and entry.tenant_id is distinct from ${tenantId} and entry.action in ('token.create', 'token.edit')
      and jsonb_path_exists(entry.detail, '$.tenants.**.tenantId ? (@ == $id)',
                            jsonb_build_object('id', ${tenantId}::bigint))`,
]

const newestFirst: RowOrder = { table: 'gateway.audit_entry entry', key: 'entry.at', descending: true }

/** Returns a page of the entries that match the filter, newest first. */
export async function listAudit(sql: Sql, filter: AuditFilter, window: RowWindow): Promise<Page<AuditEntry>> {
  const first = (about: Fragment) => sql`
    (select * from gateway.audit_entry entry
     where ${matching(sql, filter)} ${about} and ${betweenRows(sql, newestFirst, window)})`
  const direction = window.backward ? sql`asc` : sql`desc`
  const [named, granted] = filter.tenantId ? aboutTenant(sql, filter.tenantId) : []
  // Subqueries read the names for the listed entries only. With a join, the planner would read all tokens, because it
  // does not know the limit.
  const found = await sql<AuditEntry[]>`
    select /* audit.list */ id, at, actor, address, action, token_id as "tokenId", tenant_id as "tenantId",
           administrator_id as "administratorId", detail,
           (select name from gateway.token where token.id = entry.token_id) as "tokenName",
           (select name from gateway.tenant where tenant.id = entry.tenant_id) as "tenantName",
           (select email from gateway.administrator where administrator.id = entry.administrator_id) as "administratorEmail"
    from (
      select * from (${first(named ?? sql``)} ${granted ? sql`union all ${first(granted)}` : sql``}) entry
      order by at ${direction}, id ${direction} limit ${window.limit + 1}
    ) entry
    order by at ${direction}, id ${direction}`
  return toPage(window, found)
}

/** The number of entries that an export reads per statement: some hundred kilobytes. */
const batchSize = 1_000

/**
 * Records an export of the audit, and reads the entries in batches, newest first, so that the memory of an export is
 * bounded.
 *
 * @returns all entries that match the filter and are older than the entry of this export
 */
export async function exportAudit(sql: Sql, actor: Actor, filter: AuditFilter): Promise<AsyncGenerator<AuditEntry>> {
  const action: AuditAction = 'audit.export'
  const [entry] = await sql<[{ id: number }]>`
    insert /* audit.record_export */ into gateway.audit_entry (actor, address, action, detail)
    values (${actor.name}, ${actor.address}, ${action}, ${JSON.stringify(filter)}::text::jsonb)
    returning id`
  return entriesAfter(sql, filter, entry)
}

async function* entriesAfter(sql: Sql, filter: AuditFilter, start: { id: number }): AsyncGenerator<AuditEntry> {
  for (let after: { id: number } | undefined = start; after; ) {
    const { rows, hasNextPage }: Page<AuditEntry> = await listAudit(sql, filter, { after, limit: batchSize })
    yield* rows
    after = hasNextPage ? rows.at(-1) : undefined
  }
}
