/** The times at which customers registered, consented to marketing and withdrew their consent. */
import { type Day, dayOf, isoInstant, type Microseconds, microsecondsPerDay, second } from './calendar.ts'
import { findImport } from './import-batch.ts'
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
  /**
   * The time at which the consent ended in the platform. Null when the consent holds, was never given, or was ended by
   * an import.
   */
  withdrawnAt: Microseconds | null
  updatedAt: Microseconds
  isImported: boolean
}

/** Returns the history of a customer. @param row the row number, from 0 */
export function historyOf(row: number, today: Day): CustomerHistory {
  const random = new Random('consent', row)
  const batch = findImport('customer', row, today)
  const seller = batch?.seller ?? random.pick(slots)
  const createdAt = randomPurchase(random, seller, today, batch ? dayOf(batch.stamp) : today)
  const end = batch?.stamp ?? today * microsecondsPerDay - 1
  const isOpted = random.percent(60)
  const lastConsent = Math.min(end, createdAt + 200 * microsecondsPerDay)
  const consent = random.percent(75) ? createdAt + random.below(120 * second) : random.between(createdAt, lastConsent)
  const consentedAt = isOpted || random.percent(38) ? consent : null
  const withdrawn =
    consent + (3 + random.below(random.below(500) + 1)) * microsecondsPerDay + random.below(40_000) * second
  const withdrawnAt =
    isOpted || consentedAt === null || batch ? null : Math.min(withdrawn, random.between(consent, end))
  const edited = random.percent(25) ? random.between(consent, end) : consent + second
  return {
    id: row + 1 + (Math.floor(row / 8) === bigintBlock ? 2 ** 32 : 0),
    ...{ seller, createdAt, consentedAt, isOpted, withdrawnAt, isImported: batch !== null },
    updatedAt: batch?.stamp ?? withdrawnAt ?? edited,
  }
}

/** Yields the rows of `gateway.removal` for the customers who withdrew their consent. */
export function* withdrawalRows(count: number, today: Day): Generator<Row> {
  for (let row = 0; row < count; row++) {
    const { id, seller, withdrawnAt } = historyOf(row, today)
    if (withdrawnAt === null) continue
    const removal = { resource: 'marketing_signup', tenant_id: seller.id, record_id: id, reason: 'consent_withdrawn' }
    yield { ...removal, updated_at: isoInstant(withdrawnAt) }
  }
}
