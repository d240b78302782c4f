import { column, nullable, type RowOf } from '../../db/row/column.ts'
import { createRowCodec } from '../../db/row/row-codec.ts'
import { arrayText, type RecordSql } from '../../db/sql.ts'
import type { ListIdentity } from '../paging/cursor.ts'
import { type PageWindow, type RecordPage, type RowOrder, toPage, withinWindow } from '../paging/page.ts'
import { lastStamp, toServerTime } from '../sync/server-time.ts'
import type { Token } from '../token/token.ts'
import { beforeAll, type Instant } from '../value/instant.ts'
import { grantedBy, visibleTenants } from './granted.ts'

export const tenantColumns = {
  id: column('tenant.id', 'bigint'),
  parentId: nullable('parent_id', 'bigint', 'The numeric id of the tenant above it.'),
  name: column('name', 'text', 'The name.'),
  subdomain: nullable('subdomain', 'text', 'The subdomain of its shop.'),
  type: nullable('type', 'text', 'The type of tenant.'),
  timeZone: column('time_zone', 'text', 'The IANA time zone of the dates of its vouchers.'),
  updatedAt: column('updated_at', 'instant', 'When it was last changed.'),
}

/** An organisation unit that can have a parent (contract, operation 1). */
export type Tenant = RowOf<typeof tenantColumns>

/** The identity of the list of the tenants for which a token is authorised, for its cursors. */
export const tenantList: ListIdentity = { name: 'tenants' }

/** The order of the tenants directly below a tenant. */
export const byName: RowOrder = { table: 'gateway.tenant', key: 'gateway.text_order(name) collate "C"' }

/** Returns the identity of the list of the tenants directly below a tenant, for its cursors. */
export const childList = (tenantId: number): ListIdentity => ({ name: 'children', tenantId })

export const tenantRow = createRowCodec<Tenant>(tenantColumns)

/**
 * Tenants as records. A tenant is absent from the list when the token has no grant of it, and no grant with descendants
 * of an ancestor.
 */
export const tenantRecords = {
  noun: 'tenant',
  permissions: [],
  record: 'tenant',
  findRemoved: (sql: RecordSql, token: Token) => {
    const { named, withDescendants } = grantedBy(token)
    return sql`
      select tenant_id from gateway.tenant_path where tenant_id = removal.id
        and (path && ${withDescendants}::text::bigint[] or tenant_id = any(${named}::text::bigint[]))`
  },
}

/** Returns a page of the tenants that the token is authorised for (contract, operation 1). */
export async function listTenants(sql: RecordSql, token: Token, window: PageWindow): Promise<RecordPage<Tenant>> {
  // With `is true`, PostgreSQL reads the list in its order and looks each tenant up; otherwise it would join and sort.
  const [found] = await sql`
    with /* tenant.list */ recursive ${visibleTenants(sql, token, null)}
    select string_agg(row, ''), ${lastStamp(sql)} from (
      select ${tenantRow.select(sql)} as row from gateway.tenant
      where (id in (select id from visible)) is true and ${withinWindow(sql, window)}
    ) page`.raw()
  return { ...toPage(window, tenantRow.read(found?.[0])), serverTime: toServerTime(found?.[1]) }
}

/**
 * Counts the tenants for which a token is authorised.
 *
 * @param updatedSince counts only the tenants that were updated at or after this instant; null counts all tenants
 */
export async function countGrantedTenants(sql: RecordSql, token: Token, updatedSince: Instant | null): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    with /* tenant.count */ recursive ${visibleTenants(sql, token, null)}
    select count(*) from gateway.tenant where id in (select id from visible)
      and updated_at >= ${updatedSince ?? beforeAll}::text::timestamptz`
  return row?.count ?? 0
}

/**
 * Returns the tenants with the ids, in the order of the ids; null for an id without a tenant. The caller must have
 * checked the grants.
 */
export async function findTenants(sql: RecordSql, ids: readonly number[]): Promise<(Tenant | null)[]> {
  const [rows] = await sql`
    select /* tenant.find_many */ string_agg(${tenantRow.select(sql)}, '')
    from unnest(${arrayText(ids)}::text::bigint[]) as wanted(id) join gateway.tenant on tenant.id = wanted.id`.raw()
  const found = new Map(tenantRow.read(rows?.[0]).map(row => [row.id, row]))
  return ids.map(id => found.get(id) ?? null)
}

/**
 * Returns the current calendar days at tenants, `YYYY-MM-DD`, in the order of the ids; null for an id without a tenant.
 */
export async function findDays(sql: RecordSql, ids: readonly number[]): Promise<(string | null)[]> {
  const rows = await sql<{ id: number; today: string }[]>`
    select /* tenant.days */ tenant.id, (now() at time zone gateway.time_zone(time_zone))::date as today
    from unnest(${arrayText(ids)}::text::bigint[]) as wanted(id) join gateway.tenant on tenant.id = wanted.id`
  const found = new Map(rows.map(({ id, today }) => [id, today]))
  return ids.map(id => found.get(id) ?? null)
}
