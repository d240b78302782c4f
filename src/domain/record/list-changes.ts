/**
 * Finds the lists that changed (`gateway.list_head`, I12 of docs/projection.md), so that a client reads only changed
 * lists.
 */
import { hash } from 'node:crypto'
import { arrayText, type Fragment, type RecordSql } from '../../db/sql.ts'
import type { SyncState } from '../sync/full-pass.ts'
import { firstFillError, lastStamp } from '../sync/server-time.ts'
import { grantedBy } from '../tenant/granted.ts'
import type { Token } from '../token/token.ts'
import { beforeAll, type Instant, instantText } from '../value/instant.ts'

export interface ListChange {
  tenantId: number
  /** The type of the list's records: `record` of `RecordType`. */
  record: string
  /** The stamp of the last change of the list. */
  since: Instant
}

/** The lists that changed, the earliest stamp first. */
export interface Changes extends SyncState {
  lists: ListChange[]
  /** The instant up to which `lists` has all changes. */
  serverTime: Instant
  /** True when there may be later changes, which were not read. */
  hasMore: boolean
}

interface ChangesRequest {
  /** Selects the lists that changed after this instant; null for all lists. */
  after: Instant | null
  /** The tenants whose lists are wanted, for which the token must be authorised; null for all tenants of the token. */
  tenantIds: readonly number[] | null
  records: readonly string[]
}

/**
 * The maximum number of heads, of all tenants, that an answer reads in the order of the stamps, for one quota unit
 * (R31).
 */
export const maxHeads = 2_000

/** The maximum number of tenants whose heads are looked up by tenant. */
const maxTenants = 100

/**
 * Reads which lists of a token have changed. For a few tenants, the statement looks the heads up by tenant. For more
 * tenants, it reads the heads of all tenants in the order of the stamps, and then filters the heads by tenant. So the
 * statement is fast when nothing has changed, even for a token with many tenants.
 *
 * @throws `UNAVAILABLE` during the first fill
 */
export async function readChanges(sql: RecordSql, token: Token, request: ChangesRequest): Promise<Changes> {
  const { after, tenantIds, records } = request
  const few = tenantIds ?? findFewTenants(token)
  const [changes] = await sql<Changes[]>`
    with /* changes.read */ head as materialized (
      select tenant_id, record, changed_at
      from ${few ? headsRelation(sql, few) : sql`gateway.list_head`}
      where changed_at > ${after ?? beforeAll}::text::timestamptz
      -- Heads of a repair have the same stamp.
      order by changed_at fetch first ${sql.unsafe(`${maxHeads}`)} rows with ties
    ), bound as (
      select max(changed_at) as reached, count(*) >= ${maxHeads}::integer as "hasMore" from head
    )
    select ${instantText(sql, sql`case when "hasMore" then least(reached, stamp) else stamp end`)} as "serverTime",
           "hasMore", epoch, nullif(removals_complete_since, '-infinity') as "removalsCompleteSince",
           (select coalesce(json_agg(json_build_object('tenantId', tenant_id, 'record', record, 'since', since)), '[]') from (
              select tenant_id, record, ${instantText(sql, sql`changed_at`)} as since from head
              where record::text = any(${arrayText(records)}::text::text[]) and ${few ? sql`true` : isGranted(sql, token)}
              order by changed_at
            ) changed) as lists
    from bound, gateway.sync_state, (select ${lastStamp(sql)} as stamp) last where stamp is not null`
  if (!changes) throw firstFillError()
  return changes
}

/**
 * Returns the tenants of a token when there are at most `maxTenants` and no grant includes descendants; otherwise null.
 */
const findFewTenants = ({ tenants }: Token): number[] | null =>
  tenants.length <= maxTenants && tenants.every(({ withDescendants }) => !withDescendants)
    ? tenants.map(({ tenantId }) => tenantId)
    : null

/** Returns the relation of the heads of tenants. `offset 0` makes PostgreSQL look the heads up by key. */
const headsRelation = (sql: RecordSql, tenantIds: readonly number[]): Fragment => sql`
  (select distinct unnest(${arrayText(tenantIds)}::text::bigint[]) as id) named
  cross join lateral (select * from gateway.list_head where tenant_id = named.id offset 0) of_tenant`

/** Returns the condition that a token is authorised for the tenant of a head (R21), also for a deleted tenant. */
function isGranted(sql: RecordSql, token: Token): Fragment {
  const { named, withDescendants } = grantedBy(token)
  return sql`(tenant_id in (select unnest(${named}::text::bigint[])) or exists (
    select from gateway.tenant_path cross join unnest(path) above
    where tenant_path.tenant_id = head.tenant_id and above in (select unnest(${withDescendants}::text::bigint[]))))`
}

/** Returns a hash of the tenants and the permissions of a token, which changes when one of them changes. */
export function hashAccess({ permissions, tenants }: Token): string {
  const grants = tenants.map(({ tenantId, withDescendants }) => `${tenantId} ${withDescendants}`)
  return hash('sha256', JSON.stringify([grants.sort(), [...permissions].sort()]), 'base64url').slice(0, 22)
}
