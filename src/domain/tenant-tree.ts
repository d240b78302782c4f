import { arrayText, type Sql } from '../db/connect.ts'
import { parseIdentifier } from './identifier.ts'

/** A tenant as administrators find it. */
export interface TenantLabel {
  id: number
  name: string
  subdomain: string | null
}

/** A tenant with its place in the tree. */
export interface PlacedTenant extends TenantLabel {
  /** The names of its ancestors, root first. */
  above: string[]
}

/** A tenant in the tree. */
export interface TreeTenant extends TenantLabel {
  hasChildren: boolean
}

/** The first children of one tenant, by name. */
export interface TreeLevel {
  tenants: TreeTenant[]
  /** How many children there are in all. */
  count: number
}

/** The most children that a level lists. A search finds the others. */
const levelLength = 100

const matchesLength = 30

/** Returns the relation `placed(id, above)`: the names of the ancestors of each tenant of the relation `chosen(id)`. */
const places = (sql: Sql) => sql`
  above_chosen as (
    select id, parent_id, 0 as steps, null::text as name from tenant where id in (select id from chosen)
    union all
    select above_chosen.id, tenant.parent_id, above_chosen.steps + 1, tenant.name
    from above_chosen join tenant on tenant.id = above_chosen.parent_id
  ) cycle id, parent_id set repeated using visited, placed as (
    select id, coalesce(json_agg(name order by steps desc) filter (where steps > 0), '[]') as above
    from above_chosen where not repeated group by id
  )`

/** Returns the tenants of these ids that exist, by name. */
export async function placeTenants(sql: Sql, ids: readonly number[]): Promise<PlacedTenant[]> {
  return sql<PlacedTenant[]>`
    with /* tenant_tree.place */ recursive chosen as (
      select unnest(${arrayText(ids)}::text::bigint[]) as id
    ), ${places(sql)}
    select tenant.id, name, subdomain, above from placed join tenant on tenant.id = placed.id order by lower(name), id`
}

/**
 * Finds tenants.
 *
 * @param search part of a name or of a subdomain, in any case, or an id
 * @returns the first matches, those that begin with the text before the others, and the count of all
 */
export async function searchTenants(sql: Sql, search: string): Promise<{ tenants: PlacedTenant[]; count: number }> {
  const id = parseIdentifier(search)
  const rows = await sql<(PlacedTenant & { count: number })[]>`
    with /* tenant_tree.search */ recursive chosen as (
      select id, count(*) over () as count,
             row_number() over (order by id = ${id} desc,
                                         position(lower(${search}) in lower(name)) <> 1, lower(name), id) as rank
      from tenant
      where id = ${id}
         or position(lower(${search}) in lower(name)) > 0
         or position(lower(${search}) in lower(subdomain)) > 0
      order by rank limit ${matchesLength}
    ), ${places(sql)}
    select tenant.id, name, subdomain, above, count
    from chosen join placed on placed.id = chosen.id join tenant on tenant.id = chosen.id
    order by rank`
  return { tenants: rows.map(({ count, ...tenant }) => tenant), count: rows[0]?.count ?? 0 }
}

/** Returns the ids of at most `limit` tenants without a parent. */
export async function listRootTenants(sql: Sql, limit: number): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`
    select /* tenant_tree.roots */ id from tenant where parent_id is null limit ${limit}`
  return rows.map(({ id }) => id)
}

/**
 * Lists the roots, and the children of tenants.
 *
 * @returns the roots under the key null, and the children of each parent that has any
 */
export async function listTreeLevels(sql: Sql, parentIds: readonly number[]): Promise<Map<number | null, TreeLevel>> {
  const rows = await sql<(TreeTenant & { parentId: number | null; count: number })[]>`
    select /* tenant_tree.levels */ "parentId", id, name, subdomain, count,
           exists (select from tenant below where below.parent_id = level.id) as "hasChildren"
    from (
      (select null::bigint as "parentId", id, name, subdomain, count(*) over () as count
       from tenant where parent_id is null order by lower(name), id limit ${levelLength})
      union all
      (select parent_id, child.*
       from unnest(${arrayText(parentIds)}::text::bigint[]) as wanted(parent_id)
       cross join lateral (
         select id, name, subdomain, count(*) over () as count
         from tenant where tenant.parent_id = wanted.parent_id order by lower(name), id limit ${levelLength}) as child)
    ) as level
    order by lower(name), id`
  const levels = new Map<number | null, TreeLevel>()
  for (const { parentId, count, ...tenant } of rows) {
    const level = levels.get(parentId)
    if (level) level.tenants.push(tenant)
    else levels.set(parentId, { tenants: [tenant], count })
  }
  return levels
}
