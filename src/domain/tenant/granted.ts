import { arrayText, type Fragment, type Sql } from '../../db/connect.ts'
import type { Token } from '../token/token.ts'

/**
 * Returns the texts of two arrays: the tenants that a token's grants name, and those of them whose grants include all
 * tenants below (R21).
 */
export function grantedBy(token: Token): { named: string; withDescendants: string } {
  const named = token.tenants.map(grant => grant.tenantId)
  const withDescendants = token.tenants.filter(grant => grant.withDescendants).map(grant => grant.tenantId)
  return { named: arrayText(named), withDescendants: arrayText(withDescendants) }
}

/** Returns the relation `granted(id)` of all tenants that a token is granted (R21). It belongs after `with recursive`. */
export function allGranted(sql: Sql, token: Token): Fragment {
  const { named, withDescendants } = grantedBy(token)
  return sql`
    below as (
      select id from tenant where id = any(${withDescendants}::text::bigint[])
      union
      select tenant.id from tenant join below on tenant.parent_id = below.id
    ), granted as (
      select id from below union all select unnest(${named}::text::bigint[])
    )`
}

/**
 * Returns the relation `visible(id, top)` of the tenants that a token is granted at or below a tenant (R21). It belongs
 * after `with recursive`. `top` is the highest tenant on the way down of which a grant includes all below; null for a
 * tenant that is granted by itself.
 *
 * A loop, which appliers can make, ends by `union`, and a tenant keeps one of its tops.
 */
export function grantedAtOrBelow(sql: Sql, token: Token, tenantId: number): Fragment {
  const { named, withDescendants } = grantedBy(token)
  return sql`
    below(id, top) as (
      select id, case when gateway.tenant_path(id) && ${withDescendants}::text::bigint[] then id end
      from tenant where id = ${tenantId}::bigint
      union
      select tenant.id, coalesce(top, case when tenant.id = any(${withDescendants}::text::bigint[]) then tenant.id end)
      from below join tenant on tenant.parent_id = below.id
    ), visible as materialized (
      select id, min(top) as top from below
      where top is not null or id = any(${named}::text::bigint[])
      group by id
    )`
}
