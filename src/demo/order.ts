import { type Day, type Micros, microsOfDay, second } from './calendar.ts'
import type { Batch } from './import-batch.ts'
import { drawPerson } from './person.ts'
import { Draw } from './random.ts'
import { type Seller, slots } from './tenant.ts'

/** A purchase of one to three vouchers. */
export interface Order {
  number: number
  seller: Seller
  purchasedAt: Micros
  customerName: string
}

/** Which of its block's five orders each of eight vouchers belongs to. */
const orderInBlock = [0, 1, 2, 2, 3, 4, 4, 4] as const

/** @returns the order of a voucher; the first voucher's is of the first tenant */
export function orderOf(voucherRow: number, today: Day, batch: Batch | null): Order {
  const number = Math.floor(voucherRow / 8) * 5 + orderInBlock[voucherRow % 8]!
  const draw = new Draw('order', number)
  const seller = number === 0 ? slots[0]! : (batch?.seller ?? draw.pick(slots))
  // None in the last minutes of a day, so that what follows at once is still before today.
  const time = draw.below(82_800) * second + draw.below(second)
  const purchasedAt = batch
    ? batch.stamp - draw.below(400) * microsOfDay - time
    : (today - draw.between(1, 730)) * microsOfDay + time
  return { number, seller, purchasedAt, customerName: drawPerson(draw, seller.country).fullName }
}
