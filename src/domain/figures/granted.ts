/** Whose rows a read of figures adds: SQL of the tenants that are granted, and of the rollups that hold their sums. */
import type { Fragment, Sql } from '../../db/connect.ts'
import { visibleTenants } from '../tenant/granted.ts'
import type { Token } from '../token/token.ts'
import type { FiguresRequest } from './figure.ts'

/**
 * Returns the relations of the tenants.
 *
 * - `granted(id, top)`: the tenants whose records count. `top` is the highest tenant on the way down to it of which a grant
 *   includes all below (R21), or the tenant itself; null for one with tenants below that is granted by itself
 * - `rolled(ancestor_id)`: the tenants whose rollups are read
 * - `single(tenant_id)`: the tenants whose entries are read, because no rollup includes them
 * - `today(id, day)`: the calendar day now at each of all these tenants, as the rollups know the tree; `days(first, last)`:
 *   the least and the greatest of them
 */
export const grantedTenants = (sql: Sql, token: Token, request: FiguresRequest): Fragment => sql`
  ${request.withDescendants ? visibleTenants(sql, token, request.tenantId) : alone(sql, request.tenantId)},
  granted as materialized (
    -- A large tenant has a rollup of its own.
    select id, coalesce(top, case when not exists (select from gateway.figure_member
                                                   where ancestor_id = id and tenant_id <> id) then id end) as top
    from visible
  ), rolled as materialized (
    select distinct top as ancestor_id from granted where exists (select from gateway.figure_member where ancestor_id = top)
  ), single as materialized (
    select id as tenant_id from granted where not exists (select from rolled where ancestor_id = top)
  ), today as materialized (
    select id, (now() at time zone time_zone)::date as day from tenant
    where id in (select tenant_id from single
                 union all select tenant_id from rolled join gateway.figure_member using (ancestor_id))
  ), days as materialized (
    select min(day) as first, max(day) as last from today
  )`

/** The scope has checked that the token is authorised for it. */
const alone = (sql: Sql, tenantId: number): Fragment => sql`
  visible as materialized (
    select ${tenantId}::bigint as id, null::bigint as top
  )`
