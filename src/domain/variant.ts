import { arrayText, type Sql } from '../db/connect.ts'
import { rowCodec } from '../db/row-codec.ts'
import type { Instant } from './instant.ts'
import { groupByProduct, type OfProduct } from './product.ts'

/** A variant of a product, with its own price. */
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

const variantRow = rowCodec<Variant & OfProduct>({
  productId: ['product_id', 'integer'],
  id: ['id', 'integer'],
  slug: ['slug', 'text'],
  title: ['title', 'text'],
  price: ['price', 'decimal'],
  salePrice: ['sale_price', 'decimal'],
  currency: ['currency', 'text'],
  isMonetary: ['is_monetary', 'boolean'],
  sortOrder: ['sort_order', 'integer'],
  updatedAt: ['updated_at', 'instant'],
})

/**
 * Lists the variants of products.
 *
 * @param productIds products that the caller may see
 * @returns for each product id, in order, its variants by `sort_order`, then `id` (R16)
 */
export async function listVariantsOf(sql: Sql, productIds: readonly number[]): Promise<Variant[][]> {
  const [found] = await sql`
    select /* variant.of_products */ string_agg(row, '') from (
      select ${variantRow.select(sql)} as row from variant
      where product_id = any(${arrayText(productIds)}::text::bigint[])
      order by product_id, sort_order, id
    ) page`.raw()
  return groupByProduct(productIds, variantRow.read(found?.[0]))
}

/** Returns the lowest amount of the variants, null when none has an amount (R16). */
export function lowest(variants: readonly Variant[], amount: 'price' | 'salePrice'): number | null {
  return variants.reduce<number | null>((found, variant) => {
    const value = variant[amount]
    return value !== null && (found === null || value < found) ? value : found
  }, null)
}
