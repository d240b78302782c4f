import { addMonths, type Day, dayOf, endOfNextYear, type Micros, microsOfDay, second } from './calendar.ts'
import type { Order } from './order.ts'
import type { DemoProduct } from './product.ts'
import type { Draw } from './random.ts'
import type { State } from './voucher-state.ts'

/** When what happened to a voucher. */
export interface Timeline {
  createdAt: Micros
  issuedAt: Micros | null
  scheduledFor: Micros | null
  validFrom: Day | null
  validTo: Day | null
  voidedAt: Micros | null
  updatedAt: Micros
}

/** A demo may be looked at for months: what is valid stays so for at least that many days. */
const validDays = 200

/**
 * @param importedAt the stamp of the import that last changed it, if one did
 * @param today the day of loading, which decides whether it is valid
 */
export function timelineOf(
  draw: Draw,
  state: State,
  order: Order,
  product: DemoProduct,
  importedAt: Micros | null,
  today: Day,
): Timeline {
  const createdAt = order.purchasedAt
  const untouched = state === 'unredeemed' || state === 'scheduled' || state === 'not_yet_valid' || state === 'sparse'
  const changedAt =
    untouched && draw.percent(80)
      ? createdAt + draw.below(300 * second)
      : draw.between(createdAt, today * microsOfDay - 1)
  const updatedAt = importedAt ?? changedAt
  const timeline = { createdAt, updatedAt, voidedAt: null, scheduledFor: null }
  if (state === 'sparse') return { ...timeline, issuedAt: null, validFrom: null, validTo: null }

  const bought = dayOf(createdAt)
  if (state === 'scheduled') {
    const validFrom = today + draw.between(14, 120)
    const scheduledFor = validFrom * microsOfDay + draw.between(12, 36) * 1800 * second
    return { ...timeline, scheduledFor, issuedAt: null, validFrom, validTo: naturalEnd(product, validFrom) }
  }
  // Now and then it was to be sent on a day that has since come.
  const sentAt = draw.percent(10) ? draw.between(createdAt, updatedAt) : null
  const issued = { ...timeline, scheduledFor: sentAt, issuedAt: sentAt ?? createdAt }
  if (state === 'not_yet_valid') {
    const validFrom = today + draw.between(30, 300)
    return { ...issued, validFrom, validTo: naturalEnd(product, validFrom) }
  }
  if (state === 'expired') {
    return { ...issued, validFrom: bought, validTo: draw.between(bought + 30, today - 3) }
  }
  const end = naturalEnd(product, bought)
  if (state === 'void' || state === 'redeemed') {
    const voidedAt = state === 'void' ? draw.between(createdAt, updatedAt) : null
    return { ...issued, voidedAt, validFrom: bought, validTo: end }
  }
  const extended = today + validDays + draw.below(500)
  return { ...issued, validFrom: bought, validTo: end === null ? null : Math.max(end, extended) }
}

/** The last valid day that the product's terms give; none when it does not expire. */
function naturalEnd({ validityType, validityMonths }: DemoProduct, from: Day): Day | null {
  if (validityMonths !== null) return addMonths(from, validityMonths)
  return validityType === 'end_of_next_year' ? endOfNextYear(from) : null
}
