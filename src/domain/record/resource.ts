/**
 * Descriptions of the records that tenants own. Loaders, `node`, global ids, connections and removals are derived from
 * them.
 */
import type { Column, Columns } from '../../db/row/column.ts'
import { rowCodec } from '../../db/row/row-codec.ts'
import type { Fragment, RecordSql } from '../../db/sql.ts'
import type { ListIdentity } from '../paging/cursor.ts'
import { byValue } from '../search/order.ts'
import type { EntryTable } from '../search/ranges.ts'
import type { SearchDescription } from '../search/search.ts'
import { type SearchTable, searchTable } from '../search/search-table.ts'
import type { Permission } from '../token/permission.ts'
import type { Token } from '../token/token.ts'
import type { Instant } from '../value/instant.ts'
import { type TenantTable, tenantTable } from './tenant-table.ts'

/** The columns of every row of a resource. */
export type ResourceRow = { readonly id: number; readonly tenantId: number; readonly updatedAt: Instant }

/** A type of records that have global ids, and whose removals are listed. */
export interface RecordType {
  /** The name of one of its records: `purchased voucher`. */
  noun: string
  /** All permissions that a token needs to read its records: as a list, by id, and as removals. */
  permissions: readonly Permission[]
  /** The name of its type in SQL (`gateway.record_type`): `voucher`. */
  record: string
  /**
   * Returns a query for the record of a row of `gateway.removal`. It finds no row when no list that the removal
   * concerns has the record.
   *
   * @param token the token whose lists the removal concerns
   */
  findRemoved(sql: RecordSql, token: Token): Fragment
}

/** A type of records that each tenant has a list of. */
export interface Resource<Row extends ResourceRow = ResourceRow>
  extends RecordType,
    Required<Pick<ResourceDescription<Row>, 'description' | 'personalData' | 'chunkSize'>> {
  columns: Readonly<Record<string, Column>>
  table: TenantTable<Row>
  /** The filters and orders of its lists, and the table that reads such lists; null when it has none. */
  search: (SearchDescription & { table: SearchTable<Row> }) | null
  /** Returns the tenant's list, to which cursors belong. */
  listOf(tenantId: number): Required<ListIdentity>
}

/** The description of a resource. Its SQL strings, such as `only`, are inserted into statements as they are. */
interface ResourceDescription<Row extends ResourceRow> {
  /** The name of one of its records, from which the names of its type, fields, cursors and removals are derived. */
  noun: string
  description: string
  /** The name of its table in schema `gateway`, and of its statements: `voucher` for `voucher.list`. */
  name: string
  columns: Columns<Row>
  permissions: readonly Permission[]
  /** A condition, in SQL, for the rows that are records; all rows when left out. */
  only?: string
  /** True when reading a record is recorded in the audit. */
  personalData?: boolean
  /** The records that a statement of an export reads, a megabyte or two; default: 2,000. */
  chunkSize?: number
  /** The filters and orders of its lists, each with an index that serves it (`sql/functions/record`). */
  search?: Pick<SearchDescription, 'filters' | 'orders'> & { entries?: EntryTable }
}

/**
 * Describes a resource. A list is ordered by `updated_at`, then `id` (R15). A record belongs only to the list of its
 * own tenant (R20).
 */
export function defineResource<Row extends ResourceRow>(described: ResourceDescription<Row>): Resource<Row> {
  const { noun, name, columns, only, search } = described
  const table = `gateway.${name}`
  const list = `${noun.replaceAll(/ ./g, start => start.charAt(1).toUpperCase())}s`
  const row = rowCodec<Row>(columns)
  const byUpdatedAt = byValue('updated_at', 'timestamptz', 'By `updatedAt`, the order of the list by itself.')
  return {
    personalData: false,
    chunkSize: 2_000,
    ...described,
    table: tenantTable<Row>({ name, table, row, only }),
    search: search
      ? {
          filters: search.filters,
          orders: { UPDATED_AT: byUpdatedAt, ...search.orders },
          defaultOrder: byUpdatedAt,
          table: searchTable<Row>({ name, table, entries: search.entries, row, only }),
        }
      : null,
    listOf: tenantId => ({ name: list, tenantId }),
    record: name,
    findRemoved: sql =>
      sql.unsafe(
        `select id from ${table} listed where listed.tenant_id = removal.tenant_id and listed.id = removal.id` +
          (only === undefined ? '' : ` and ${only}`),
      ),
  }
}
