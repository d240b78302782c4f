import { arrayText, type Sql } from '../../db/sql.ts'
import { rowOrderCondition } from '../paging/page.ts'
import { parseIdentifier } from '../value/identifier.ts'
import { byName } from './tenant.ts'

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

export interface TreeTenant extends TenantLabel {
  hasChildren: boolean
}

/** A part of the children of one tenant, or of the tenants without a parent. */
interface LevelRange {
  /** Null: the tenants without a parent. */
  parentId: number | null
  /** The tenant that the part follows; null: it begins with the first. A deleted tenant is ignored. */
  afterId: number | null
  size: number
}

/** A range of the children of a tenant, by name. */
export interface TreeChildren {
  tenants: TreeTenant[]
  /** The number of children after the range. */
  more: number
}

export interface TenantMatches {
  /** The first of them. */
  tenants: PlacedTenant[]
  count: number
  /** The number of them that are not chosen. */
  unchosen: number
}

const matchesLength = 30

/** Returns the names of the ancestors of the tenant of the relation `tenant`, as a column. */
const above = (sql: Sql) => sql`
  array_to_json(array(
    select ancestor.name
    from gateway.tenant_path, unnest(path) with ordinality as place(id, step) join gateway.tenant ancestor using (id)
    where tenant_path.tenant_id = tenant.id and step > 1 order by step desc)) as above`

/** Returns the existing tenants with these ids, by name. */
export async function placeTenants(sql: Sql, ids: readonly number[]): Promise<PlacedTenant[]> {
  return sql<PlacedTenant[]>`
    select /* tenant_tree.place */ id, name, subdomain, ${above(sql)} from gateway.tenant
    where id = any(${arrayText(ids)}::text::bigint[]) order by gateway.text_order(name) collate "C", id`
}

/** Returns the condition for a tenant that a search finds: by part of its name or subdomain, in any case, or by its id. */
const isFound = (sql: Sql, search: string) => sql`
  (id = ${parseIdentifier(search)}
   or gateway.has_text(name, ${search})
   or gateway.has_text(subdomain, ${search}))`

/** Finds tenants. Tenants whose name begins with the text come first. */
export async function searchTenants(sql: Sql, search: string, chosen: readonly number[]): Promise<TenantMatches> {
  const rows = await sql<(PlacedTenant & { count: number; unchosen: number })[]>`
    with /* tenant_tree.search */ chosen as (
      select id, name, subdomain, count(*) over () as count,
             count(*) filter (where id not in (select unnest(${arrayText(chosen)}::text::bigint[]))) over () as unchosen,
             row_number() over (order by id = ${parseIdentifier(search)} desc,
                                         not starts_with(gateway.folded(name), gateway.folded(${search})),
                                         gateway.text_order(name) collate "C", id) as rank
      from gateway.tenant where ${isFound(sql, search)}
      order by rank limit ${matchesLength}
    )
    select id, name, subdomain, ${above(sql)}, count, unchosen from chosen tenant order by rank`
  const { count = 0, unchosen = 0 } = rows[0] ?? {}
  return { tenants: rows.map(({ id, name, subdomain, above }) => ({ id, name, subdomain, above })), count, unchosen }
}

/** Returns the ids of at most `limit` tenants that a search finds. */
export async function listFoundTenants(sql: Sql, search: string, limit: number): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`
    select /* tenant_tree.found */ id from gateway.tenant where ${isFound(sql, search)}
    order by gateway.text_order(name) collate "C", id limit ${limit}`
  return rows.map(({ id }) => id)
}

/** Returns the ids of at most `limit` tenants without a parent. */
export async function listRootTenants(sql: Sql, limit: number): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`
    select /* tenant_tree.roots */ id from gateway.tenant where parent_id is null limit ${limit}`
  return rows.map(({ id }) => id)
}

/**
 * Lists children of tenants.
 *
 * @param ranges a range for each parent
 * @returns the children in the range, by parent id; parents without such children are absent
 */
export async function listTreeChildren(
  sql: Sql,
  ranges: readonly LevelRange[],
): Promise<Map<number | null, TreeChildren>> {
  const roots = ranges.find(({ parentId }) => parentId === null) ?? { afterId: null, size: 0 }
  const below = ranges.filter(({ parentId }) => parentId !== null)
  const rows = await sql<(TreeTenant & { parentId: number | null; count: number })[]>`
    select /* tenant_tree.levels */ "parentId", id, name, subdomain, count,
           exists (select from gateway.tenant below where below.parent_id = level.id) as "hasChildren"
    from (
      (select null::bigint as "parentId", id, name, subdomain, count(*) over () as count
       from gateway.tenant where parent_id is null
         and (${rowOrderCondition(sql, byName, 'after', sql`${roots.afterId}::bigint`)}) is not false
       order by gateway.text_order(name) collate "C", id limit ${roots.size})
      union all
      (select parent_id, child.*
       from unnest(${arrayText(below.map(({ parentId }) => parentId))}::text::bigint[],
                   ${arrayText(below.map(({ afterId }) => afterId))}::text::bigint[],
                   ${arrayText(below.map(({ size }) => size))}::text::bigint[]) as wanted(parent_id, after_id, size)
       cross join lateral (
         select id, name, subdomain, count(*) over () as count
         from gateway.tenant where tenant.parent_id = wanted.parent_id
           and (${rowOrderCondition(sql, byName, 'after', sql`after_id`)}) is not false
         order by gateway.text_order(name) collate "C", id limit wanted.size) as child)
    ) as level
    order by gateway.text_order(name) collate "C", id`
  const levels = new Map<number | null, TreeChildren>()
  for (const { parentId, count, ...tenant } of rows) {
    const level = levels.get(parentId) ?? { tenants: [], more: count }
    level.tenants.push(tenant)
    level.more -= 1
    levels.set(parentId, level)
  }
  return levels
}
