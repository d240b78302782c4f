import { column, nullable, type RowOf } from '../../db/row/column.ts'
import { inRange, ofCurrency, ofRecord } from '../search/field.ts'
import { byAmount, byNullable } from '../search/order.ts'
import { searchedText } from '../search/text-field.ts'
import { defineResource } from './resource.ts'
import { byEnd, status, validOn, validUntil } from './voucher-filter.ts'

const columns = {
  id: column('id', 'bigint', 'The numeric id, as in v1.'),
  tenantId: column('tenant_id', 'bigint'),
  reference: column('reference', 'text', 'The reference that is printed on it. Other vouchers may have the same one.'),
  initialBalance: nullable('initial_balance', 'decimal', 'The balance when it was purchased.'),
  currentBalance: nullable('current_balance', 'decimal', 'The balance that is left.'),
  purchaseValue: nullable('purchase_value', 'decimal', 'The price that was paid for it.'),
  currency: nullable('currency', 'text', 'The ISO 4217 code of its amounts.'),
  isMonetary: column('is_monetary', 'boolean', 'True when its value is an amount of money.'),
  allowPartRedeem: column('allow_part_redeem', 'boolean', 'True when it can be redeemed in parts.'),
  void: column('void', 'boolean', 'True when it was voided.'),
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
  // The column has no description, because the field of the schema needs a permission (R32).
  recipient: nullable('recipient_name', 'text'),
}

/** A purchased voucher. `date` columns are `YYYY-MM-DD`. */
type PurchasedVoucher = RowOf<typeof columns>

const byPurchase = byNullable('purchase_timestamp', 'timestamptz', 'By `purchaseTimestamp`.')
const byBalance = byAmount('current_balance', 'By `currentBalance`.')

/** Purchased vouchers, for operations 4 and 5 of the contract. */
export const vouchers = defineResource<PurchasedVoucher>({
  noun: 'purchased voucher',
  description: 'A purchased voucher with its balance.',
  name: 'voucher',
  permissions: ['view_vouchers', 'view_orders'],
  columns,
  search: {
    entries: {
      table: 'gateway.voucher_entry',
      keys: ['purchase_timestamp', 'ends_on', 'date_valid_start', 'sold_product_id'],
      texts: 'words, recipient',
      others: 'updated_at, state, currency, current_balance',
    },
    filters: {
      status,
      validOn,
      validUntil,
      purchased: inRange('instants', byPurchase, 'Vouchers that were purchased in this range.'),
      productId: ofRecord(
        'catalog voucher',
        'sold_product_id',
        'Vouchers of this product or of one of its variants: the numeric or the global id of the product.',
        (sql, id) => sql`sold_product_id = ${id}::bigint`,
      ),
      currency: ofCurrency(byBalance, 'Vouchers of this currency: its ISO 4217 code.'),
      balance: inRange('amounts', byBalance, 'Vouchers whose balance lies in this range. Needs `currency`.'),
      text: searchedText(
        'Vouchers with this text in their reference, in the title of their product or, with `redeem_vouchers`, in the name ' +
          'of their recipient.',
        {
          expression: 'words',
          fields: {
            REFERENCE: { property: 'reference', description: 'The `reference`.' },
            PRODUCT_TITLE: { property: 'productTitle', description: 'The `productTitle`.' },
          },
        },
        {
          expression: 'recipient',
          permission: 'redeem_vouchers',
          fields: {
            RECIPIENT_NAME: {
              property: 'recipient',
              description: 'The `recipientName`: searched only with `redeem_vouchers`.',
            },
          },
        },
      ),
    },
    orders: { PURCHASED_AT: byPurchase, VALID_UNTIL: byEnd, BALANCE: byBalance },
  },
})

/**
 * Returns the id of the product that was sold; for a sold variant, the id of its product. Null when none is recorded.
 */
export const soldProductId = ({ parentProductId, productId }: PurchasedVoucher): number | null =>
  parentProductId ?? productId
