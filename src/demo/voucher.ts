import { type Day, dayOf, dayText, instantText } from './calendar.ts'
import type { Row } from './copy-rows.ts'
import { decimal, type MinorUnits } from './currency.ts'
import { findImport } from './import-batch.ts'
import { orderOf } from './order.ts'
import { randomPerson } from './person.ts'
import { type DemoProduct, productAt, randomProductRow } from './product.ts'
import { Random } from './random.ts'
import { qrTokenOf, referenceOf } from './voucher-code.ts'
import { randomBalance, randomState } from './voucher-state.ts'
import { timelineOf } from './voucher-timeline.ts'

/** The row of the demo voucher: it belongs to the first tenant, is redeemable and has a value in every column. */
const demoVoucherRow = 0

/** The block of eight rows whose ids, and whose orders' ids, exceed 32 bits. */
const bigintBlock = 250

const voidReasons = ['refunded', 'customer_request', 'issued_in_error', 'duplicate', 'payment_disputed', 'lost']

/** Yields the rows of `purchased_voucher`. */
export function* voucherRows(count: number, today: Day, productCount: number): Generator<Row> {
  for (let row = 0; row < count; row++) yield voucherRow(row, today, productCount)
}

function voucherRow(row: number, today: Day, productCount: number): Row {
  const random = new Random('voucher', row)
  const batch = findImport('voucher', row, today)
  const order = orderOf(row, today, batch)
  const product = productAt(row === demoVoucherRow ? 0 : randomProductRow(random, order.seller, productCount))
  const sale = sellOne(product, random)
  const candidate = { ...sale, age: today - dayOf(order.purchasedAt), allowPartRedeem: product.allowPartRedeem }
  const state = row === demoVoucherRow ? 'unredeemed' : randomState(random, candidate)
  const times = timelineOf(random, state, order, product, batch?.stamp ?? null, today)
  const balance = randomBalance(random, state, candidate)
  const sparse = state === 'sparse'
  const shift = Math.floor(row / 8) === bigintBlock ? 2 ** 32 : 0

  const known = <T>(value: T) => (sparse ? null : value)
  const money = (amount: MinorUnits | null) => (amount === null || sparse ? null : decimal(amount, product.currency))
  const lacks = (percent: number) => sparse || (random.percent(percent) && row !== demoVoucherRow)
  return {
    id: row + 1 + shift,
    tenant_id: order.seller.id,
    reference: referenceOf(row),
    qr_token: lacks(15) ? null : qrTokenOf(row, random),
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
    void_reason: state === 'void' ? random.pick(voidReasons) : null,
    void_date: orNull(instantText, times.voidedAt),
    recipient_name: lacks(25) ? null : randomPerson(random, order.seller.country).fullName,
    customer_name: lacks(5) ? null : order.customerName,
    created_at: instantText(times.createdAt),
    updated_at: instantText(times.updatedAt),
  }
}

const orNull = (write: (value: number) => string, value: number | null) => (value === null ? null : write(value))

/** The sale of a product, or of one of its variants. */
interface Sale {
  id: number
  title: string
  slug: string
  parentId: number | null
  parentTitle: string | null
  /** The initial balance of the voucher; null for experiences without a balance. */
  worth: MinorUnits | null
  paid: MinorUnits
}

function sellOne(product: DemoProduct, random: Random): Sale {
  const variant = product.variants.length > 0 ? random.pick(product.variants) : null
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
