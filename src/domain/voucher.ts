import type { Instant } from './instant.ts'
import { defineResource } from './resource.ts'

/** A purchased voucher with its balance. Dates without a time are `YYYY-MM-DD`. */
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

/** Purchased vouchers (contract, operations 4 and 5). */
export const vouchers = defineResource<PurchasedVoucher>({
  type: 'PurchasedVoucher',
  name: 'voucher',
  table: 'purchased_voucher',
  permissions: ['view_vouchers', 'view_orders'],
  columns: {
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
  },
})
