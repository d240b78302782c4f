import type { Fragment, Sql } from '../db/connect.ts'
import { rowCodec } from '../db/row-codec.ts'
import type { ListIdentity } from './cursor.ts'
import type { Instant } from './instant.ts'
import { grantedBy } from './tenant.ts'
import { type TenantTable, tenantTable } from './tenant-table.ts'
import type { Token } from './token.ts'

/** What a record was. */
export const removalResources = ['tenant', 'catalog_voucher', 'purchased_voucher', 'marketing_signup'] as const

export type RemovalResource = (typeof removalResources)[number]

/** A record that left a list, so that copies can follow. No personal data. */
export interface Removal {
  id: number
  tenantId: number
  resource: RemovalResource
  recordId: number
  reason: 'deleted' | 'moved' | 'consent_withdrawn'
  /** When it was removed; ordered and stamped as the stamps of records are. */
  updatedAt: Instant
}

export const removalList = (tenantId: number): ListIdentity => ({ name: 'removals', tenantId })

const removalRow = rowCodec<Removal>({
  id: ['id', 'integer'],
  tenantId: ['tenant_id', 'integer'],
  resource: ['resource', 'text'],
  recordId: ['record_id', 'integer'],
  reason: ['reason', 'text'],
  updatedAt: ['updated_at', 'instant'],
})

/**
 * What left the lists of these resources. A record that is in its list now is left out, whatever happened before: the
 * removals never contradict the lists, and a copy can apply both in the order in which they were answered.
 *
 * @param token whose list of tenants a tenant must be absent from
 */
export const removalsOf = (resources: readonly RemovalResource[], token: Token): TenantTable<Removal> =>
  tenantTable<Removal>({
    name: 'removal',
    table: 'gateway.removal',
    row: removalRow,
    among: { column: 'resource', values: resources },
    filter: sql => isAbsent(sql, token),
  })

/**
 * Whether the record of a row of `gateway.removal` is in no list that the removal concerns. `is null` and not `not exists`:
 * for that, the planner may read whole tables into a hash.
 */
function isAbsent(sql: Sql, token: Token): Fragment {
  const { named, withDescendants } = grantedBy(token)
  return sql`
    case resource
      when 'catalog_voucher' then (
        select id from product where product.tenant_id = removal.tenant_id and product.id = record_id)
      when 'purchased_voucher' then (
        select id from purchased_voucher voucher where voucher.tenant_id = removal.tenant_id and voucher.id = record_id)
      when 'marketing_signup' then (
        select id from customer where customer.tenant_id = removal.tenant_id and customer.id = record_id and marketing_opted)
      else (
        with recursive above as (
          select id, parent_id from tenant where id = record_id
          union
          select tenant.id, tenant.parent_id from above join tenant on tenant.id = above.parent_id
        )
        select id from above where id = any(${withDescendants}::text::bigint[])
                                or (id = record_id and id = any(${named}::text::bigint[])) limit 1)
    end is null`
}
