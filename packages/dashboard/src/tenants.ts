// The tree of the tenants that are already loaded.
import type { DashboardTenantFragment } from './operations.ts'
import { foldCase, searchWords } from './search-words.ts'

export interface TreeTenant {
  /** The numeric id. */
  id: string
  parentId: string | null
  name: string
  timeZone: string
}

/** Tenants by their numeric ids. */
export type TenantMap = ReadonlyMap<string, TreeTenant>

/** Converts a tenant of an answer to a tenant of the tree. */
export const toTreeTenant = ({ databaseId, parentId, name, timeZone }: DashboardTenantFragment): TreeTenant => ({
  id: String(databaseId),
  parentId: parentId === null ? null : String(parentId),
  name,
  timeZone,
})

/** Returns the loaded ancestors of a tenant, beginning with the root. */
export function listAncestors(tenants: TenantMap, id: string): TreeTenant[] {
  const above: TreeTenant[] = []
  const visited = new Set([id])
  for (let parentId = tenants.get(id)?.parentId; parentId; parentId = tenants.get(parentId)?.parentId) {
    const parent = tenants.get(parentId)
    // Stops at a cycle, in which no tenant is a root.
    if (!parent || visited.has(parentId)) break
    visited.add(parentId)
    above.unshift(parent)
  }
  return above
}

/**
 * Returns whether a tenant is the tenant `above`, or may be one of its descendants. Also true when the path of the
 * tenant is not loaded, because its ancestors are then unknown.
 *
 * @param roots the tenants at which the tree begins
 */
export function mayBeWithin(tenants: TenantMap, roots: readonly string[], id: string, above: string): boolean {
  const path = [...listAncestors(tenants, id).map(tenant => tenant.id), id]
  return path.includes(above) || !roots.includes(path[0] ?? '')
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

/** Returns the loaded children of each tenant by the id of the tenant. The children are sorted by name. */
export function listChildren(tenants: TenantMap): ReadonlyMap<string, readonly TreeTenant[]> {
  const children = new Map<string, TreeTenant[]>()
  for (const tenant of tenants.values()) {
    if (tenant.parentId === null) continue
    const siblings = children.get(tenant.parentId)
    if (siblings) siblings.push(tenant)
    else children.set(tenant.parentId, [tenant])
  }
  for (const siblings of children.values()) siblings.sort(compareByName)
  return children
}

/** Compares tenants by name, in the viewer's language. */
export const compareByName = (one: TreeTenant, other: TreeTenant): number => collator.compare(one.name, other.name)

/**
 * Returns the loaded tenants whose names contain all words of a text, or whose id is the text. Names that begin with
 * the first word come first.
 */
export function searchTenants(tenants: TenantMap, text: string): TreeTenant[] {
  const words = searchWords(text)
  const [first = ''] = words
  const startsFirst = ({ name }: TreeTenant) => (foldCase(name).startsWith(first) ? 0 : 1)
  return [...tenants.values()]
    .filter(({ id, name }) => id === words.join() || words.every(word => foldCase(name).includes(word)))
    .sort((one, other) => startsFirst(one) - startsFirst(other) || compareByName(one, other))
}
