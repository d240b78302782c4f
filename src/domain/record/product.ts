import { column, nullable, type RowOf } from '../../db/row/column.ts'
import { createRowCodec } from '../../db/row/row-codec.ts'
import { arrayText, type RecordSql } from '../../db/sql.ts'
import { inRange, isTrue, ofCurrency, ofRecord } from '../search/field.ts'
import { byAmount, byValue } from '../search/order.ts'
import { searchedText } from '../search/text-field.ts'
import { defineResource } from './resource.ts'

const columns = {
  id: column('id', 'bigint', 'The numeric id, as in v1.'),
  tenantId: column('tenant_id', 'bigint'),
  slug: column('slug', 'text', 'Its name in URLs.'),
  title: column('title', 'text', 'The title.'),
  summary: nullable('summary', 'text', 'A short description.'),
  descriptionHtml: nullable('description_html', 'text', 'Its full description as HTML. Sanitize before you show it.'),
  currency: column('currency', 'text', 'The ISO 4217 code of its amounts.'),
  price: nullable('price', 'decimal', 'The price.'),
  salePrice: nullable('sale_price', 'decimal', 'The price while it is on sale.'),
  monetaryValue: nullable('monetary_value', 'decimal', 'The monetary value of one of its vouchers.'),
  isMonetary: column('is_monetary', 'boolean', 'True when its value is an amount of money.'),
  allowPartRedeem: column('allow_part_redeem', 'boolean', 'True when its vouchers can be redeemed in parts.'),
  validityType: nullable('validity_type', 'text', 'How its validity is calculated.'),
  validityMonths: nullable('validity_months', 'integer', 'The number of months for which it is valid.'),
  redemptionInfo: nullable('redemption_info', 'text', 'How to redeem it.'),
  sortOrder: column('sort_order', 'integer', 'Its place among its siblings, lowest first.'),
  imageUrl: nullable('image_url', 'text', 'The URL of its main image.'),
  imageUrls: column('array_to_json(image_urls)', 'textArray', 'The URLs of all its images.'),
  updatedAt: column('updated_at', 'instant', 'When it, one of its categories or one of its variants last changed.'),
}

/** A product of the catalog that is sold as a voucher. */
export type Product = RowOf<typeof columns>

const byPrice = byAmount('price', 'By `price`. Products without a price of their own come last.')

/** Catalog vouchers, for operations 2 and 3 of the contract. */
export const products = defineResource<Product>({
  noun: 'catalog voucher',
  description: 'A product that is sold as a voucher.',
  name: 'product',
  permissions: ['view_vouchers'],
  chunkSize: 500,
  columns,
  search: {
    filters: {
      categoryId: ofRecord(
        'category',
        'category_ids',
        'Products of this category: its numeric or its global id.',
        (sql, id) => sql`category_ids @> array[${id}::bigint]`,
      ),
      isMonetary: isTrue('is_monetary', 'True: products whose value is an amount of money. False: all others.'),
      currency: ofCurrency(byPrice, 'Products of this currency: its ISO 4217 code.'),
      price: inRange('amounts', byPrice, 'Products whose own price lies in this range. Needs `currency`.'),
      text: searchedText('Products with this text in their title.', {
        expression: 'gateway.folded(title)',
        fields: { TITLE: { property: 'title', description: 'The `title`.' } },
      }),
    },
    orders: {
      TITLE: byValue('gateway.text_order(title) collate "C"', 'text', 'By `title`.'),
      PRICE: byPrice,
      SORT_ORDER: byValue('sort_order', 'integer', 'By `sortOrder`.'),
    },
  },
})

const productRow = createRowCodec<Product>(columns)

/**
 * Returns the products with the ids, in the order of the ids; null for an id without a product. The products can belong
 * to any tenant, so the caller must check the grants of their `tenantId`.
 */
export async function findProducts(sql: RecordSql, ids: readonly number[]): Promise<(Product | null)[]> {
  const [rows] = await sql`
    select /* product.find_by_ids */ string_agg(${productRow.select(sql)}, '')
    from gateway.product where id = any(${arrayText(ids)}::text::bigint[])`.raw()
  const found = new Map(productRow.read(rows?.[0]).map(row => [row.id, row]))
  return ids.map(id => found.get(id) ?? null)
}

/** Returns one array per product id, in the order of the ids: the rows of the product, in the order of `rows`. */
export function groupByProduct<Row extends { productId: number }>(
  productIds: readonly number[],
  rows: readonly Row[],
): Row[][] {
  const byProduct = new Map<number, Row[]>(productIds.map(id => [id, []]))
  for (const row of rows) byProduct.get(row.productId)?.push(row)
  return productIds.map(id => byProduct.get(id) ?? [])
}
