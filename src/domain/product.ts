import type { Instant } from './instant.ts'
import { defineResource } from './resource.ts'

/** A catalog voucher: a product that is sold as a voucher. */
export interface Product {
  id: number
  tenantId: number
  slug: string
  title: string
  summary: string | null
  descriptionHtml: string | null
  currency: string
  price: number | null
  salePrice: number | null
  monetaryValue: number | null
  isMonetary: boolean
  allowPartRedeem: boolean
  validityType: string | null
  validityMonths: number | null
  redemptionInfo: string | null
  sortOrder: number
  imageUrl: string | null
  imageUrls: string[]
  updatedAt: Instant | null
}

/** Catalog vouchers (contract, operations 2 and 3). */
export const products = defineResource<Product>({
  type: 'CatalogVoucher',
  name: 'product',
  table: 'product',
  permissions: ['view_vouchers'],
  unstampedFirst: true,
  columns: {
    id: ['id', 'integer'],
    tenantId: ['tenant_id', 'integer'],
    slug: ['slug', 'text'],
    title: ['title', 'text'],
    summary: ['summary', 'text'],
    descriptionHtml: ['description_html', 'text'],
    currency: ['currency', 'text'],
    price: ['price', 'decimal'],
    salePrice: ['sale_price', 'decimal'],
    monetaryValue: ['monetary_value', 'decimal'],
    isMonetary: ['is_monetary', 'boolean'],
    allowPartRedeem: ['allow_part_redeem', 'boolean'],
    validityType: ['validity_type', 'text'],
    validityMonths: ['validity_months', 'integer'],
    redemptionInfo: ['redemption_info', 'text'],
    sortOrder: ['sort_order', 'integer'],
    imageUrl: ['image_url', 'text'],
    imageUrls: ['array_to_json(image_urls)', 'json'],
    updatedAt: ['updated_at', 'instant'],
  },
})

/** A row that belongs to a product. */
export interface OfProduct {
  productId: number
}

/** Returns for each product id, in order, the rows that belong to it, in the order of the rows. */
export function groupByProduct<Row extends OfProduct>(productIds: readonly number[], rows: readonly Row[]): Row[][] {
  const byProduct = new Map<number, Row[]>(productIds.map(id => [id, []]))
  for (const row of rows) byProduct.get(row.productId)?.push(row)
  return productIds.map(id => byProduct.get(id) ?? [])
}
