/** Generates the changes that the platform makes while the demo runs: about 30 per minute, at random tenants. */
import type { Microseconds } from './calendar.ts'
import { productsAtScaleOne } from './product.ts'
import { Random } from './random.ts'
import type { Row } from './row.ts'
import { voucherSoldAt } from './voucher.ts'

/** A change. The change affects the first suitable record whose id is at least `from`. */
export type LiveChange =
  | { kind: 'sale'; voucher: Row }
  /** `rest` is the share of the balance that is left after the redemption, if the voucher may be redeemed in part. */
  | { kind: 'redemption'; from: number; rest: number }
  | { kind: 'void'; from: number; reason: string }
  | { kind: 'consent'; from: number; isGiven: boolean }

/**
 * Returns a change and the wait before the change, in milliseconds. The same number always gives the same change.
 *
 * @param number the number of the change, which is also the row number of a new voucher, so it starts after the loaded
 * vouchers @param customers the number of loaded customers
 */
export function liveChange(
  number: number,
  now: Microseconds,
  customers: number,
): { change: LiveChange; waitMs: number } {
  const random = new Random('live', number)
  const waitMs = random.between(1_000, 3_000)
  const part = random.below(100)
  // The first voucher never changes, because the examples in the guides resolve it.
  const voucher = random.between(2, number)
  const customer = random.between(1, customers)
  if (part < 40) return { waitMs, change: { kind: 'sale', voucher: voucherSoldAt(number, now, productsAtScaleOne) } }
  if (part < 75)
    return { waitMs, change: { kind: 'redemption', from: voucher, rest: random.pick([0, 0, 0.25, 0.5, 0.75]) } }
  if (part < 80)
    return { waitMs, change: { kind: 'void', from: voucher, reason: random.pick(['refunded', 'duplicate']) } }
  return { waitMs, change: { kind: 'consent', from: customer, isGiven: random.percent(55) } }
}
