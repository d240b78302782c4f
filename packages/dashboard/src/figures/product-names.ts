// Gives products unique names: their titles, with a suffix for equal titles.
import type { DashboardProductsQuery } from '../operations.ts'

/** The maximum number of products in the table, which is the maximum that the API ranks. */
export const maxProducts = 100

/** A product with its sales in the period. */
type ProductSales = NonNullable<
  NonNullable<NonNullable<DashboardProductsQuery['tenant']>['figures']>['topProducts']
>[number]

/** A product with a name that no other product of the list has. */
export interface NamedProduct extends ProductSales {
  name: string
}

/** Returns the title of a product, or its id when a deleted product has no title. */
const titleOf = ({ title, productId }: Pick<ProductSales, 'title' | 'productId'>): string =>
  title ?? `Product ${productId}`

/** Adds the suffix of the same index, if it is defined, to each name that occurs more than once. */
const addSuffixes = (names: readonly string[], additions: readonly (string | undefined)[]): string[] =>
  names.map((name, index) => {
    const isAlone = names.indexOf(name) === names.lastIndexOf(name)
    const addition = additions[index]
    return isAlone || addition === undefined ? name : `${name} · ${addition}`
  })

/**
 * Gives each product a unique name: its title, with the name of the tenant when several products have the same title,
 * and with the id when they also have the same tenant.
 */
export function nameProducts(products: readonly ProductSales[]): NamedProduct[] {
  const withTenants = addSuffixes(
    products.map(titleOf),
    products.map(({ product }) => product?.tenant?.name),
  )
  const names = addSuffixes(
    withTenants,
    products.map(({ productId }) => String(productId)),
  )
  return products.map((product, index) => ({ ...product, name: names[index] ?? titleOf(product) }))
}
