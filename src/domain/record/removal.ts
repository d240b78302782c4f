import { column, type RowOf } from '../../db/row/column.ts'
import { createRowCodec } from '../../db/row/row-codec.ts'
import type { ListIdentity } from '../paging/cursor.ts'
import type { Token } from '../token/token.ts'
import type { RecordType } from './resource.ts'
import { createTenantTable, type TenantTable } from './tenant-table.ts'

/** The reasons why a record left a list (`gateway.removal`), each with a description. */
export const removalReasons = {
  deleted: 'The record was deleted, or has another id. For a tenant: it or a tenant above it was deleted.',
  moved: 'The record belongs to another tenant now. For a tenant: it or a tenant above it was moved.',
  consent_withdrawn: 'The customer no longer consents to marketing.',
}

export const removalColumns = {
  id: column('id', 'bigint'),
  tenantId: column('tenant_id', 'bigint', 'The numeric id of the tenant whose list the record left.'),
  record: column('record', 'text'),
  reason: column('reason', 'text'),
  updatedAt: column('updated_at', 'instant'),
}

/** A record that left a list, for clients that keep a copy of the list. Contains no personal data. */
export type Removal = RowOf<typeof removalColumns>

/** Returns the identity of a tenant's list of removals, for its cursors. */
export const removalListIdentity = (tenantId: number): ListIdentity => ({ name: 'removals', tenantId })

const removalRow = createRowCodec<Removal>(removalColumns)

/**
 * Reads the removals of records of the types. Leaves out records that are in their list now. So removals never
 * contradict lists, and a client can apply removals and lists in the order of their arrival.
 *
 * @param token the removal of a tenant is left out when the tenant is in this token's list of tenants
 */
export const createRemovalTable = (types: readonly RecordType[], token: Token): TenantTable<Removal> =>
  createTenantTable<Removal>({
    name: 'removal',
    table: 'gateway.removal',
    row: removalRow,
    columnValues: { column: 'record', type: 'gateway.record_type', values: types.map(({ record }) => record) },
    // `is null` and not `not exists`, because for `not exists` the planner may read whole tables into a hash.
    filter: sql => {
      const found = types.reduce(
        (cases, type) => sql`${cases} ${sql.unsafe(`when '${type.record}'`)} then (${type.findRemoved(sql, token)})`,
        sql`case record`,
      )
      return types.length > 0 ? sql`${found} end is null` : sql`true`
    },
  })
