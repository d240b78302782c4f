import { arrayText, type Sql } from '../db/connect.ts'
import { rowCodec } from '../db/row-codec.ts'
import type { ListIdentity } from './cursor.ts'
import type { Instant } from './instant.ts'
import { type Page, type Range, toPage, within } from './page.ts'
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

const tenantRow = rowCodec<Tenant>({
  id: ['tenant.id', 'integer'],
  parentId: ['parent_id', 'integer'],
  name: ['name', 'text'],
  subdomain: ['subdomain', 'text'],
  type: ['type', 'text'],
  timeZone: ['time_zone', 'text'],
  updatedAt: ['updated_at', 'instant'],
})

/**
 * @returns the tenants that a token is authorised for (R21), as texts of arrays: all that it names, and those of them
 *   that it names with all below them
 */
export function grantedBy(token: Token) {
  const named = token.tenants.map(grant => grant.tenantId)
  const withDescendants = token.tenants.filter(grant => grant.withDescendants).map(grant => grant.tenantId)
  return { named: arrayText(named), withDescendants: arrayText(withDescendants) }
}

/** @returns a page of the tenants that the token is authorised for (contract, operation 1) */
export async function listTenants(sql: Sql, token: Token, range: Range): Promise<Page<Tenant>> {
  const { named, withDescendants } = grantedBy(token)
  // In brackets, `is true`: the granted ones are looked up as the list is passed along, and not joined and sorted.
  const [found] = await sql`
    with /* tenant.list */ recursive below as (
      select id from tenant where id = any(${withDescendants}::text::bigint[])
      union
      select tenant.id from tenant join below on tenant.parent_id = below.id
    ), granted as (
      select id from below union all select unnest(${named}::text::bigint[])
    )
    select string_agg(row, '') from (
      select ${tenantRow.select(sql)} as row from tenant
      where (id in (select id from granted)) is true and ${within(sql, range)}
    ) page`.raw()
  return toPage(range, tenantRow.read(found?.[0]))
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
  const [rows] = await sql`
    select /* tenant.find_many */ string_agg(${tenantRow.select(sql)}, '')
    from unnest(${arrayText(ids)}::text::bigint[]) as wanted(id) join tenant on tenant.id = wanted.id`.raw()
  const found = new Map(tenantRow.read(rows?.[0]).map(row => [row.id, row]))
  return ids.map(id => found.get(id) ?? null)
}
