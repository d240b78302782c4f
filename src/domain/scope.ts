import { arrayText, type Sql } from '../db/connect.ts'
import { lacksTenant, notFound } from './errors.ts'
import { createLoadingCache } from './loading-cache.ts'
import { mapMaybePromise } from './maybe-promise.ts'
import type { Token } from './token.ts'

/** A tenant's place in the tree: its own id, then those of the tenants above it, root last. */
type TenantPath = readonly number[]

/** Says which tenants a token may see (R19, R21). */
export interface TenantScope {
  /** @returns the tenant's path, or null when there is no such tenant */
  findPath(tenantId: number): TenantPath | null | Promise<TenantPath | null>
  /** @returns whether one of the token's grants reaches the tenant at the start of this path */
  covers(token: Token, path: TenantPath): boolean
  /**
   * Refuses by what the tables hold after the call: a client that reads in the list of tenants that one has come into
   * its scope, and is then refused, would drop it and not meet it again (docs/syncing.md).
   *
   * @returns at once when a known path covers the tenant
   * @throws `NOT_FOUND` when there is no such tenant, `FORBIDDEN` when the token is not authorised for it (R19)
   */
  require(token: Token, tenantId: number): void | Promise<void>
}

/** How long a path may be out of date, in milliseconds: a tenant that leaves a grant is refused within this time. */
const pathLifetime = 500

/** @returns a scope that every request may share */
export function createTenantScope(sql: Sql): TenantScope {
  const paths = createLoadingCache<number, TenantPath>(ids => findPaths(sql, ids), pathLifetime)
  async function requireAnew(token: Token, tenantId: number): Promise<void> {
    const path = await paths.reload(tenantId)
    if (!path) throw notFound('tenant')
    if (!scope.covers(token, path)) throw lacksTenant()
  }
  const scope: TenantScope = {
    findPath: tenantId => paths.peek(tenantId) ?? paths.load(tenantId),
    covers(token, path) {
      const grants = grantsOf(token)
      return path.some((id, steps) => (steps === 0 ? grants.has(id) : grants.get(id) === true))
    },
    require: (token, tenantId) =>
      mapMaybePromise(scope.findPath(tenantId), path => {
        if (!path || !scope.covers(token, path)) return requireAnew(token, tenantId)
      }),
  }
  return scope
}

const grantsOfTokens = new WeakMap<Token, ReadonlyMap<number, boolean>>()

/** @returns whether each grant goes for all below its tenant too; made once for a token, which may have thousands */
function grantsOf(token: Token): ReadonlyMap<number, boolean> {
  const known = grantsOfTokens.get(token)
  if (known) return known
  const made = new Map(token.tenants.map(grant => [grant.tenantId, grant.withDescendants]))
  grantsOfTokens.set(token, made)
  return made
}

// The tree that an applier writes can have a loop for some time: the path then ends where it begins again.
async function findPaths(sql: Sql, ids: readonly number[]): Promise<(TenantPath | null)[]> {
  const rows = await sql<{ id: number; path: number[] }[]>`
    with /* tenant.paths */ recursive above as (
      select id, id as ancestor_id, parent_id, 0 as steps from tenant where id = any(${arrayText(ids)}::text::bigint[])
      union all
      select above.id, tenant.id, tenant.parent_id, above.steps + 1
      from tenant join above on tenant.id = above.parent_id
    ) cycle ancestor_id set repeated using visited
    select id, json_agg(ancestor_id order by steps) as path from above where not repeated group by id`
  const found = new Map(rows.map(row => [row.id, row.path]))
  return ids.map(id => found.get(id) ?? null)
}
