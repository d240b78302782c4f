import type { Sql } from '../db/connect.ts'
import type { ListIdentity } from './cursor.ts'
import type { Instant } from './instant.ts'
import { type Page, type Range, rangeArguments, toPage } from './page.ts'

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

const columns = (sql: Sql) => sql`
  id, tenant_id as "tenantId", slug, title, summary, description_html as "descriptionHtml", currency, price,
  sale_price as "salePrice", monetary_value as "monetaryValue", is_monetary as "isMonetary",
  allow_part_redeem as "allowPartRedeem", validity_type as "validityType", validity_months as "validityMonths",
  redemption_info as "redemptionInfo", sort_order as "sortOrder", image_url as "imageUrl",
  array_to_json(image_urls) as "imageUrls", updated_at as "updatedAt"`

/** @returns a page of the tenant's products (contract, operation 2) */
export async function listProducts(sql: Sql, tenantId: number, range: Range): Promise<Page<Product>> {
  return toPage(
    range,
    await sql<(Product & { serverTime: Instant })[]>`
      select /* product.list */ gateway.noted_horizon() as "serverTime", ${columns(sql)}
      from (values (1)) one left join gateway.product_page(${tenantId}::bigint, ${rangeArguments(sql, range)}) page on true`,
  )
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
  const [row] = await sql<Product[]>`
    select /* product.find */ ${columns(sql)} from product where tenant_id = ${tenantId} and id = ${id}`
  return row ?? null
}

/** @returns for each product id, in order, the rows that belong to it, in theirs */
export function groupByProduct<Row extends { productId: number }>(
  productIds: readonly number[],
  rows: readonly Row[],
): Row[][] {
  const byProduct = new Map<number, Row[]>(productIds.map(id => [id, []]))
  for (const row of rows) byProduct.get(row.productId)?.push(row)
  return productIds.map(id => byProduct.get(id) ?? [])
}
