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

/**
 * Returns the common table expressions of the tenants that a token is granted at or below a tenant (R21): `granted`
 * with the column `tenant_id`. They belong after `with recursive`.
 *
 * A loop, which appliers can make, ends by `union`.
 */
export function grantedAtOrBelow(sql: Sql, token: Token, tenantId: number): Fragment {
  const { named, withDescendants } = grantedBy(token)
  return sql`
    above as (
      select id, parent_id from tenant where id = ${tenantId}::bigint
      union
      select tenant.id, tenant.parent_id from above join tenant on tenant.id = above.parent_id
    ), below(id, is_granted) as (
      select ${tenantId}::bigint, exists (select from above where id = any(${withDescendants}::text::bigint[]))
      union
      select tenant.id, is_granted or tenant.id = any(${withDescendants}::text::bigint[])
      from below join tenant on tenant.parent_id = below.id
    ), granted(tenant_id) as (
      select distinct id from below where is_granted or id = any(${named}::text::bigint[])
    )`
}
