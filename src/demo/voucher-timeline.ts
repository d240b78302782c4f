import { addMonths, type Day, dayOf, endOfNextYear, type Microseconds, microsecondsPerDay, second } from './calendar.ts'
import type { Order } from './order.ts'
import type { DemoProduct } from './product.ts'
import type { Random } from './random.ts'
import type { State } from './voucher-state.ts'

/** The dates of a voucher. */
interface Timeline {
  createdAt: Microseconds
  issuedAt: Microseconds | null
  scheduledFor: Microseconds | null
  validFrom: Day | null
  validTo: Day | null
  voidedAt: Microseconds | null
  updatedAt: Microseconds
}

/** The minimum number of days for which valid vouchers stay valid, because a demo may be used for months. */
const validDays = 200

/**
 * Returns random dates that fit the state of a voucher.
 *
 * @param importedAt the stamp of the import that last changed the voucher, or null
 * @param today the day of loading, which decides whether the voucher is valid
 */
export function timelineOf(
  random: Random,
  state: State,
  order: Order,
  product: DemoProduct,
  importedAt: Microseconds | null,
  today: Day,
): Timeline {
  const createdAt = order.purchasedAt
  const untouched = state === 'unredeemed' || state === 'scheduled' || state === 'not_yet_valid' || state === 'sparse'
  const changedAt =
    untouched && random.percent(80)
      ? createdAt + random.below(300 * second)
      : random.between(createdAt, today * microsecondsPerDay - 1)
  const updatedAt = importedAt ?? changedAt
  const timeline = { createdAt, updatedAt, voidedAt: null, scheduledFor: null }
  if (state === 'sparse') return { ...timeline, issuedAt: null, validFrom: null, validTo: null }

  const bought = dayOf(createdAt)
  if (state === 'scheduled') {
    const validFrom = today + random.between(14, 120)
    const scheduledFor = validFrom * microsecondsPerDay + random.between(12, 36) * 1800 * second
    return { ...timeline, scheduledFor, issuedAt: null, validFrom, validTo: naturalEnd(product, validFrom) }
  }
  // Some vouchers were scheduled for a day that is in the past now.
  const sentAt = random.percent(10) ? random.between(createdAt, updatedAt) : null
  const issued = { ...timeline, scheduledFor: sentAt, issuedAt: sentAt ?? createdAt }
  if (state === 'not_yet_valid') {
    const validFrom = today + random.between(30, 300)
    return { ...issued, validFrom, validTo: naturalEnd(product, validFrom) }
  }
  if (state === 'expired') {
    return { ...issued, validFrom: bought, validTo: random.between(bought + 30, today - 3) }
  }
  const end = naturalEnd(product, bought)
  if (state === 'void' || state === 'redeemed') {
    const voidedAt = state === 'void' ? random.between(createdAt, updatedAt) : null
    return { ...issued, voidedAt, validFrom: bought, validTo: end }
  }
  const extended = today + validDays + random.below(500)
  return { ...issued, validFrom: bought, validTo: end === null ? null : Math.max(end, extended) }
}

/** Returns the last valid day by the product's terms, or null when the voucher does not expire. */
function naturalEnd({ validityType, validityMonths }: DemoProduct, from: Day): Day | null {
  if (validityMonths !== null) return addMonths(from, validityMonths)
  return validityType === 'end_of_next_year' ? endOfNextYear(from) : null
}
