import { arrayText, type Sql } from '../db/connect.ts'
import { rowCodec } from '../db/row-codec.ts'
import { groupByProduct, type OfProduct } from './product.ts'

/** A category of products. */
export interface Category {
  id: number
  slug: string
  title: string
  sortOrder: number
}

const categoryRow = rowCodec<Category & OfProduct>({
  productId: ['link.product_id', 'integer'],
  id: ['category.id', 'integer'],
  slug: ['slug', 'text'],
  title: ['title', 'text'],
  sortOrder: ['sort_order', 'integer'],
})

/**
 * Lists the categories of products. A category belongs to the product's tenant.
 *
 * @param products rows that the caller may see
 * @returns for each product, in order, its categories by `sort_order`, then `id` (R16)
 */
export async function listCategoriesOf(
  sql: Sql,
  products: readonly { id: number; tenantId: number }[],
): Promise<Category[][]> {
  const ids = products.map(({ id }) => id)
  const [found] = await sql`
    select /* category.of_products */ string_agg(row, '') from (
      select ${categoryRow.select(sql)} as row
      from unnest(${arrayText(ids)}::text::bigint[],
                  ${arrayText(products.map(({ tenantId }) => tenantId))}::text::bigint[]) as product(id, tenant_id)
      join product_category link on link.product_id = product.id
      join category on category.id = link.category_id and category.tenant_id = product.tenant_id
      order by link.product_id, sort_order, category.id
    ) page`.raw()
  return groupByProduct(ids, categoryRow.read(found?.[0]))
}
