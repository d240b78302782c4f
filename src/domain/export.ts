import { arrayText, type Sql } from '../db/connect.ts'
import type { AuditAction } from './audit.ts'
import type { Caller } from './caller.ts'
import type { Instant } from './instant.ts'
import { isWithinDays } from './request-count.ts'
import type { TenantTable } from './tenant-table.ts'

/**
 * Reads personal data for a caller (contract, operations 6 and 7). Each read records the export before it returns, and
 * throws when that fails: no personal data leaves the service without a record.
 */
export const exportOf = <Row>(caller: Caller, table: TenantTable<Row>): TenantTable<Row> => ({
  ...table,

  async pages(sql, wanted) {
    const pages = await table.pages(sql, wanted)
    const exports = wanted.map(({ tenantId }, index) => ({ tenantId, records: pages[index]?.rows.length ?? 0 }))
    await recordExports(sql, caller, 'list', exports)
    return pages
  },

  async records(sql, wanted) {
    const found = await table.records(sql, wanted)
    const exports = wanted.map(({ tenantId }, index) => ({ tenantId, records: found[index] ? 1 : 0 }))
    await recordExports(sql, caller, 'record', exports)
    return found
  },
})

interface Export {
  tenantId: number
  records: number
}

/**
 * Adds an audit entry for each export, and adds the records to the day's count of token and tenant. Counts are locked
 * in the order of the tenants, so that requests do not deadlock.
 */
async function recordExports(
  sql: Sql,
  { token, address, requestId }: Caller,
  operation: 'list' | 'record',
  all: readonly Export[],
): Promise<void> {
  const exports = all.filter(({ records }) => records > 0)
  if (exports.length === 0) return
  const action: AuditAction = 'customer.export'
  const details = exports.map(({ records }) => JSON.stringify({ records, operation, requestId }))
  const sums = new Map<number, number>()
  for (const { tenantId, records } of exports) sums.set(tenantId, (sums.get(tenantId) ?? 0) + records)
  const tenants = [...sums.keys()].sort((a, b) => a - b)
  await sql`
    with /* export.record */ entry as (
      insert into gateway.audit_entry (actor, address, action, token_id, tenant_id, detail)
      select ${`token ${token.id} (${token.name})`}, ${address}, ${action}, ${token.id}::bigint, tenant_id, detail
      from unnest(${arrayText(exports.map(({ tenantId }) => tenantId))}::text::bigint[],
                  ${arrayText(details)}::text::jsonb[]) as exported(tenant_id, detail)
      returning at
    )
    insert into gateway.token_export (token_id, day, tenant_id, records, last_at)
    select ${token.id}::bigint, (latest.at at time zone 'UTC')::date, tenant_id, records, latest.at
    from (select max(at) as at from entry) latest,
         unnest(${arrayText(tenants)}::text::bigint[],
                ${arrayText(tenants.map(tenantId => sums.get(tenantId) ?? 0))}::text::bigint[])
           as exported(tenant_id, records)
    on conflict (token_id, day, tenant_id) do update
    set records = token_export.records + excluded.records, last_at = greatest(token_export.last_at, excluded.last_at)`
}

/** The personal data of one tenant that a token exported on one day. */
export interface DailyExport {
  /** `YYYY-MM-DD`, UTC. */
  day: string
  tenantId: number
  /** Null when the tenant is deleted. */
  tenantName: string | null
  /** A record that was exported twice counts twice. */
  records: number
  lastAt: Instant
}

/**
 * @param days how many days, UTC, with today
 * @returns the exports of the token by day and tenant, the latest first, at most 200
 */
export async function listExports(sql: Sql, tokenId: number, days: number): Promise<DailyExport[]> {
  return sql<DailyExport[]>`
    select /* export.list */ day, tenant_id as "tenantId", tenant.name as "tenantName", records, last_at as "lastAt"
    from gateway.token_export left join tenant on tenant.id = tenant_id
    where token_id = ${tokenId} and ${isWithinDays(sql, days)}
    order by day desc, last_at desc, tenant_id limit 200`
}
