import { column, type RowOf } from '../../db/row/column.ts'
import { createRowCodec } from '../../db/row/row-codec.ts'
import { arrayText, type RecordSql } from '../../db/sql.ts'
import { groupByProduct } from './product.ts'

export const categoryColumns = {
  productId: column('product.id', 'bigint'),
  id: column('category.id', 'bigint', 'The numeric id, as in v1.'),
  slug: column('category.slug', 'text', 'Its name in URLs.'),
  title: column('category.title', 'text', 'The title.'),
  sortOrder: column('category.sort_order', 'integer', 'Its place among its siblings, lowest first.'),
}

export type Category = RowOf<typeof categoryColumns>

const categoryRow = createRowCodec<Category>(categoryColumns)

/**
 * Lists the categories of products. A category belongs to the tenant of its products.
 *
 * @param products rows that the caller may see
 * @returns for each product, in order, its categories by `sort_order`, then `id` (R16)
 */
export async function listCategoriesOf(sql: RecordSql, products: readonly { id: number }[]): Promise<Category[][]> {
  const ids = products.map(({ id }) => id)
  const [found] = await sql`
    select /* category.of_products */ string_agg(row, '') from (
      select ${categoryRow.select(sql)} as row
      from gateway.product, unnest(category_ids) as category_id
      join gateway.category on category.id = category_id
      where product.id = any(${arrayText(ids)}::text::bigint[]) and category.tenant_id = product.tenant_id
      order by product.id, category.sort_order, category.id
    ) page`.raw()
  return groupByProduct(ids, categoryRow.read(found?.[0]))
}
