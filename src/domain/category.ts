import { arrayText, type Sql } from '../db/connect.ts'
import { groupByProduct } from './product.ts'

/** What a product is filed under. */
export interface Category {
  id: number
  slug: string
  title: string
  sortOrder: number
}

/**
 * The categories of products that their tenant's caller has already been given.
 *
 * @returns for each product id, in order, its categories by `sort_order`, then `id` (R16)
 */
export async function listCategoriesOf(sql: Sql, productIds: readonly number[]): Promise<Category[][]> {
  const rows = await sql<(Category & { productId: number })[]>`
    select /* category.of_products */ link.product_id as "productId", category.id, slug, title, sort_order as "sortOrder"
    from product_category link join category on category.id = link.category_id
    where link.product_id = any(${arrayText(productIds)}::text::bigint[])
    order by link.product_id, sort_order, category.id`
  return groupByProduct(productIds, rows)
}
