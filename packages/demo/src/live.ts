/** The changes of the platform of the demo while it runs: some 30 a minute, at random tenants. */
import type { Microseconds } from './calendar.ts'
import { productsAtScaleOne } from './product.ts'
import { Random } from './random.ts'
import type { Row } from './row.ts'
import { voucherSoldAt } from './voucher.ts'

/** A change. It concerns the first suitable record whose id is at least `from`. */
export type LiveChange =
  | { kind: 'sale'; voucher: Row }
  /** `rest` is the part of the balance that stays, when the voucher may be redeemed in part. */
  | { kind: 'redemption'; from: number; rest: number }
  | { kind: 'void'; from: number; reason: string }
  | { kind: 'consent'; from: number; isGiven: boolean }

/**
 * Returns a change, the same for each number, and the wait before it in milliseconds.
 *
 * @param number counts changes and rows of vouchers, so it begins after the loaded vouchers
 * @param customers how many customers were loaded
 */
export function liveChange(
  number: number,
  now: Microseconds,
  customers: number,
): { change: LiveChange; waitMs: number } {
  const random = new Random('live', number)
  const waitMs = random.between(1_000, 3_000)
  const part = random.below(100)
  // The first voucher never changes, because the guides resolve it.
  const voucher = random.between(2, number)
  const customer = random.between(1, customers)
  if (part < 40) return { waitMs, change: { kind: 'sale', voucher: voucherSoldAt(number, now, productsAtScaleOne) } }
  if (part < 75)
    return { waitMs, change: { kind: 'redemption', from: voucher, rest: random.pick([0, 0, 0.25, 0.5, 0.75]) } }
  if (part < 80)
    return { waitMs, change: { kind: 'void', from: voucher, reason: random.pick(['refunded', 'duplicate']) } }
  return { waitMs, change: { kind: 'consent', from: customer, isGiven: random.percent(55) } }
}
