import { column, type RowOf } from '../../db/column.ts'
import { rowCodec } from '../../db/row-codec.ts'
import { arrayText, type Sql } from '../../db/sql.ts'
import { groupByProduct } from './product.ts'

/** The columns of a category. */
export const categoryColumns = {
  productId: column('link.product_id', 'bigint'),
  id: column('category.id', 'bigint', 'The numeric id, as in v1.'),
  slug: column('slug', 'text', 'Its name in URLs.'),
  title: column('title', 'text', 'The title.'),
  sortOrder: column('sort_order', 'integer', 'Its place among its siblings, lowest first.'),
}

/** A category of products. */
export type Category = RowOf<typeof categoryColumns>

const categoryRow = rowCodec<Category>(categoryColumns)

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
