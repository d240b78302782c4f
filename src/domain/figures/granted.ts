/** Whose rows a read of figures adds: SQL of the tenants that are granted, and of the rollups that hold their sums. */
import type { Fragment, Sql } from '../../db/connect.ts'
import { grantedBy } from '../granted-tenants.ts'
import type { Token } from '../token.ts'
import type { FiguresRequest } from './figure.ts'

/**
 * Returns the relations of the tenants.
 *
 * - `granted(id, top)`: the tenants whose records count. `top` is the highest tenant on the way down to it of which a grant
 *   includes all below (R21); null: it is granted by itself.
 * - `source(tenant_id, with_descendants, sign)`: the rows of rollups that, added up, are those of the granted tenants. The
 *   sums of a top are corrected by the tenants that moved since they were made.
 * - `today(id, day)`: the calendar day now at each granted tenant; `days(first, last)`: the least and the greatest of them.
 */
export const grantedTenants = (sql: Sql, token: Token, request: FiguresRequest): Fragment => sql`
  ${request.withDescendants ? withDescendants(sql, token, request.tenantId) : alone(sql, request.tenantId)},
  source as materialized (
    select top as tenant_id, true as with_descendants, 1 as sign
    from (select distinct top from granted) tops
    where exists (select from gateway.figure_member where ancestor_id = top)
    union all
    select id, false, 1 from granted
    where not exists (select from gateway.figure_member where ancestor_id = granted.top and tenant_id = granted.id)
    union all
    select member.tenant_id, false, -1 from gateway.figure_member member
    where ancestor_id in (select top from granted)
      and not exists (select from granted where granted.id = member.tenant_id and granted.top = member.ancestor_id)
  ), today as materialized (
    select granted.id, (now() at time zone time_zone)::date as day from granted join tenant on tenant.id = granted.id
  ), days as materialized (
    select min(day) as first, max(day) as last from today
  )`

/** The scope has checked that the token is authorised for it. */
const alone = (sql: Sql, tenantId: number): Fragment => sql`
  granted as materialized (
    select ${tenantId}::bigint as id, null::bigint as top
  )`

// While an applier writes, the tree may contain a loop: `union` ends the walk, and a tenant keeps one of its tops.
function withDescendants(sql: Sql, token: Token, tenantId: number): Fragment {
  const { named, withDescendants: whole } = grantedBy(token)
  return sql`
  above as (
    select id, parent_id from tenant where id = ${tenantId}::bigint
    union
    select tenant.id, tenant.parent_id from above join tenant on tenant.id = above.parent_id
  ), below as (
    select id, case when exists (select from above where id = any(${whole}::text::bigint[])) then id end as top
    from tenant where id = ${tenantId}::bigint
    union
    select tenant.id, coalesce(below.top, case when tenant.id = any(${whole}::text::bigint[]) then tenant.id end)
    from below join tenant on tenant.parent_id = below.id
  ), granted as materialized (
    select distinct on (id) id, top from below
    where top is not null or id = any(${named}::text::bigint[])
    order by id, top
  )`
}
