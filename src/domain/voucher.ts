import type { Sql } from '../db/connect.ts'
import { packed } from '../db/packed.ts'
import type { ListIdentity } from './cursor.ts'
import type { Instant } from './instant.ts'
import { type Page, type Range, toPage, within } from './page.ts'

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

const voucherRow = packed<PurchasedVoucher>({
  id: ['id', 'integer'],
  tenantId: ['tenant_id', 'integer'],
  reference: ['reference', 'text'],
  initialBalance: ['initial_balance', 'decimal'],
  currentBalance: ['current_balance', 'decimal'],
  purchaseValue: ['purchase_value', 'decimal'],
  currency: ['currency', 'text'],
  isMonetary: ['is_monetary', 'boolean'],
  allowPartRedeem: ['allow_part_redeem', 'boolean'],
  void: ['void', 'boolean'],
  orderId: ['order_id', 'integer'],
  orderItemId: ['order_item_id', 'integer'],
  productId: ['product_id', 'integer'],
  productTitle: ['product_title', 'text'],
  productSlug: ['product_slug', 'text'],
  parentProductId: ['parent_product_id', 'integer'],
  parentProductTitle: ['parent_product_title', 'text'],
  purchaseTimestamp: ['purchase_timestamp', 'instant'],
  dateIssued: ['date_issued', 'instant'],
  dateValidStart: ['date_valid_start', 'date'],
  dateValidEnd: ['date_valid_end', 'date'],
  dateScheduled: ['date_scheduled', 'instant'],
  redemptionStatus: ['redemption_status', 'text'],
  voidReason: ['void_reason', 'text'],
  voidDate: ['void_date', 'instant'],
  createdAt: ['created_at', 'instant'],
  updatedAt: ['updated_at', 'instant'],
})

/** @returns a page of the tenant's purchased vouchers (contract, operation 4) */
export async function listVouchers(sql: Sql, tenantId: number, range: Range): Promise<Page<PurchasedVoucher>> {
  const [found] = await sql`
    select /* voucher.list */ string_agg(row, '') from (
      select ${voucherRow.select(sql)} as row from purchased_voucher
      where tenant_id = ${tenantId} and ${within(sql, range)}
    ) page`.raw()
  return toPage(range, voucherRow.read(found?.[0]))
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
  const [found] = await sql`
    select /* voucher.find */ ${voucherRow.select(sql)} as row from purchased_voucher where tenant_id = ${tenantId} and id = ${id}`.raw()
  return voucherRow.read(found?.[0])[0] ?? null
}
