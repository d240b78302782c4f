import { arrayText, type Sql } from '../db/connect.ts'
import type { ListIdentity } from './cursor.ts'
import type { Instant } from './instant.ts'
import { type Page, type Range, rangeArguments, toPage } from './page.ts'
import type { Token } from './token.ts'

export interface Tenant {
  id: number
  parentId: number | null
  name: string
  subdomain: string | null
  type: string | null
  timeZone: string
  updatedAt: Instant
}

export const tenantList: ListIdentity = { name: 'tenants' }

const columns = (sql: Sql) => sql`
  tenant.id, parent_id as "parentId", name, subdomain, type, time_zone as "timeZone", updated_at as "updatedAt"`

/** The tenants a token is authorised for (R21): those it names, and those with all below them. */
function grantedBy(token: Token) {
  const named = token.tenants.map(grant => grant.tenantId)
  const withDescendants = token.tenants.filter(grant => grant.withDescendants).map(grant => grant.tenantId)
  return { named: arrayText(named), withDescendants: arrayText(withDescendants) }
}

/** @returns a page of the tenants that the token is authorised for (contract, operation 1) */
export async function listTenants(sql: Sql, token: Token, range: Range): Promise<Page<Tenant>> {
  const { named, withDescendants } = grantedBy(token)
  return toPage(
    range,
    await sql<(Tenant & { serverTime: Instant })[]>`
      select /* tenant.list */ gateway.noted_horizon() as "serverTime", ${columns(sql)}
      from (values (1)) one left join gateway.tenant_page(
        ${named}::text::bigint[], ${withDescendants}::text::bigint[], ${rangeArguments(sql, range)}) tenant on true`,
  )
}

/** @returns how many tenants the whole list holds */
export async function countTenants(sql: Sql, token: Token, updatedSince: Instant | null): Promise<number> {
  const { named, withDescendants } = grantedBy(token)
  const [row] = await sql<{ count: number }[]>`
    with /* tenant.count */ recursive below as (
      select unnest(${withDescendants}::text::bigint[]) as id
      union
      select tenant.id from tenant join below on tenant.parent_id = below.id
    )
    select count(*) from tenant
    where id in (select unnest(${named}::text::bigint[]) union select id from below)
      and updated_at >= ${updatedSince ?? '-infinity'}::text::timestamptz`
  return row?.count ?? 0
}

/** @returns the tenants of these ids, in their order, null where there is none; whether they may be seen is the caller's to know */
export async function findTenants(sql: Sql, ids: readonly number[]): Promise<(Tenant | null)[]> {
  const rows = await sql<Tenant[]>`
    select /* tenant.find_many */ ${columns(sql)}
    from unnest(${arrayText(ids)}::text::bigint[]) as wanted(id) join tenant on tenant.id = wanted.id`
  const found = new Map(rows.map(row => [row.id, row]))
  return ids.map(id => found.get(id) ?? null)
}
