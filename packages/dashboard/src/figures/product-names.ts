// The names of products: their titles, and a suffix that distinguishes equal titles.
import type { DashboardProductsQuery } from '../operations.ts'

/** The maximum number of products that are compared: as many as the API ranks. */
export const maxProducts = 100

/** A product with its sales in the period. */
type ProductSales = NonNullable<
  NonNullable<NonNullable<DashboardProductsQuery['tenant']>['figures']>['topProducts']
>[number]

/** A product with a name that no other product of the list has. */
export interface NamedProduct extends ProductSales {
  name: string
}

/** Returns the title of a product. A deleted product may have none. */
const titleOf = ({ title, productId }: Pick<ProductSales, 'title' | 'productId'>): string =>
  title ?? `Product ${productId}`

/** Adds a suffix, if there is one, to each name that several products have. */
const addSuffixes = (names: readonly string[], additions: readonly (string | undefined)[]): string[] =>
  names.map((name, index) => {
    const isAlone = names.indexOf(name) === names.lastIndexOf(name)
    const addition = additions[index]
    return isAlone || addition === undefined ? name : `${name} · ${addition}`
  })

/**
 * Names products by their titles. Products with the same title get the names of their tenants, and within one tenant
 * their ids.
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
