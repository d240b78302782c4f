import { rowCodec } from '../db/row-codec.ts'
import type { ListIdentity } from './cursor.ts'
import type { Instant } from './instant.ts'
import { tenantTable } from './tenant-table.ts'

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

export const catalogVoucherList = (tenantId: number): ListIdentity => ({ name: 'catalogVouchers', tenantId })

const productRow = rowCodec<Product>({
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
})

/** Products (contract, operations 2 and 3). A null stamp comes first (R15). */
export const products = tenantTable<Product>({
  name: 'product',
  table: 'product',
  row: productRow,
  stamp: "coalesce(updated_at, '-infinity')",
})

/** What belongs to a product. */
export interface OfProduct {
  productId: number
}

/** @returns for each product id, in order, the rows that belong to it, in theirs */
export function groupByProduct<Row extends OfProduct>(productIds: readonly number[], rows: readonly Row[]): Row[][] {
  const byProduct = new Map<number, Row[]>(productIds.map(id => [id, []]))
  for (const row of rows) byProduct.get(row.productId)?.push(row)
  return productIds.map(id => byProduct.get(id) ?? [])
}
