/** The bulk exports: each list of v1 in one response, its records as v1 gives them. */

import { type Chunk, chunkOfPage } from '../domain/record/chunk.ts'
import type { ListIdentity } from '../domain/record/cursor.ts'
import { exportOf } from '../domain/record/export.ts'
import type { Instant } from '../domain/record/instant.ts'
import type { Range } from '../domain/record/page.ts'
import { products } from '../domain/record/product.ts'
import type { Resource } from '../domain/record/resource.ts'
import { signups } from '../domain/record/signup.ts'
import { vouchers } from '../domain/record/voucher.ts'
import { listTenants, tenantList } from '../domain/tenant/tenant.ts'
import type { Permission } from '../domain/token/permission.ts'
import type { Reader } from '../graphql/loaders.ts'
import { prepareRecords } from '../rest/prepare-operation.ts'
import * as documents from '../rest/v1/operations.ts'
import { type WriteRecords, writeRecordsOf } from './write-records.ts'

/** The properties of a record that its cursor needs. */
export interface ExportedRow {
  readonly id: number
  readonly updatedAt: Instant | null
}

/** The list that an export reads. */
export interface ExportedList {
  /** The list that its cursors belong to. */
  identity: ListIdentity
  /** Reads the first records of a range. Personal data is in the audit before this returns. */
  read(reader: Pick<Reader, 'sql' | 'caller'>, range: Range): Promise<Chunk<ExportedRow>>
}

/** A bulk export as `registerExports` serves it. */
export interface BulkExport {
  /** The name under which its requests are counted. */
  name: string
  /** Below the path of the exports; the tenant is written `:tenant`. */
  path: string
  /** The permissions that a token needs, all of them. */
  permissions: readonly Permission[]
  /** The content of the response, in a sentence. */
  returns: string
  /** The number of records that a statement reads: a megabyte or two. */
  chunkSize: number
  /** Writes records as lines of JSON. */
  write: WriteRecords
  /** Returns the list of the tenant in the path; null: the path has no tenant. */
  listOf(tenantId: number | null): ExportedList
}

const exportOfResource = <Row extends ExportedRow & { tenantId: number }>(
  { permissions, listOf, table, personalData }: Resource<Row>,
  route: Pick<BulkExport, 'name' | 'path' | 'returns' | 'chunkSize' | 'write'>,
): BulkExport => ({
  ...route,
  permissions,
  listOf(tenantId) {
    if (tenantId === null) throw new Error(`The path of ${route.name} has no tenant.`)
    return {
      identity: listOf(tenantId),
      read: ({ sql, caller }, range) =>
        (personalData ? exportOf(caller, table) : table).chunk(sql, { tenantId, range }),
    }
  },
})

/** The four exports, in the order of v1's lists. */
export const bulkExports: readonly BulkExport[] = [
  {
    name: 'ExportTenants',
    path: '/tenants',
    permissions: [],
    returns: 'All tenants of the token.',
    chunkSize: 2_000,
    write: writeRecordsOf(prepareRecords(documents.ListTenants)),
    listOf: () => ({
      identity: tenantList,
      read: async ({ sql, caller }, range) => chunkOfPage(await listTenants(sql, caller.token, range)),
    }),
  },
  exportOfResource(products, {
    name: 'ExportCatalogVouchers',
    path: '/tenants/:tenant/catalog-vouchers',
    returns: 'All voucher products of a tenant.',
    chunkSize: 500,
    write: writeRecordsOf(prepareRecords(documents.ListCatalogVouchers)),
  }),
  exportOfResource(vouchers, {
    name: 'ExportPurchasedVouchers',
    path: '/tenants/:tenant/purchased-vouchers',
    returns: 'All purchased vouchers of a tenant, with their balances.',
    chunkSize: 2_000,
    write: writeRecordsOf(prepareRecords(documents.ListPurchasedVouchers)),
  }),
  exportOfResource(signups, {
    name: 'ExportMarketingSignups',
    path: '/tenants/:tenant/marketing-signups',
    returns: 'All customers of a tenant who opted in to marketing. Personal data.',
    chunkSize: 2_000,
    write: writeRecordsOf(prepareRecords(documents.ListMarketingSignups)),
  }),
]
