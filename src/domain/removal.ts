import { arrayText, type Sql } from '../db/connect.ts'
import { packed } from '../db/packed.ts'
import type { ListIdentity } from './cursor.ts'
import type { Instant } from './instant.ts'
import { type Page, type Range, toPage, within } from './page.ts'

/** What a record was. */
export const removalResources = ['tenant', 'catalog_voucher', 'purchased_voucher', 'marketing_signup'] as const

export type RemovalResource = (typeof removalResources)[number]

/** A record that left a list, so that copies can follow. No personal data. */
export interface Removal {
  id: number
  tenantId: number
  resource: RemovalResource
  recordId: number
  reason: 'deleted' | 'consent_withdrawn'
  /** When it was removed; ordered and stamped as the stamps of records are. */
  updatedAt: Instant
}

export const removalList = (tenantId: number): ListIdentity => ({ name: 'removals', tenantId })

const removalRow = packed<Removal>({
  id: ['id', 'integer'],
  tenantId: ['tenant_id', 'integer'],
  resource: ['resource', 'text'],
  recordId: ['record_id', 'integer'],
  reason: ['reason', 'text'],
  updatedAt: ['updated_at', 'instant'],
})

/** @returns a page of what left the tenant's lists of these resources */
export async function listRemovals(
  sql: Sql,
  tenantId: number,
  resources: readonly RemovalResource[],
  range: Range,
): Promise<Page<Removal>> {
  const direction = range.backward ? sql`desc` : sql``
  // A page of each resource's own: what the caller may not be told of is not passed along.
  const [found] = await sql`
    select /* removal.list */ string_agg(row, '') from (
      select row
      from unnest(${arrayText([...new Set(resources)])}::text::text[]) as wanted(name)
      cross join lateral (
        select ${removalRow.select(sql)} as row, updated_at, id from gateway.removal
        where tenant_id = ${tenantId} and resource = wanted.name and ${within(sql, range)}
      ) as found
      order by updated_at ${direction}, id ${direction} limit ${range.limit + 1}
    ) page`.raw()
  return toPage(range, removalRow.read(found?.[0]))
}

/** @returns how many removals the whole list holds */
export async function countRemovals(
  sql: Sql,
  tenantId: number,
  resources: readonly RemovalResource[],
  updatedSince: Instant | null,
): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select /* removal.count */ count(*) from gateway.removal
    where tenant_id = ${tenantId} and resource = any(${arrayText(resources)}::text::text[])
      and updated_at >= ${updatedSince ?? '-infinity'}::text::timestamptz`
  return row?.count ?? 0
}
