import type { Sql } from '../../db/sql.ts'
import { shareStatements } from '../../db/statement/shared-statement.ts'
import type { AuditAction } from '../administrator/audit.ts'
import type { SearchTable } from '../search/search-table.ts'
import type { Caller } from '../token/caller.ts'
import { isWithinDays } from '../token/request-count.ts'
import type { Instant } from '../value/instant.ts'
import type { TenantTable } from './tenant-table.ts'

/** A caller who exports data, and an `Sql` that writes the audit at the primary. */
interface Exporter {
  sql: Sql
  caller: Caller
}

/**
 * The callers whose bulk export already has an audit entry. The request id cannot identify them, because clients choose
 * it (R17).
 */
const recordedBulkExports = new WeakSet<Caller>()

/**
 * Reads personal data for a caller (contract, operations 6 and 7). Each read records the export before it returns, and
 * throws when the recording fails. So no personal data leaves the service before the count of the day includes the
 * records (`saveExports`). The first chunk of each bulk export always gets an audit entry, also within an hour of an
 * equal entry.
 *
 * @param exporter the caller, and the `Sql` that writes the audit
 * @param group requests with the same group share the statement that records exports (`shareStatements`); default: no
 * sharing
 */
export const withExportAudit = <Row>(
  { sql, caller }: Exporter,
  table: TenantTable<Row>,
  group: object = caller,
): TenantTable<Row> => ({
  ...table,

  async pages(records, wanted) {
    const pages = await table.pages(records, wanted)
    const exports = wanted.map(({ tenantId }, index) => ({ tenantId, records: pages[index]?.rows.length ?? 0 }))
    await recordExports(sql, caller, 'list', exports.filter(isExport), group)
    return pages
  },

  async records(records, wanted) {
    const found = await table.records(records, wanted)
    const exports = wanted.map(({ tenantId }, index) => ({ tenantId, records: found[index] ? 1 : 0 }))
    await recordExports(sql, caller, 'record', exports.filter(isExport), group)
    return found
  },

  async chunk(records, wanted) {
    const chunk = await table.chunk(records, wanted)
    if (chunk.count === 0) return chunk
    const hasEntry = !recordedBulkExports.has(caller)
    await recordExports(sql, caller, 'bulk export', [{ tenantId: wanted.tenantId, records: chunk.count, hasEntry }])
    recordedBulkExports.add(caller)
    return chunk
  },
})

/**
 * Reads filtered and ordered lists of personal data for a caller, and records the exports like `withExportAudit`, with
 * one entry per tenant. A text search with an empty page is recorded too, because it reveals who has not consented:
 * with one entry per hour, and without a count.
 */
export const withSearchExportAudit = <Row extends { readonly tenantId: number }>(
  { sql, caller }: Exporter,
  table: SearchTable<Row>,
): SearchTable<Row> => ({
  ...table,

  async page(records, ...wanted) {
    const page = await table.page(records, ...wanted)
    const [search] = wanted
    if (search.searchesPersonalData && page.rows.length === 0) {
      await recordExports(sql, caller, 'search', [{ tenantId: search.tenantId, records: 0 }])
    }
    const counts = new Map<number, number>()
    for (const { tenantId } of page.rows) counts.set(tenantId, (counts.get(tenantId) ?? 0) + 1)
    const exports = [...counts].map(([tenantId, count]) => ({ tenantId, records: count }))
    await recordExports(sql, caller, 'list', exports)
    return page
  },
})

/**
 * Reads filtered and ordered lists in which a text search compares the names of recipients, although the records have
 * no personal data. A text search is recorded, because its result reveals who received a voucher: with one entry per
 * hour, and without a count.
 */
export const withTextSearchAudit = <Row>({ sql, caller }: Exporter, table: SearchTable<Row>): SearchTable<Row> => ({
  ...table,

  async page(records, ...wanted) {
    const page = await table.page(records, ...wanted)
    const [{ searchesPersonalData, tenantId, descendantsOf }] = wanted
    const operation = descendantsOf ? 'voucher search, with tenants below' : 'voucher search'
    if (searchesPersonalData) await recordExports(sql, caller, operation, [{ tenantId, records: 0 }])
    return page
  },
})

interface Export {
  tenantId: number
  records: number
  /**
   * True to write an audit entry, false to write none; by default an entry is written unless the last hour has an equal
   * entry.
   */
  hasEntry?: boolean
}

const isExport = ({ records }: Export) => records > 0

/** The caller of a request, and the number of exported records per tenant. */
interface CallerExports {
  caller: Caller
  operation: 'list' | 'record' | 'bulk export' | 'search' | 'voucher search' | 'voucher search, with tenants below'
  exports: readonly Export[]
}

/**
 * Adds exported records to the count of the day, token and tenant, and writes audit entries. By default, no entry is
 * written when the last hour has an entry of the same token, tenant, address and operation, because a program that
 * searches, or reads all pages, would flood the audit. Counts are locked in the order of tokens and tenants, so that no
 * deadlock occurs.
 */
const saveExports = shareStatements<CallerExports, null>(async (sql, saved) => {
  const action: AuditAction = 'customer.export'
  const entries = saved.flatMap(({ caller: { token, address, requestId }, operation, exports }) =>
    exports.map(({ tenantId, records, hasEntry }) => ({
      ...{ actor: `token ${token.id} (${token.name})`, address, token_id: token.id, tenant_id: tenantId, records },
      has_entry: hasEntry,
      detail: { records, operation, requestId },
    })),
  )
  await sql`
    with /* export.record */ exported as (
      select * from json_to_recordset(${JSON.stringify(entries)}::text::json)
        as entry(actor text, address text, token_id bigint, tenant_id bigint, records bigint, has_entry boolean,
                 detail jsonb)
    ), entry as (
      insert into gateway.audit_entry (actor, address, action, token_id, tenant_id, detail)
      select distinct on (token_id, tenant_id, address, detail ->> 'operation')
             actor, address, ${action}, token_id, tenant_id, detail
      from exported
      where coalesce(has_entry, not exists (
        select from gateway.audit_entry recent
        where recent.token_id = exported.token_id and at > now() - interval '1 hour' and action = ${action}
          and recent.tenant_id = exported.tenant_id and recent.address is not distinct from exported.address
          and recent.detail ->> 'operation' = exported.detail ->> 'operation'))
    )
    insert into gateway.token_export (token_id, day, tenant_id, records, last_at)
    select token_id, (latest.at at time zone 'UTC')::date, tenant_id, sum(records), latest.at
    from exported, now() latest (at)
    where records > 0
    group by token_id, tenant_id, latest.at
    order by token_id, tenant_id
    on conflict (token_id, day, tenant_id) do update
    set records = token_export.records + excluded.records, last_at = greatest(token_export.last_at, excluded.last_at)`
  return saved.map(() => null)
})

/** Records the exports of a request. @param group requests with the same group share the statement */
async function recordExports(
  sql: Sql,
  caller: Caller,
  operation: CallerExports['operation'],
  exports: readonly Export[],
  group: object = caller,
): Promise<void> {
  if (exports.length > 0) await saveExports(group, sql, { caller, operation, exports })
}

/** The number of records with personal data that a token exported from one tenant on one day. */
export interface DailyExport {
  /** `YYYY-MM-DD`, UTC. */
  day: string
  tenantId: number
  /** Null when the tenant is deleted. */
  tenantName: string | null
  /** The number of exported records; a record that was exported twice counts twice. */
  records: number
  lastAt: Instant
}

/** Returns the exports of the last days in UTC, including today, by day and tenant: the latest first, at most 200. */
export async function listExports(sql: Sql, tokenId: number, days: number): Promise<DailyExport[]> {
  return sql<DailyExport[]>`
    select /* export.list */ day, tenant_id as "tenantId", tenant.name as "tenantName", records, last_at as "lastAt"
    from gateway.token_export left join gateway.tenant on tenant.id = tenant_id
    where token_id = ${tokenId} and ${isWithinDays(sql, days)}
    order by day desc, last_at desc, tenant_id limit 200`
}
