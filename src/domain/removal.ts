import { rowCodec } from '../db/row-codec.ts'
import type { ListIdentity } from './cursor.ts'
import type { Instant } from './instant.ts'
import type { RecordType } from './resource.ts'
import { type TenantTable, tenantTable } from './tenant-table.ts'
import type { Token } from './token.ts'

/** A record that left a list, so that copies can follow. No personal data. */
export interface Removal {
  id: number
  tenantId: number
  /** The record's type: `RecordType.removal`. */
  resource: string
  recordId: number
  reason: 'deleted' | 'moved' | 'consent_withdrawn'
  /** When the record left; stamped as changes of records are. */
  updatedAt: Instant
}

/** Returns the tenant's list of removals, to which cursors belong. */
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
 * Reads the removals of records of these types. Omits a record that is in its list now, whatever happened before: so
 * removals never contradict lists, and a copy can apply both in the order in which it received them.
 *
 * @param token from whose list of tenants a removed tenant must be absent
 */
export const removalsOf = (types: readonly RecordType[], token: Token): TenantTable<Removal> =>
  tenantTable<Removal>({
    name: 'removal',
    table: 'gateway.removal',
    row: removalRow,
    among: { column: 'resource', values: types.map(({ removal }) => removal) },
    // `is null` and not `not exists`: for that, the planner may read whole tables into a hash.
    filter: sql => {
      const found = types.reduce(
        (cases, type) => sql`${cases} ${sql.unsafe(`when '${type.removal}'`)} then (${type.findRemoved(sql, token)})`,
        sql`case resource`,
      )
      return types.length > 0 ? sql`${found} end is null` : sql`true`
    },
  })
