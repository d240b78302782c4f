/**
 * Describes the types of records that tenants own. Loaders, `node`, global ids, connections and removals are derived
 * from these descriptions.
 */
import type { Column, Columns } from '../../db/row/column.ts'
import { createRowCodec } from '../../db/row/row-codec.ts'
import type { Fragment, RecordSql } from '../../db/sql.ts'
import type { ListIdentity } from '../paging/cursor.ts'
import { byValue } from '../search/order.ts'
import type { EntryTable } from '../search/ranges.ts'
import type { SearchDescription } from '../search/search.ts'
import { createSearchTable, type SearchTable } from '../search/search-table.ts'
import type { Permission } from '../token/permission.ts'
import type { Token } from '../token/token.ts'
import type { Instant } from '../value/instant.ts'
import { createTenantTable, type TenantTable } from './tenant-table.ts'

/** The columns of every row of a resource. */
export type ResourceRow = { readonly id: number; readonly tenantId: number; readonly updatedAt: Instant }

/** A type of records with global ids and a list of removals. */
export interface RecordType {
  /** The name of one record of the type, for messages: `purchased voucher`. */
  noun: string
  /**
   * The permissions that a token needs, all of them, to read records of the type: as a list, by id, and as removals.
   */
  permissions: readonly Permission[]
  /** The name of the type in SQL (`gateway.record_type`): `voucher`. */
  record: string
  /**
   * Returns a query for the record of a row of `gateway.removal`. The query returns no row when the record is in none
   * of the lists that the removal is about.
   *
   * @param token the token whose lists the removal is about
   */
  findRemoved(sql: RecordSql, token: Token): Fragment
}

/** A type of records of which each tenant has a list. */
export interface Resource<Row extends ResourceRow = ResourceRow>
  extends RecordType,
    Required<Pick<ResourceDescription<Row>, 'description' | 'personalData' | 'chunkSize'>> {
  columns: Readonly<Record<string, Column>>
  table: TenantTable<Row>
  /**
   * The filters and orders of the lists, and the reader of filtered and ordered lists; null for a type without filters.
   */
  search: (SearchDescription & { table: SearchTable<Row> }) | null
  /** Returns the identity of a tenant's list, for its cursors. */
  listOf(tenantId: number): Required<ListIdentity>
}

/** The options of `defineResource`. Statements contain the SQL texts among them, such as `only`, unescaped. */
interface ResourceDescription<Row extends ResourceRow> {
  /**
   * The name of one record. The names of the GraphQL type, the fields, the cursors and the removals are derived from
   * it.
   */
  noun: string
  description: string
  /**
   * The name of the table in the schema `gateway`, and the first part of the names of statements: `voucher` for
   * `voucher.list`.
   */
  name: string
  columns: Columns<Row>
  permissions: readonly Permission[]
  /** An SQL condition for the rows of the table that are records; by default all rows are records. */
  only?: string
  /** True when the service must record each read of a record in the audit. */
  personalData?: boolean
  /** The number of records that one statement of an export reads, one or two megabytes; default: 2,000. */
  chunkSize?: number
  /** The filters and orders of the lists. Each needs an index (`sql/functions/record`). */
  search?: Pick<SearchDescription, 'filters' | 'orders'> & { entries?: EntryTable }
}

/**
 * Creates a resource from its description. Lists are ordered by `updated_at`, then `id` (R15). A record belongs only to
 * the list of its own tenant (R20).
 */
export function defineResource<Row extends ResourceRow>(described: ResourceDescription<Row>): Resource<Row> {
  const { noun, name, columns, only, search } = described
  const table = `gateway.${name}`
  const list = `${noun.replaceAll(/ ./g, start => start.charAt(1).toUpperCase())}s`
  const row = createRowCodec<Row>(columns)
  const byUpdatedAt = byValue('updated_at', 'timestamptz', 'By `updatedAt`, the order of the list by itself.')
  return {
    personalData: false,
    chunkSize: 2_000,
    ...described,
    table: createTenantTable<Row>({ name, table, row, only }),
    search: search
      ? {
          filters: search.filters,
          orders: { UPDATED_AT: byUpdatedAt, ...search.orders },
          defaultOrder: byUpdatedAt,
          table: createSearchTable<Row>({ name, table, entries: search.entries, row, only }),
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
