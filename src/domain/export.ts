import { arrayText, type Sql } from '../db/connect.ts'
import type { AuditAction } from './audit.ts'
import type { Caller } from './caller.ts'
import type { TenantTable } from './tenant-table.ts'

/**
 * Reads personal data for a caller (contract, operations 6 and 7) and records in the audit what it read. When that
 * fails, so does the read: no personal data leave the service unrecorded.
 */
export const exportOf = <Row>(caller: Caller, table: TenantTable<Row>): TenantTable<Row> => ({
  ...table,

  async pages(sql, wanted) {
    const pages = await table.pages(sql, wanted)
    const given = wanted.map(({ tenantId }, index) => ({ tenantId, records: pages[index]?.rows.length ?? 0 }))
    await recordExports(sql, caller, 'list', given)
    return pages
  },

  async records(sql, wanted) {
    const found = await table.records(sql, wanted)
    const given = wanted.map(({ tenantId }, index) => ({ tenantId, records: found[index] ? 1 : 0 }))
    await recordExports(sql, caller, 'record', given)
    return found
  },
})

/** How many records of a tenant were given out at once. */
interface Export {
  tenantId: number
  records: number
}

/**
 * Puts each down in the audit, and adds it to what the token was given of the tenant on the day. Tenants come in one
 * order, so that those who note the same wait for each other, and none for all.
 */
async function recordExports(
  sql: Sql,
  { token, address, requestId }: Caller,
  operation: 'list' | 'record',
  exports: readonly Export[],
): Promise<void> {
  const given = exports.filter(({ records }) => records > 0)
  if (given.length === 0) return
  const action: AuditAction = 'customer.export'
  const details = given.map(({ records }) => JSON.stringify({ records, operation, requestId }))
  const sums = new Map<number, number>()
  for (const { tenantId, records } of given) sums.set(tenantId, (sums.get(tenantId) ?? 0) + records)
  const tenants = [...sums.keys()].sort((a, b) => a - b)
  await sql`
    with /* export.record */ noted as (
      insert into gateway.audit_entry (actor, address, action, token_id, tenant_id, detail)
      select ${`token ${token.id} (${token.name})`}, ${address}, ${action}, ${token.id}::bigint, tenant_id, detail
      from unnest(${arrayText(given.map(({ tenantId }) => tenantId))}::text::bigint[],
                  ${arrayText(details)}::text::jsonb[]) as given(tenant_id, detail)
      returning at
    )
    insert into gateway.token_export (token_id, day, tenant_id, records, last_at)
    select ${token.id}::bigint, (noted.at at time zone 'UTC')::date, tenant_id, records, noted.at
    from (select max(at) as at from noted) noted,
         unnest(${arrayText(tenants)}::text::bigint[],
                ${arrayText(tenants.map(tenantId => sums.get(tenantId) ?? 0))}::text::bigint[]) as given(tenant_id, records)
    on conflict (token_id, day, tenant_id) do update
    set records = token_export.records + excluded.records, last_at = greatest(token_export.last_at, excluded.last_at)`
}
