/** Reads the tenants whose records a search includes. */
import { arrayText, type Fragment, type RecordSql } from '../../db/sql.ts'
import { visibleTenants } from '../tenant/granted.ts'
import type { Search } from './search.ts'

/** The tenants of a list with their current calendar days, as the relation `owner`. */
export interface Owners {
  relation: Fragment
  count: number
}

/**
 * Reads the tenants of a search. Several tenants are read only once for all statements of the search, because this read
 * walks down the tree.
 */
export async function readSearchedTenants(sql: RecordSql, { tenantId, descendantsOf }: Search): Promise<Owners> {
  const day = sql`(now() at time zone gateway.time_zone(time_zone))::date as today`
  if (descendantsOf === null) {
    const relation = sql`
      owner as materialized (
        select id as owner_id, ${day} from gateway.tenant where id = ${tenantId}
      )`
    return { relation, count: 1 }
  }
  const found = await sql<{ id: number; today: string }[]>`
    with /* tenant.granted_days */ recursive ${visibleTenants(sql, descendantsOf, tenantId)}
    select id, ${day} from gateway.tenant where id in (select id from visible)`
  const ids = arrayText(found.map(({ id }) => id))
  const days = arrayText(found.map(({ today }) => today))
  const relation = sql`
    owner as materialized (
      select * from unnest(${ids}::text::bigint[], ${days}::text::date[]) as owner(owner_id, today)
    )`
  return { relation, count: found.length }
}
