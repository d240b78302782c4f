import type { Day, Microseconds } from './calendar.ts'
import { randomPerson } from './person.ts'
import { Random } from './random.ts'
import { randomPurchase } from './season.ts'
import { type Seller, slots } from './tenant.ts'

/** A purchase of one to three vouchers. */
interface Order {
  number: number
  seller: Seller
  purchasedAt: Microseconds
  customerName: string
}

/** The order of each voucher in a block of eight vouchers and five orders. */
const orderInBlock = [0, 1, 2, 2, 3, 4, 4, 4] as const

/** Returns the order of a voucher. The first voucher's order belongs to the first tenant, and is a month old. */
export function orderOf(voucherRow: number, today: Day): Order {
  const number = Math.floor(voucherRow / 8) * 5 + orderInBlock[voucherRow % 8]!
  const random = new Random('order', number)
  const seller = number === 0 ? slots[0]! : random.pick(slots)
  const purchasedAt = number === 0 ? random.instantOf(today - 30) : randomPurchase(random, seller, today)
  return { number, seller, purchasedAt, customerName: randomPerson(random, seller.country).fullName }
}
