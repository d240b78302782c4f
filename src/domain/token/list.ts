import type { Fragment, Sql } from '../../db/sql.ts'
import { betweenRows, type Page, type RowWindow, toPage } from '../paging/page.ts'
import { parseIdentifier } from '../value/identifier.ts'
import type { Permission } from './permission.ts'
import { isExpired, recordColumns, sessionEnded, type TokenRecord } from './token.ts'

/** The states by which tokens can be listed. An active token is neither expired nor revoked. */
export const tokenStates = ['active', 'unused', 'expiring', 'expired', 'revoked'] as const

/** The states of the filter. `unused`: active and never used. `expiring`: active, and ends within 14 days. */
type TokenState = (typeof tokenStates)[number]

/** Filters of the list of tokens; a token must match all of them. */
interface TokenFilter {
  /** A part of the name, the contact, the creator or the hint of a secret, in upper or lower case. */
  search?: string
  state?: TokenState
  permission?: Permission
  /** A tenant for which the token is authorised: the id, or a part of the name in upper or lower case. */
  tenant?: string
}

/** The expressions by which the list can be ordered. None is ever null. */
const orders = {
  created: 'token.id',
  name: 'gateway.text_order(token.name) collate "C"',
  token: 'token.hint',
  tenants: '(select count(*) from gateway.token_tenant where token_id = token.id)',
  permissions: 'cardinality(token.permissions)',
  used: "coalesce(token.last_used_at, '-infinity')",
  ends: "coalesce(token.revoked_at, token.expires_at, 'infinity')",
} as const

/** The order of the list. Tokens with the same value are ordered by id. */
export type TokenOrder = keyof typeof orders

/** Returns whether the list can be ordered by this name. */
export const isTokenOrder = (name: string): name is TokenOrder => Object.hasOwn(orders, name)

/** The window, the filter and the order of a list. */
export interface TokenListing extends RowWindow {
  filter?: TokenFilter
  /** Default: `created`. */
  order?: TokenOrder
  /** The direction of the order; default: descending, the newest first. */
  ascending?: boolean
}

function filterConditions(sql: Sql): Record<TokenState, Fragment> {
  const ended = sql`(${isExpired(sql)} or ${sessionEnded(sql)})`
  const active = sql`token.revoked_at is null and not ${ended}`
  return {
    active,
    unused: sql`${active} and token.last_used_at is null`,
    expiring: sql`${active} and token.expires_at <= now() + interval '14 days'`,
    expired: sql`token.revoked_at is null and ${ended}`,
    revoked: sql`token.revoked_at is not null`,
  }
}

/** Returns a page of tokens. Without a state in the filter, the list includes revoked and expired tokens. */
export async function listTokens(
  sql: Sql,
  { filter = {}, order = 'created', ascending = false, ...window }: TokenListing,
): Promise<Page<TokenRecord>> {
  const { search = '', state, permission, tenant } = filter
  const listOrder = { table: 'gateway.token', key: orders[order], descending: !ascending }
  const found = await sql<TokenRecord[]>`
    select /* token.list */ ${recordColumns(sql)}
    from gateway.token
    where gateway.has_text(concat_ws(' ', name, contact, created_by, hint), ${search})
      ${state ? sql`and ${filterConditions(sql)[state]}` : sql``}
      ${permission ? sql`and ${permission} = any(permissions)` : sql``}
      ${tenant ? sql`and id in (${selectTokensReaching(sql, tenant)})` : sql``}
      and ${betweenRows(sql, listOrder, window)}`
  return toPage(window, found)
}

/** Returns two numbers: of active tokens that were never used, and of active tokens that end within 14 days. */
export async function countTokensInNeed(sql: Sql): Promise<{ unused: number; expiring: number }> {
  const { unused, expiring } = filterConditions(sql)
  const [counts] = await sql<[{ unused: number; expiring: number }]>`
    select /* token.count_in_need */
      count(*) filter (where ${unused})::integer as unused,
      count(*) filter (where ${expiring})::integer as expiring
    from gateway.token`
  return counts
}

/**
 * Returns a query for the ids of tokens that are authorised for a matching tenant, by a grant of the tenant, or by a
 * grant with descendants of an ancestor. An absent tenant matches only by its id.
 */
const selectTokensReaching = (sql: Sql, tenant: string) => sql`
  with found as materialized (
    select id, parent_id from gateway.tenant where id = ${parseIdentifier(tenant)} or gateway.has_text(name, ${tenant})
    union all
    select ${parseIdentifier(tenant)}::bigint, null
  ), above as materialized (
    select distinct unnest(path) as id from gateway.tenant_path where tenant_id in (select parent_id from found)
  )
  select token_id from gateway.token_tenant where tenant_id in (select id from found)
  union all
  select token_id from gateway.token_tenant where with_descendants and tenant_id in (select id from above)`
