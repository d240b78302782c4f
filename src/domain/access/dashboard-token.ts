/** The token with which an administrator opens the dashboard. */
import type { Sql } from '../../db/sql.ts'
import type { Actor } from '../administrator/audit.ts'
import { badInput } from '../errors.ts'
import { listRootTenants } from '../tenant/tree.ts'
import { createToken } from '../token/lifecycle.ts'
import type { TenantGrant } from '../token/token.ts'

/** The token expires after this many hours, or when the session ends. */
export const dashboardHours = 8

/** Operations a minute. A view of all figures counts as some 25 (R28), and people open several views in a minute. */
const rate = 1200

/** The maximum number of root tenants for which a token is created without a choice. */
const maxRoots = 2000

interface DashboardAccess {
  /** The session of the administrator, with which the token ends. */
  sessionId: string
  /** All tenants when empty. */
  tenants: TenantGrant[]
  /** True when the token may read personal data, which the figures of marketing need. */
  includesMarketing: boolean
  /** The rate of a token without a rate limit. */
  defaultRate: number
}

/**
 * Creates the token.
 *
 * @param idempotencyKey all calls with the same key create one token, and only the first gets its secret
 * @throws `BAD_USER_INPUT` with the error of `tenants` when there are none, or too many
 */
export async function createDashboardToken(
  sql: Sql,
  actor: Actor,
  { sessionId, tenants, includesMarketing, defaultRate }: DashboardAccess,
  idempotencyKey: string,
): Promise<{ secret: string | null }> {
  const input = {
    name: `Dashboard of ${actor.name}`.slice(0, 200),
    contact: null,
    rateLimit: defaultRate < rate ? rate : null,
    permissions: [
      'view_vouchers' as const,
      'view_orders' as const,
      ...(includesMarketing ? ['export_customer_information' as const] : []),
    ],
    tenants: tenants.length > 0 ? tenants : await grantAll(sql),
    expiresAt: new Date(Date.now() + dashboardHours * 3_600_000),
    sessionId,
  }
  return createToken(sql, actor, input, idempotencyKey)
}

async function grantAll(sql: Sql): Promise<TenantGrant[]> {
  const roots = await listRootTenants(sql, maxRoots + 1)
  if (roots.length === 0) throw badInput({ tenants: ['There are no tenants yet: the platform creates them.'] })
  if (roots.length > maxRoots)
    throw badInput({
      tenants: [`There are more than ${maxRoots.toLocaleString('en')} trees of tenants: choose some.`],
    })
  return roots.map(tenantId => ({ tenantId, withDescendants: true }))
}
