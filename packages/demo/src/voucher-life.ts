/** Generates the life of a voucher at random, from its purchase to the day of the demo data. */
import {
  addMonths,
  type Day,
  dayOf,
  endOfNextYear,
  type Microseconds,
  microsecondsPerDay,
  microsecondsPerSecond,
} from './calendar.ts'
import type { MinorUnits } from './currency.ts'
import type { DemoProduct } from './product.ts'
import type { Random } from './random.ts'
import { christmasEveAfter } from './season.ts'

/** The columns of a voucher that depend on its life. */
export interface VoucherLife {
  /** True when only the required columns have values. */
  sparse: boolean
  void: boolean
  /** The balance that is left; null for a voucher without a balance. */
  left: MinorUnits | null
  redemptionStatus: string | null
  issuedAt: Microseconds | null
  scheduledFor: Microseconds | null
  voidedAt: Microseconds | null
  validFrom: Day | null
  validTo: Day | null
}

/** The values of a voucher at its sale. */
interface SoldVoucher {
  product: DemoProduct
  purchasedAt: Microseconds
  /** The initial balance; null for experiences without a balance. */
  worth: MinorUnits | null
}

/** Returns a random number from 0 to `limit` - 1. Small numbers are much more frequent. */
const randomSmall = (random: Random, limit: number) => random.below(random.below(limit) + 1)

/** Returns a random instant of a day, within opening hours. */
const instantDuringOpening = (random: Random, day: Day): Microseconds =>
  day * microsecondsPerDay +
  random.between(9 * 3_600, 21 * 3_600) * microsecondsPerSecond +
  random.below(microsecondsPerSecond)

/**
 * Returns the life of a voucher that was only sold and sent.
 *
 * @param worth the initial balance; null for a voucher without a balance
 */
export const newLife = (purchasedAt: Microseconds, worth: MinorUnits | null): VoucherLife => ({
  ...{ sparse: false, void: false, left: worth, redemptionStatus: 'unredeemed' },
  ...{ issuedAt: purchasedAt, scheduledFor: null, voidedAt: null, validFrom: null, validTo: null },
})

/** Returns a random life of a voucher, whose events are all before `today`. */
export function randomLife(random: Random, sold: SoldVoucher, today: Day): VoucherLife {
  const { product, purchasedAt, worth } = sold
  const unused = newLife(purchasedAt, worth)
  if (random.percent(1)) return { ...unused, sparse: true, left: null, redemptionStatus: null, issuedAt: null }
  const lastDay = today - 1
  const sent = { ...unused, ...randomDelivery(random, sold, lastDay) }
  const validTo = lastValidDay(product, sent.validFrom)
  const issued = { ...sent, validTo }
  if (issued.validFrom > lastDay) return issued

  const first = Math.max(dayOf(purchasedAt), issued.validFrom) + 1
  const voided = first + randomSmall(random, 40)
  if (random.percent(3) && voided <= lastDay) {
    const voidedAt = instantDuringOpening(random, voided)
    return { ...issued, void: true, voidedAt }
  }
  const lastUse = Math.min(lastDay, validTo ?? lastDay)
  const use = first + randomSmall(random, 420)
  if (random.percent(84) && use <= lastUse) return redeemOn(random, issued, sold, use, lastUse)
  // Shops extend the validity of some vouchers that expired unused.
  if (validTo === null || validTo > lastDay || !random.percent(6)) return issued
  return { ...issued, validTo: validTo + random.between(60, 400) }
}

/** Chooses at random when a voucher is sent, and from which day it is valid. */
function randomDelivery(random: Random, { purchasedAt }: SoldVoucher, lastDay: Day) {
  const bought = dayOf(purchasedAt)
  if (random.percent(12)) {
    // The voucher is sent immediately, but valid only from a later day.
    return { issuedAt: purchasedAt, scheduledFor: null, validFrom: bought + random.between(30, 300) }
  }
  const eve = christmasEveAfter(bought)
  const day = eve !== null && random.percent(50) ? eve : bought + 2 + randomSmall(random, 120)
  if (!random.percent(16)) return { issuedAt: purchasedAt, scheduledFor: null, validFrom: bought }
  if (day <= lastDay) {
    const sentAt = instantDuringOpening(random, day)
    return { issuedAt: sentAt, scheduledFor: sentAt, validFrom: day }
  }
  const later = Math.max(day, lastDay + 2)
  return { issuedAt: null, scheduledFor: instantDuringOpening(random, later), validFrom: later }
}

/** Redeems a voucher on a day, completely or in part. For some vouchers, the rest of the balance is redeemed later. */
function redeemOn(
  random: Random,
  issued: VoucherLife,
  { product, worth }: SoldVoucher,
  day: Day,
  lastUse: Day,
): VoucherLife {
  const used = { ...issued, redemptionStatus: 'redeemed', left: worth === null ? null : 0 }
  // Some tills redeem the rest of a balance, but do not change the status.
  const status = product.allowPartRedeem ? 'part_redeemed' : 'unredeemed'
  const emptied = () => (worth !== null && random.percent(8) ? { ...used, redemptionStatus: status } : used)
  if (worth === null || !product.allowPartRedeem || random.percent(35)) return emptied()
  const next = day + 7 + randomSmall(random, 300)
  if (random.percent(60) && next <= lastUse) return emptied()
  const left = Math.max(1, random.between(Math.ceil(worth * 0.08), Math.floor(worth * 0.8)))
  return { ...issued, redemptionStatus: 'part_redeemed', left }
}

/** Returns the last valid day of a voucher according to its product; null when the voucher does not expire. */
function lastValidDay({ validityType, validityMonths }: DemoProduct, from: Day): Day | null {
  if (validityMonths !== null) return addMonths(from, validityMonths)
  return validityType === 'end_of_next_year' ? endOfNextYear(from) : null
}
