import { arrayText, type Sql } from '../db/connect.ts'
import { packed } from '../db/packed.ts'
import { groupByProduct, type OfProduct } from './product.ts'

/** What a product is filed under. */
export interface Category {
  id: number
  slug: string
  title: string
  sortOrder: number
}

const categoryRow = packed<Category & OfProduct>({
  productId: ['link.product_id', 'integer'],
  id: ['category.id', 'integer'],
  slug: ['slug', 'text'],
  title: ['title', 'text'],
  sortOrder: ['sort_order', 'integer'],
})

/**
 * The categories of products that their tenant's caller has already been given.
 *
 * @returns for each product id, in order, its categories by `sort_order`, then `id` (R16)
 */
export async function listCategoriesOf(sql: Sql, productIds: readonly number[]): Promise<Category[][]> {
  const [found] = await sql`
    select /* category.of_products */ string_agg(row, '') from (
      select ${categoryRow.select(sql)} as row
      from product_category link join category on category.id = link.category_id
      where link.product_id = any(${arrayText(productIds)}::text::bigint[])
      order by link.product_id, sort_order, category.id
    ) page`.raw()
  return groupByProduct(productIds, categoryRow.read(found?.[0]))
}
