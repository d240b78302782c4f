/** The lists that a copy holds, and what each is called in paths, in removals and in messages. */

/** The name of a list: the last segment of its export path. */
export type ListName = 'tenants' | 'catalog-vouchers' | 'purchased-vouchers' | 'marketing-signups'

/** The name of a list that each tenant has. */
export type TenantListName = Exclude<ListName, 'tenants'>

/** The lists of a tenant, in the order in which a round reads them. */
export const tenantLists: readonly TenantListName[] = ['catalog-vouchers', 'purchased-vouchers', 'marketing-signups']

/** All lists. */
export const listNames: readonly ListName[] = ['tenants', ...tenantLists]

/** The resource of a list's records in GraphQL removals (`RemovalResource`). */
export const removalResources = {
  tenants: 'TENANT',
  'catalog-vouchers': 'CATALOG_VOUCHER',
  'purchased-vouchers': 'PURCHASED_VOUCHER',
  'marketing-signups': 'MARKETING_SIGNUP',
} as const satisfies Record<ListName, string>

/** The name of a list in sentences. */
export const listTitles: Record<ListName, string> = {
  tenants: 'tenants',
  'catalog-vouchers': 'catalog vouchers',
  'purchased-vouchers': 'purchased vouchers',
  'marketing-signups': 'marketing signups',
}

/** Returns how many records of a list there are, as a sentence says it. */
export function describeCount(count: number, list: ListName): string {
  const title = listTitles[list]
  return `${count.toLocaleString('en')} ${count === 1 ? title.slice(0, -1) : title}`
}

/** The table of a list in a database. */
export const tableOf = (list: ListName): string => list.replaceAll('-', '_')
