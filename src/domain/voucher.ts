import { column, nullable, type RowOf } from '../db/column.ts'
import { defineResource } from './resource.ts'

const columns = {
  id: column('id', 'bigint', 'The numeric id, as in v1.'),
  tenantId: column('tenant_id', 'bigint'),
  reference: column('reference', 'text', 'The reference that is printed on it; unique without regard to case.'),
  initialBalance: nullable('initial_balance', 'decimal', 'The balance when it was purchased.'),
  currentBalance: nullable('current_balance', 'decimal', 'The balance that is left.'),
  purchaseValue: nullable('purchase_value', 'decimal', 'The price that was paid for it.'),
  currency: nullable('currency', 'text', 'The ISO 4217 code of its amounts.'),
  isMonetary: column('is_monetary', 'boolean', 'Whether its value is an amount of money.'),
  allowPartRedeem: column('allow_part_redeem', 'boolean', 'Whether it can be redeemed in parts.'),
  void: column('void', 'boolean', 'Whether it was voided.'),
  orderId: nullable('order_id', 'bigint', 'The numeric id of the order.'),
  orderItemId: nullable('order_item_id', 'bigint', 'The numeric id of the item of that order.'),
  productId: nullable('product_id', 'bigint', 'The numeric id of the product or of the variant that was purchased.'),
  productTitle: nullable('product_title', 'text', 'The title of the product at the time of purchase.'),
  productSlug: nullable('product_slug', 'text', 'The slug of the product at the time of purchase.'),
  parentProductId: nullable('parent_product_id', 'bigint', 'The numeric id of the product of the purchased variant.'),
  parentProductTitle: nullable('parent_product_title', 'text', 'The title of that product at the time of purchase.'),
  purchaseTimestamp: nullable('purchase_timestamp', 'instant', 'When it was purchased.'),
  dateIssued: nullable('date_issued', 'instant', 'When it was issued.'),
  dateValidStart: nullable('date_valid_start', 'date', "The first day on which it is valid in its tenant's time zone."),
  dateValidEnd: nullable('date_valid_end', 'date', "The last day on which it is valid in its tenant's time zone."),
  dateScheduled: nullable('date_scheduled', 'instant', 'When it is to be sent to its recipient.'),
  redemptionStatus: nullable('redemption_status', 'text', 'The state of its redemption.'),
  voidReason: nullable('void_reason', 'text', 'Why it was voided.'),
  voidDate: nullable('void_date', 'instant', 'When it was voided.'),
  createdAt: column('created_at', 'instant', 'When it was created.'),
  updatedAt: column('updated_at', 'instant', 'When it was last changed.'),
}

/** A purchased voucher with its balance. Dates without a time are `YYYY-MM-DD`. */
export type PurchasedVoucher = RowOf<typeof columns>

/** Purchased vouchers (contract, operations 4 and 5). */
export const vouchers = defineResource<PurchasedVoucher>({
  type: 'PurchasedVoucher',
  description: 'A purchased voucher with its balance.',
  name: 'voucher',
  table: 'purchased_voucher',
  permissions: ['view_vouchers', 'view_orders'],
  columns,
})
