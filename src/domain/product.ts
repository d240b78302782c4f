import type { Sql } from '../db/connect.ts'
import { packed } from '../db/packed.ts'
import type { ListIdentity } from './cursor.ts'
import type { Instant } from './instant.ts'
import { type Page, type Range, toPage, within } from './page.ts'

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

const productRow = packed<Product>({
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

/** @returns a page of the tenant's products (contract, operation 2) */
export async function listProducts(sql: Sql, tenantId: number, range: Range): Promise<Page<Product>> {
  const [found] = await sql`
    select /* product.list */ string_agg(row, '') from (
      select ${productRow.select(sql)} as row from product
      where tenant_id = ${tenantId} and ${within(sql, range, sql`coalesce(updated_at, '-infinity')`)}
    ) page`.raw()
  return toPage(range, productRow.read(found?.[0]))
}

/** @returns how many products the whole list holds */
export async function countProducts(sql: Sql, tenantId: number, updatedSince: Instant | null): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select /* product.count */ count(*) from product
    where tenant_id = ${tenantId} and coalesce(updated_at, '-infinity') >= ${updatedSince ?? '-infinity'}::text::timestamptz`
  return row?.count ?? 0
}

/** @returns the tenant's own product of this id, or null (R20; contract, operation 3) */
export async function findProduct(sql: Sql, tenantId: number, id: number): Promise<Product | null> {
  const [found] = await sql`
    select /* product.find */ ${productRow.select(sql)} as row from product where tenant_id = ${tenantId} and id = ${id}`.raw()
  return productRow.read(found?.[0])[0] ?? null
}

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
