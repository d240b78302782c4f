/** The token with which an administrator opens the dashboard. */
import type { Sql } from '../../db/sql.ts'
import type { Actor } from '../administrator/audit.ts'
import { badInput } from '../errors.ts'
import { listRootTenants } from '../tenant/tree.ts'
import { createToken } from '../token/lifecycle.ts'
import type { TenantGrant } from '../token/token.ts'

/** The maximum lifetime of the token, in hours. The token ends earlier when the session of the administrator ends. */
export const dashboardHours = 8

/**
 * The rate limit of the token, in quota units per minute. A view of all figures costs some 25 units (R28), and people
 * open several views per minute.
 */
const ratePerMinute = 1200

/** The maximum number of root tenants that a token gets when the administrator has chosen no tenants. */
const maxRootTenants = 2000

interface DashboardAccess {
  /** The session of the administrator. The token ends when this session ends. */
  sessionId: string
  /** The tenants that the administrator has chosen; empty for all tenants. */
  tenants: TenantGrant[]
  /** True when the token may read personal data: the permission that the marketing figures need. */
  includesMarketing: boolean
  /** The rate limit of the service for tokens without their own limit. */
  defaultRate: number
}

/**
 * Creates the token.
 *
 * @param idempotencyKey all calls with the same key create one token, and only the first gets its secret
 * @throws `BAD_USER_INPUT` with the error of `tenants` when there are no tenants, or too many
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
    rateLimit: defaultRate < ratePerMinute ? ratePerMinute : null,
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
  const roots = await listRootTenants(sql, maxRootTenants + 1)
  if (roots.length === 0) throw badInput({ tenants: ['There are no tenants yet: the platform creates them.'] })
  if (roots.length > maxRootTenants)
    throw badInput({
      tenants: [`There are more than ${maxRootTenants.toLocaleString('en')} trees of tenants: choose some.`],
    })
  return roots.map(tenantId => ({ tenantId, withDescendants: true }))
}
