import { column, nullable, type RowOf } from '../../db/row/column.ts'
import { createRowCodec } from '../../db/row/row-codec.ts'
import { arrayText, type RecordSql } from '../../db/sql.ts'
import { groupByProduct } from './product.ts'

export const variantColumns = {
  productId: column('product_id', 'bigint'),
  id: column('id', 'bigint', 'The numeric id, as in v1.'),
  slug: column('slug', 'text', 'Its name in URLs.'),
  title: column('title', 'text', 'The title.'),
  price: nullable('price', 'decimal', 'The price.'),
  salePrice: nullable('sale_price', 'decimal', 'The price while it is on sale.'),
  currency: column('currency', 'text', 'The ISO 4217 code of its amounts.'),
  isMonetary: column('is_monetary', 'boolean', 'True when its value is an amount of money.'),
  sortOrder: column('sort_order', 'integer', 'Its place among its siblings, lowest first.'),
  updatedAt: nullable('updated_at', 'instant', 'When it was last changed.'),
}

export type Variant = RowOf<typeof variantColumns>

const variantRow = createRowCodec<Variant>(variantColumns)

/**
 * Lists the variants of products.
 *
 * @param products rows that the caller may see
 * @returns for each product, in order, its variants by `sort_order`, then `id` (R16)
 */
export async function listVariantsOf(sql: RecordSql, products: readonly { id: number }[]): Promise<Variant[][]> {
  const ids = products.map(({ id }) => id)
  const [found] = await sql`
    select /* variant.of_products */ string_agg(row, '') from (
      select ${variantRow.select(sql)} as row from gateway.variant
      where product_id = any(${arrayText(ids)}::text::bigint[])
      order by product_id, sort_order, id
    ) page`.raw()
  return groupByProduct(ids, variantRow.read(found?.[0]))
}

/** Returns the lowest amount of the variants; null when no variant has an amount (R16). */
export function lowestAmount(variants: readonly Variant[], amount: 'price' | 'salePrice'): number | null {
  return variants.reduce<number | null>((found, variant) => {
    const value = variant[amount]
    return value !== null && (found === null || value < found) ? value : found
  }, null)
}
