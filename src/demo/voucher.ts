import { type Day, dayOf, dayText, instantText } from './calendar.ts'
import type { Row } from './copy-rows.ts'
import { decimal, type Minor } from './currency.ts'
import { findImport } from './import-batch.ts'
import { orderOf } from './order.ts'
import { drawPerson } from './person.ts'
import { type DemoProduct, drawProduct, productAt } from './product.ts'
import { Draw } from './random.ts'
import { qrTokenOf, referenceOf } from './voucher-code.ts'
import { drawBalance, drawState } from './voucher-state.ts'
import { timelineOf } from './voucher-timeline.ts'

/** The first voucher is one to show off: the first tenant's, redeemable, with everything that a voucher can have. */
const showpiece = 0

/** The ids of one block of eight rows, and of their orders, lie beyond 32 bits. */
const farBlock = 250

const voidReasons = ['refunded', 'customer_request', 'issued_in_error', 'duplicate', 'payment_disputed', 'lost']

/** @returns the rows of `purchased_voucher` */
export function* voucherRows(count: number, today: Day, productCount: number): Generator<Row> {
  for (let row = 0; row < count; row++) yield voucherRow(row, today, productCount)
}

function voucherRow(row: number, today: Day, productCount: number): Row {
  const draw = new Draw('voucher', row)
  const batch = findImport('voucher', row, today)
  const order = orderOf(row, today, batch)
  const product = productAt(row === showpiece ? 0 : drawProduct(draw, order.seller, productCount))
  const sale = sellOne(product, draw)
  const prospects = { ...sale, age: today - dayOf(order.purchasedAt), allowPartRedeem: product.allowPartRedeem }
  const state = row === showpiece ? 'unredeemed' : drawState(draw, prospects)
  const times = timelineOf(draw, state, order, product, batch?.stamp ?? null, today)
  const balance = drawBalance(draw, state, prospects)
  const sparse = state === 'sparse'
  const shift = Math.floor(row / 8) === farBlock ? 2 ** 32 : 0

  const known = <T>(value: T) => (sparse ? null : value)
  const money = (amount: Minor | null) => (amount === null || sparse ? null : decimal(amount, product.currency))
  const lacks = (percent: number) => sparse || (draw.percent(percent) && row !== showpiece)
  return {
    id: row + 1 + shift,
    tenant_id: order.seller.id,
    reference: referenceOf(row),
    qr_token: lacks(15) ? null : qrTokenOf(row, draw),
    initial_balance: money(sale.worth),
    current_balance: money(balance.left),
    purchase_value: money(sale.paid),
    currency: known(product.currency),
    is_monetary: !sparse && product.offering === null,
    allow_part_redeem: !sparse && product.allowPartRedeem,
    void: state === 'void',
    order_id: known(100_000 + order.number + shift),
    order_item_id: known(500_000 + row + shift),
    product_id: known(sale.id),
    product_title: known(sale.title),
    product_slug: known(sale.slug),
    parent_product_id: known(sale.parentId),
    parent_product_title: known(sale.parentTitle),
    purchase_timestamp: known(instantText(order.purchasedAt)),
    date_issued: orNull(instantText, times.issuedAt),
    date_valid_start: orNull(dayText, times.validFrom),
    date_valid_end: orNull(dayText, times.validTo),
    date_scheduled: orNull(instantText, times.scheduledFor),
    redemption_status: balance.redemptionStatus,
    void_reason: state === 'void' ? draw.pick(voidReasons) : null,
    void_date: orNull(instantText, times.voidedAt),
    recipient_name: lacks(25) ? null : drawPerson(draw, order.seller.country).fullName,
    customer_name: lacks(5) ? null : order.customerName,
    created_at: instantText(times.createdAt),
    updated_at: instantText(times.updatedAt),
  }
}

const orNull = (write: (value: number) => string, value: number | null) => (value === null ? null : write(value))

/** What was bought of a product: one of its variants where it has some. */
interface Sale {
  id: number
  title: string
  slug: string
  parentId: number | null
  parentTitle: string | null
  /** What was put on the voucher; some experiences have no balance. */
  worth: Minor | null
  paid: Minor
}

function sellOne(product: DemoProduct, draw: Draw): Sale {
  const variant = product.variants.length > 0 ? draw.pick(product.variants) : null
  const price = variant?.price ?? product.price ?? 0
  const hasBalance = product.offering === null || product.place % 3 !== 0
  return {
    id: variant?.id ?? product.id,
    title: variant ? `${product.title} – ${variant.title}` : product.title,
    slug: variant?.slug ?? product.slug,
    parentId: variant ? product.id : null,
    parentTitle: variant ? product.title : null,
    worth: hasBalance ? (product.monetaryValue ?? price) : null,
    paid: variant?.salePrice ?? product.salePrice ?? price,
  }
}
