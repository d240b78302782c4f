import { arrayText, type Fragment, type RecordSql } from '../../db/sql.ts'
import type { Token } from '../token/token.ts'

/**
 * Returns two PostgreSQL arrays as texts: the ids of all tenants that a token's grants name, and the ids of those whose
 * grants include all tenants below (R21).
 */
export function grantedBy(token: Token): { named: string; withDescendants: string } {
  const named = token.tenants.map(grant => grant.tenantId)
  const withDescendants = token.tenants.filter(grant => grant.withDescendants).map(grant => grant.tenantId)
  return { named: arrayText(named), withDescendants: arrayText(withDescendants) }
}

/**
 * Returns the relation `visible(id, top)` of the tenants for which a token is authorised (R21), for a `with recursive`.
 * No other function walks down the tree. `union` ends the walk when the tree has a loop.
 *
 * @param highest the tenant at which the walk begins; each tenant is then in the relation once, and `top` is its
 * highest ancestor whose grant includes all tenants below (null without such an ancestor). Null for all tenants of the
 * token, without `top`
 */
export function visibleTenants(sql: RecordSql, token: Token, highest: number | null): Fragment {
  const { named, withDescendants } = grantedBy(token)
  const [start, top] =
    highest === null
      ? [sql`id in (select id from whole)`, sql`0::bigint`]
      : [
          sql`id = ${highest}::bigint`,
          sql`case when (select path from gateway.tenant_path where tenant_id = id) && ${withDescendants}::text::bigint[] then id end`,
        ]
  // The arrays are relations, because PostgreSQL would otherwise parse the text of an array again for each tenant.
  return sql`
    whole as materialized (
      select unnest(${withDescendants}::text::bigint[]) as id
    ), named as materialized (
      select unnest(${named}::text::bigint[]) as id
    ), below(id, top) as (
      select id, ${top} from gateway.tenant where ${start}
      union
      select tenant.id, coalesce(top, case when tenant.id in (select id from whole) then tenant.id end)
      from below join gateway.tenant on tenant.parent_id = below.id
    ), visible(id, top) as ${
      highest === null
        ? sql`(select id, top from below union all select id, null from named)`
        : sql`materialized (
            select id, min(top) from below where top is not null or id in (select id from named) group by id
          )`
    }`
}
