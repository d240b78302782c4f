import { arrayText, type Sql } from '../../db/sql.ts'
import { parseIdentifier } from '../value/identifier.ts'

/** A tenant with its position in the tree. */
export interface PlacedTenant {
  id: number
  name: string
  subdomain: string | null
  /** The names of the tenant's ancestors, the root first. */
  above: string[]
}

interface FoundTenant extends PlacedTenant {
  hasChildren: boolean
}

/**
 * A search for tenants by a part of the name or subdomain, or by the id. With an empty text, a search for the tenants
 * directly below `parentId`.
 */
export interface TenantSearch {
  text: string
  /** Used only with an empty text; null finds the tenants without a parent. */
  parentId: number | null
}

interface TenantMatches {
  /** The first matches. */
  tenants: FoundTenant[]
  count: number
  /** The number of matches that the administrator has not chosen yet. */
  unchosen: number
}

const matchesLength = 30

/** Returns the SQL of the column `above`: the names of the ancestors of a row of the relation `tenant`. */
const ancestorNames = (sql: Sql) => sql`
  array_to_json(array(
    select ancestor.name
    from gateway.tenant_path, unnest(path) with ordinality as place(id, step) join gateway.tenant ancestor using (id)
    where tenant_path.tenant_id = tenant.id and step > 1 order by step desc)) as above`

/** Returns the tenants with these ids, sorted by name. Ids without a tenant are left out. */
export async function placeTenants(sql: Sql, ids: readonly number[]): Promise<PlacedTenant[]> {
  return sql<PlacedTenant[]>`
    select /* tenant_tree.place */ id, name, subdomain, ${ancestorNames(sql)} from gateway.tenant
    where id = any(${arrayText(ids)}::text::bigint[]) order by gateway.text_order(name) collate "C", id`
}

/** Returns the condition that a search finds a tenant. Upper and lower case are equal. */
function isFound(sql: Sql, { text, parentId }: TenantSearch) {
  if (text === '') return parentId === null ? sql`parent_id is null` : sql`parent_id = ${parentId}`
  return sql`(id = ${parseIdentifier(text)} or gateway.has_text(name, ${text}) or gateway.has_text(subdomain, ${text}))`
}

/** Finds tenants. The tenant with the id comes first, then tenants whose names begin with the text. */
export async function searchTenants(sql: Sql, search: TenantSearch, chosen: readonly number[]): Promise<TenantMatches> {
  const { text } = search
  const rows = await sql<(FoundTenant & { count: number; unchosen: number })[]>`
    with /* tenant_tree.search */ chosen as (
      select id, name, subdomain, count(*) over () as count,
             count(*) filter (where id not in (select unnest(${arrayText(chosen)}::text::bigint[]))) over () as unchosen,
             row_number() over (order by id = ${parseIdentifier(text)} desc,
                                         not starts_with(gateway.folded(name), gateway.folded(${text})),
                                         gateway.text_order(name) collate "C", id) as rank
      from gateway.tenant where ${isFound(sql, search)}
      order by rank limit ${matchesLength}
    )
    select id, name, subdomain, ${ancestorNames(sql)}, count, unchosen,
           exists (select from gateway.tenant below where below.parent_id = tenant.id) as "hasChildren"
    from chosen tenant order by rank`
  const { count = 0, unchosen = 0 } = rows[0] ?? {}
  return { tenants: rows, count, unchosen }
}

/** Returns the ids of at most `limit` tenants that a search finds. */
export async function listFoundTenants(sql: Sql, search: TenantSearch, limit: number): Promise<number[]> {
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
