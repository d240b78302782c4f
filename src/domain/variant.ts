import { arrayText, type Sql } from '../db/connect.ts'
import type { Instant } from './instant.ts'
import { groupByProduct } from './product.ts'

/** A form in which a product is sold. */
export interface Variant {
  id: number
  slug: string
  title: string
  price: number | null
  salePrice: number | null
  currency: string
  isMonetary: boolean
  sortOrder: number
  updatedAt: Instant | null
}

/**
 * The variants of products that their tenant's caller has already been given.
 *
 * @returns for each product id, in order, its variants by `sort_order`, then `id` (R16)
 */
export async function listVariantsOf(sql: Sql, productIds: readonly number[]): Promise<Variant[][]> {
  const rows = await sql<(Variant & { productId: number })[]>`
    select /* variant.of_products */ product_id as "productId", id, slug, title, price, sale_price as "salePrice", currency,
           is_monetary as "isMonetary", sort_order as "sortOrder", updated_at as "updatedAt"
    from variant
    where product_id = any(${arrayText(productIds)}::text::bigint[])
    order by product_id, sort_order, id`
  return groupByProduct(productIds, rows)
}

/** @returns the lowest of the variants' amounts, null where none has one (R16) */
export function lowest(variants: readonly Variant[], amount: 'price' | 'salePrice'): number | null {
  return variants.reduce<number | null>((found, variant) => {
    const value = variant[amount]
    return value !== null && (found === null || value < found) ? value : found
  }, null)
}
