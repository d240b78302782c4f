import { arrayText, type Sql } from '../../db/sql.ts'
import { parseIdentifier } from '../value/identifier.ts'

/** A tenant with its place in the tree. */
export interface PlacedTenant {
  id: number
  name: string
  subdomain: string | null
  /** The names of its ancestors, root first. */
  above: string[]
}

interface FoundTenant extends PlacedTenant {
  hasChildren: boolean
}

/** A search by part of the name or subdomain, or by the id; without a text, for the tenants directly below one. */
export interface TenantSearch {
  text: string
  /** Null for the tenants without a parent. */
  parentId: number | null
}

interface TenantMatches {
  /** The first matches. */
  tenants: FoundTenant[]
  count: number
  /** The number of matches that are not chosen. */
  unchosen: number
}

const matchesLength = 30

/** Returns the names of the ancestors of the tenant of the relation `tenant`, as a column. */
const ancestorNames = (sql: Sql) => sql`
  array_to_json(array(
    select ancestor.name
    from gateway.tenant_path, unnest(path) with ordinality as place(id, step) join gateway.tenant ancestor using (id)
    where tenant_path.tenant_id = tenant.id and step > 1 order by step desc)) as above`

/** Returns the existing tenants with these ids, by name. */
export async function placeTenants(sql: Sql, ids: readonly number[]): Promise<PlacedTenant[]> {
  return sql<PlacedTenant[]>`
    select /* tenant_tree.place */ id, name, subdomain, ${ancestorNames(sql)} from gateway.tenant
    where id = any(${arrayText(ids)}::text::bigint[]) order by gateway.text_order(name) collate "C", id`
}

/** Returns the condition for the tenants that a search finds, in upper or lower case. */
function isFound(sql: Sql, { text, parentId }: TenantSearch) {
  if (text === '') return parentId === null ? sql`parent_id is null` : sql`parent_id = ${parentId}`
  return sql`(id = ${parseIdentifier(text)} or gateway.has_text(name, ${text}) or gateway.has_text(subdomain, ${text}))`
}

/** Finds tenants. Tenants whose name begins with the text come first. */
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
