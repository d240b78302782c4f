/** The times at which customers registered, consented to marketing and withdrew their consent. */
import { type Day, isoInstant, type Microseconds, microsecondsPerDay, second } from './calendar.ts'
import { Random } from './random.ts'
import type { Row } from './row.ts'
import { randomPurchase } from './season.ts'
import { type Seller, slots } from './tenant.ts'

/** The block of eight rows whose ids exceed 32 bits. */
const bigintBlock = 60

/** The history of a customer. */
interface CustomerHistory {
  id: number
  seller: Seller
  createdAt: Microseconds
  consentedAt: Microseconds | null
  /** True when the consent holds now. */
  isOpted: boolean
  /** The time at which the consent ended. Null when the consent still holds, or was never given. */
  withdrawnAt: Microseconds | null
}

/** Returns the history of a customer. @param row the row number, from 0 */
export function customerHistory(row: number, today: Day): CustomerHistory {
  const random = new Random('consent', row)
  const seller = random.pick(slots)
  const createdAt = randomPurchase(random, seller, today)
  const end = today * microsecondsPerDay - 1
  const isOpted = random.percent(60)
  const lastConsent = Math.min(end, createdAt + 200 * microsecondsPerDay)
  const consent = random.percent(75) ? createdAt + random.below(120 * second) : random.between(createdAt, lastConsent)
  const consentedAt = isOpted || random.percent(38) ? consent : null
  const withdrawn =
    consent + (3 + random.below(random.below(500) + 1)) * microsecondsPerDay + random.below(40_000) * second
  const withdrawnAt = isOpted || consentedAt === null ? null : Math.min(withdrawn, random.between(consent, end))
  return {
    id: row + 1 + (Math.floor(row / 8) === bigintBlock ? 2 ** 32 : 0),
    ...{ seller, createdAt, consentedAt, isOpted, withdrawnAt },
  }
}

/** Yields the rows of `gateway.consent_withdrawal` for the customers who withdrew their consent. */
export function* withdrawalRows(count: number, today: Day): Generator<Row> {
  for (let row = 0; row < count; row++) {
    const { seller, withdrawnAt } = customerHistory(row, today)
    if (withdrawnAt !== null) yield { tenant_id: seller.id, withdrawn_at: isoInstant(withdrawnAt) }
  }
}
