/** The lists of a copy, and their names in paths, in removals and in messages. */
import { type RemovalResource, type TenantListName, tenantListNames, tenantLists } from '#client'

/** The name of a list: the last segment of its export path. */
export type ListName = 'tenants' | TenantListName

/** All lists; the lists of a tenant are in the order in which a round reads them. */
export const listNames: readonly ListName[] = ['tenants', ...tenantListNames]

/** Returns the `resource` that GraphQL removals use for a list. */
export const removalResourceOf = (list: ListName): RemovalResource =>
  list === 'tenants' ? 'TENANT' : tenantLists[list].removal

/** Returns the name of a list in sentences. */
export const listTitle = (list: ListName): string => list.replaceAll('-', ' ')

/** Returns the number of records of a list, as text for a sentence. */
export function describeCount(count: number, list: ListName): string {
  const title = listTitle(list)
  return `${count.toLocaleString('en')} ${count === 1 ? title.slice(0, -1) : title}`
}

/** Returns the name of a list's table in a database. */
export const tableOf = (list: ListName): string => list.replaceAll('-', '_')
