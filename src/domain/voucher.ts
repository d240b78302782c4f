import type { Sql } from '../db/connect.ts'
import type { ListIdentity } from './cursor.ts'
import type { Instant } from './instant.ts'
import { type Page, type Range, rangeArguments, toPage } from './page.ts'

/** A voucher that was bought, with its balance. Dates without a time are `YYYY-MM-DD`. */
export interface PurchasedVoucher {
  id: number
  tenantId: number
  reference: string
  initialBalance: number | null
  currentBalance: number | null
  purchaseValue: number | null
  currency: string | null
  isMonetary: boolean
  allowPartRedeem: boolean
  void: boolean
  orderId: number | null
  orderItemId: number | null
  productId: number | null
  productTitle: string | null
  productSlug: string | null
  parentProductId: number | null
  parentProductTitle: string | null
  purchaseTimestamp: Instant | null
  dateIssued: Instant | null
  dateValidStart: string | null
  dateValidEnd: string | null
  dateScheduled: Instant | null
  redemptionStatus: string | null
  voidReason: string | null
  voidDate: Instant | null
  createdAt: Instant
  updatedAt: Instant
}

export const purchasedVoucherList = (tenantId: number): ListIdentity => ({ name: 'purchasedVouchers', tenantId })

const columns = (sql: Sql) => sql`
  id, tenant_id as "tenantId", reference, initial_balance as "initialBalance", current_balance as "currentBalance",
  purchase_value as "purchaseValue", currency, is_monetary as "isMonetary", allow_part_redeem as "allowPartRedeem",
  void, order_id as "orderId", order_item_id as "orderItemId", product_id as "productId",
  product_title as "productTitle", product_slug as "productSlug", parent_product_id as "parentProductId",
  parent_product_title as "parentProductTitle", purchase_timestamp as "purchaseTimestamp",
  date_issued as "dateIssued", date_valid_start as "dateValidStart", date_valid_end as "dateValidEnd",
  date_scheduled as "dateScheduled", redemption_status as "redemptionStatus", void_reason as "voidReason",
  void_date as "voidDate", created_at as "createdAt", updated_at as "updatedAt"`

/** @returns a page of the tenant's purchased vouchers (contract, operation 4) */
export async function listVouchers(sql: Sql, tenantId: number, range: Range): Promise<Page<PurchasedVoucher>> {
  return toPage(
    range,
    await sql<(PurchasedVoucher & { serverTime: Instant })[]>`
      select /* voucher.list */ gateway.noted_horizon() as "serverTime", ${columns(sql)}
      from (values (1)) one left join gateway.purchased_voucher_page(${tenantId}::bigint, ${rangeArguments(sql, range)}) page on true`,
  )
}

/** @returns how many purchased vouchers the whole list holds */
export async function countVouchers(sql: Sql, tenantId: number, updatedSince: Instant | null): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select /* voucher.count */ count(*) from purchased_voucher
    where tenant_id = ${tenantId} and updated_at >= ${updatedSince ?? '-infinity'}::text::timestamptz`
  return row?.count ?? 0
}

/** @returns the tenant's own purchased voucher of this id, or null (R20; contract, operation 5) */
export async function findVoucher(sql: Sql, tenantId: number, id: number): Promise<PurchasedVoucher | null> {
  const [row] = await sql<PurchasedVoucher[]>`
    select /* voucher.find */ ${columns(sql)} from purchased_voucher where tenant_id = ${tenantId} and id = ${id}`
  return row ?? null
}
