import { createLoadingCache } from '../../async/loading-cache.ts'
import { mapMaybePromise } from '../../async/maybe-promise.ts'
import { arrayText, type Sql } from '../../db/sql.ts'
import { notFound, tenantNotAuthorised } from '../errors.ts'
import { firstFillError, lastStamp } from '../sync/server-time.ts'
import type { Token } from './token.ts'

/** The id of a tenant, then the ids of the tenants above it, the root last. */
export type TenantPath = readonly number[]

export type TenantScope = ReturnType<typeof createTenantScope>

/**
 * The maximum age of a cached path, in milliseconds. When a tenant moves out of a grant, the token loses access to the
 * tenant within this time.
 */
const pathLifetime = 500

/** Creates the scope, which decides which tenants a token may access (R19, R21). All requests share it. */
export function createTenantScope(sql: Sql) {
  const paths = createLoadingCache<number, TenantPath>(ids => findPaths(sql, ids), pathLifetime)

  /** Returns the path of a tenant, possibly from the cache; null when the tenant does not exist. */
  const findPath = (tenantId: number): TenantPath | null | Promise<TenantPath | null> =>
    paths.peek(tenantId) ?? paths.load(tenantId)

  /** Returns whether a grant of the token includes the tenant whose path is given. */
  function covers(token: Token, path: TenantPath): boolean {
    const grants = grantsOf(token)
    return path.some((id, steps) => (steps === 0 ? grants.has(id) : grants.get(id) === true))
  }

  async function requireFresh(token: Token, tenantId: number): Promise<void> {
    const path = await paths.reload(tenantId)
    if (!path) throw notFound('tenant')
    if (!covers(token, path)) throw tenantNotAuthorised()
  }

  return {
    findPath,
    /** Returns whether the tenant exists and the token is authorised for it, possibly by a cached path. */
    includes: (token: Token, tenantId: number): boolean | Promise<boolean> =>
      mapMaybePromise(findPath(tenantId), path => path !== null && covers(token, path)),
    /**
     * Requires that the token is authorised for the tenant. Denies access only by data that is read after the call.
     * Otherwise a client could see a new tenant in the list, be denied access to it, delete its copy of the tenant, and
     * not read the tenant again (docs/guides/keeping-in-step.md).
     *
     * @returns undefined, and no promise, when a cached path shows that the token is authorised
     * @throws `NOT_FOUND` when there is no such tenant, `FORBIDDEN` when the token is not authorised for it (R19)
     */
    require: (token: Token, tenantId: number): void | Promise<void> =>
      mapMaybePromise(findPath(tenantId), path => {
        if (!path || !covers(token, path)) return requireFresh(token, tenantId)
      }),
  }
}

const grantsOfTokens = new WeakMap<Token, ReadonlyMap<number, boolean>>()

/**
 * Returns the `withDescendants` of each grant, by tenant id. The map is cached, because a token may have thousands of
 * grants.
 */
function grantsOf(token: Token): ReadonlyMap<number, boolean> {
  const cached = grantsOfTokens.get(token)
  if (cached) return cached
  const grants = new Map(token.tenants.map(grant => [grant.tenantId, grant.withDescendants]))
  grantsOfTokens.set(token, grants)
  return grants
}

/** @throws `UNAVAILABLE` during the first fill, because a missing tenant may only not be written yet */
async function findPaths(sql: Sql, ids: readonly number[]): Promise<(TenantPath | null)[]> {
  const rows = await sql<{ path: number[] | null; isFilling: boolean }[]>`
    select /* tenant.paths */ array_to_json(path) as path, ${lastStamp(sql)} is null as "isFilling"
    from unnest(${arrayText(ids)}::text::bigint[]) with ordinality as wanted(tenant_id, place)
    left join gateway.tenant_path using (tenant_id) order by place`
  if (rows[0]?.isFilling) throw firstFillError()
  return rows.map(({ path }) => path)
}
