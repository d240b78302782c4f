import { type Day, dayOf, isoDay, isoInstant, type Microseconds } from './calendar.ts'
import { formatAmount, type MinorUnits } from './currency.ts'
import { randomPerson } from './person.ts'
import { type DemoProduct, productAt, randomProductRow } from './product.ts'
import { Random } from './random.ts'
import type { Row } from './row.ts'
import { randomPurchase } from './season.ts'
import { type Seller, slots } from './tenant.ts'
import { qrTokenOf, referenceOf } from './voucher-code.ts'
import { newLife, randomLife } from './voucher-life.ts'

/**
 * The row number of the demo voucher, which belongs to the first tenant, is redeemable and has a value in every column.
 */
const demoVoucherRow = 0

/** The block of eight rows in which the ids of vouchers and orders need more than 32 bits. */
const bigintBlock = 250

const voidReasons = ['refunded', 'customer_request', 'issued_in_error', 'duplicate', 'payment_disputed', 'lost']

/** An order, which is one purchase of one to three vouchers. */
interface Order {
  number: number
  seller: Seller
  purchasedAt: Microseconds
  customerName: string
}

/** For each of the eight vouchers of a block, the index of its order among the five orders of the block. */
const orderInBlock = [0, 1, 2, 2, 3, 4, 4, 4] as const

/** Returns the order of a voucher. The order of the first voucher belongs to the first tenant, and is one month old. */
function orderOf(voucherRow: number, today: Day): Order {
  const number = Math.floor(voucherRow / 8) * 5 + orderInBlock[voucherRow % 8]!
  const random = new Random('order', number)
  const seller = number === 0 ? slots[0]! : random.pick(slots)
  const purchasedAt = number === 0 ? random.instantOf(today - 30) : randomPurchase(random, seller, today)
  return { number, seller, purchasedAt, customerName: randomPerson(random, seller.country).fullName }
}

/** Yields the rows of `purchased_voucher`. */
export function* voucherRows(count: number, today: Day, productCount: number): Generator<Row> {
  for (let row = 0; row < count; row++) yield voucherRow(row, today, productCount)
}

/**
 * Returns the row of a voucher that is sold at `now` and is not redeemed.
 *
 * @param row a row number after the row numbers of the loaded vouchers
 */
export const voucherSoldAt = (row: number, now: Microseconds, productCount: number): Row =>
  voucherRow(row, dayOf(now), productCount, now)

function voucherRow(row: number, today: Day, productCount: number, soldAt?: Microseconds): Row {
  const random = new Random('voucher', row)
  const order = { ...orderOf(row, today), ...(soldAt !== undefined && { purchasedAt: soldAt }) }
  const product = productAt(row === demoVoucherRow ? 0 : randomProductRow(random, order.seller, productCount))
  const sale = sellOne(product, random)
  const { worth } = sale
  const { purchasedAt } = order
  const sold = { product, purchasedAt, worth }
  const isUnused = row === demoVoucherRow || soldAt !== undefined
  // The voucher is valid for a long time, because a demo may run for months.
  const unused = { ...newLife(purchasedAt, worth), validFrom: dayOf(purchasedAt), validTo: today + 400 }
  const life = isUnused ? unused : randomLife(random, sold, today)
  const { sparse } = life
  const shift = Math.floor(row / 8) === bigintBlock ? 2 ** 32 : 0

  const known = <T>(value: T) => (sparse ? null : value)
  const money = (amount: MinorUnits | null) => known(formatAmount(amount, product.currency))
  const lacks = (percent: number) => sparse || (random.percent(percent) && row !== demoVoucherRow)
  return {
    id: row + 1 + shift,
    tenant_id: order.seller.id,
    reference: referenceOf(row),
    qr_token: lacks(15) ? null : qrTokenOf(row, random),
    initial_balance: money(sale.worth),
    current_balance: money(life.left),
    purchase_value: money(sale.paid),
    currency: known(product.currency),
    is_monetary: !sparse && product.offering === null,
    allow_part_redeem: !sparse && product.allowPartRedeem,
    void: life.void,
    order_id: known(100_000 + order.number + shift),
    order_item_id: known(500_000 + row + shift),
    product_id: known(sale.id),
    product_title: known(sale.title),
    product_slug: known(sale.slug),
    parent_product_id: known(sale.parentId),
    parent_product_title: known(sale.parentTitle),
    purchase_timestamp: known(isoInstant(purchasedAt)),
    date_issued: isoInstant(life.issuedAt),
    date_valid_start: isoDay(life.validFrom),
    date_valid_end: isoDay(life.validTo),
    date_scheduled: isoInstant(life.scheduledFor),
    redemption_status: life.redemptionStatus,
    void_reason: life.void ? random.pick(voidReasons) : null,
    void_date: isoInstant(life.voidedAt),
    recipient_name: lacks(25) ? null : randomPerson(random, order.seller.country).fullName,
    customer_name: lacks(5) ? null : order.customerName,
    created_at: isoInstant(order.purchasedAt),
  }
}

/**
 * Chooses a variant of the product, if it has variants, and returns the values that a voucher copies. `worth` is the
 * initial balance, null for experiences without a balance.
 */
function sellOne(product: DemoProduct, random: Random) {
  const variant = product.variants.length > 0 ? random.pick(product.variants) : null
  const { id, slug, price, salePrice } = variant ?? product
  const paid = salePrice ?? price ?? 0
  const hasBalance = product.offering === null || product.place % 3 !== 0
  const worth = hasBalance ? (product.monetaryValue ?? price ?? 0) : null
  if (!variant) return { id, slug, title: product.title, parentId: null, parentTitle: null, worth, paid }
  const title = `${product.title} – ${variant.title}`
  return { id, slug, title, parentId: product.id, parentTitle: product.title, worth, paid }
}
