/** Generates the customers, with the times of registration, of consent to marketing and of withdrawal. */
import { type Day, isoInstant, type Microseconds, microsecondsPerDay, microsecondsPerSecond } from './calendar.ts'
import { type Country, places } from './data/places.ts'
import { randomPerson } from './person.ts'
import { Random } from './random.ts'
import type { Row } from './row.ts'
import { randomPurchase } from './season.ts'
import { type Seller, slots } from './tenant.ts'

const mailHosts = ['example.com', 'example.org', 'example.net']
const consentSources = ['checkout', 'checkout', 'newsletter_form', 'in_venue_tablet', 'phone', 'import']

/** Yields the rows of `customer`. */
export function* customerRows(count: number, today: Day): Generator<Row> {
  for (let row = 0; row < count; row++) yield customerRow(row, today)
}

function customerRow(row: number, today: Day): Row {
  const { id, seller, createdAt, consentedAt, isOpted } = customerHistory(row, today)
  const random = new Random('customer', row)
  const person = randomPerson(random, seller.country)
  const source = random.pick(consentSources)
  const sparse = random.percent(30)
  const nameless = sparse && random.percent(50)
  return {
    id,
    tenant_id: seller.id,
    email: random.percent(2) ? null : `${person.mailbox}.${row + 1}@${random.pick(mailHosts)}`,
    marketing_opted: isOpted,
    consented_at: isoInstant(consentedAt),
    consent_source: consentedAt === null || random.percent(5) ? null : source,
    created_at: isoInstant(createdAt),
    forename: nameless ? null : person.forename,
    surname: nameless ? null : person.surname,
    full_name: nameless ? null : person.fullName,
    phone_number: sparse || random.percent(25) ? null : random.fill(random.pick(places[seller.country].phones)),
    ...randomAddress(random, seller.country, sparse),
  }
}

/** Returns the columns of an address, all of them null when it is `empty`. */
function randomAddress(random: Random, countryiso2: Country, empty: boolean): Row {
  const { country, streets, secondLines, towns } = places[countryiso2]
  const { town = null, city = null, county = null, postcode } = random.pick(towns)
  const address = {
    address_1: random.fill(random.pick(streets)),
    address_2: random.percent(35) ? random.fill(random.pick(secondLines)) : null,
    ...{ town, city, county, country, countryiso2 },
    postcode: random.percent(8) ? null : random.fill(postcode),
  }
  return empty ? Object.fromEntries(Object.keys(address).map(column => [column, null])) : address
}

/** The block of eight rows whose ids need more than 32 bits, so that the demo data tests such ids. */
const bigintBlock = 60

/** The times at which a customer registered, consented to marketing and withdrew the consent. */
interface CustomerHistory {
  id: number
  seller: Seller
  createdAt: Microseconds
  consentedAt: Microseconds | null
  /** True when the consent holds now. */
  isOpted: boolean
  /** The time at which the customer withdrew the consent. Null when the consent still holds, or was never given. */
  withdrawnAt: Microseconds | null
}

/** Returns the random history of a customer, always the same for the same row. @param row the row number, from 0 */
function customerHistory(row: number, today: Day): CustomerHistory {
  const random = new Random('consent', row)
  const seller = random.pick(slots)
  const createdAt = randomPurchase(random, seller, today)
  const end = today * microsecondsPerDay - 1
  const isOpted = random.percent(60)
  const lastConsent = Math.min(end, createdAt + 200 * microsecondsPerDay)
  const consent = random.percent(75)
    ? createdAt + random.below(120 * microsecondsPerSecond)
    : random.between(createdAt, lastConsent)
  const consentedAt = isOpted || random.percent(38) ? consent : null
  const withdrawn =
    consent +
    (3 + random.below(random.below(500) + 1)) * microsecondsPerDay +
    random.below(40_000) * microsecondsPerSecond
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
