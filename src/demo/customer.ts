import { type Day, instantText, microsecondsPerDay, second } from './calendar.ts'
import type { Row } from './copy-rows.ts'
import { type Country, places } from './data/places.ts'
import { findImport } from './import-batch.ts'
import { randomPerson } from './person.ts'
import { Random } from './random.ts'
import { slots } from './tenant.ts'

/** The block of eight rows whose ids exceed 32 bits. */
const bigintBlock = 60

const mailHosts = ['example.com', 'example.org', 'example.net']
const consentSources = ['checkout', 'checkout', 'newsletter_form', 'in_venue_tablet', 'phone']

/** Yields the rows of `customer`. */
export function* customerRows(count: number, today: Day): Generator<Row> {
  for (let row = 0; row < count; row++) yield customerRow(row, today)
}

function customerRow(row: number, today: Day): Row {
  const random = new Random('customer', row)
  const batch = findImport('customer', row, today)
  const seller = batch?.seller ?? random.pick(slots)
  const person = randomPerson(random, seller.country)
  const opted = random.percent(60)
  const end = today * microsecondsPerDay - 1
  const createdAt = (batch?.stamp ?? end) - random.between(1, 730) * microsecondsPerDay + random.below(86_400 * second)
  const updatedAt = batch?.stamp ?? random.between(createdAt, end)
  // Some customers without consent gave it once and withdrew it.
  const consentedAt = opted || random.percent(20) ? random.between(createdAt, updatedAt) : null
  const source = batch ? 'import' : random.pick(consentSources)
  const sparse = random.percent(30)
  const nameless = sparse && random.percent(50)
  return {
    id: row + 1 + (Math.floor(row / 8) === bigintBlock ? 2 ** 32 : 0),
    tenant_id: seller.id,
    email: random.percent(2) ? null : `${person.mailbox}.${row + 1}@${random.pick(mailHosts)}`,
    marketing_opted: opted,
    consented_at: consentedAt === null ? null : instantText(consentedAt),
    consent_source: consentedAt === null || random.percent(5) ? null : source,
    created_at: instantText(createdAt),
    updated_at: instantText(updatedAt),
    forename: nameless ? null : person.forename,
    surname: nameless ? null : person.surname,
    full_name: nameless ? null : person.fullName,
    phone_number: sparse || random.percent(25) ? null : random.fill(random.pick(places[seller.country].phones)),
    ...(sparse ? noAddress : randomAddress(random, seller.country)),
  }
}

const noAddress = {
  address_1: null,
  address_2: null,
  town: null,
  city: null,
  county: null,
  country: null,
  countryiso2: null,
  postcode: null,
}

function randomAddress(random: Random, countryiso2: Country): Record<keyof typeof noAddress, string | null> {
  const { country, streets, secondLines, towns } = places[countryiso2]
  const { town = null, city = null, county = null, postcode } = random.pick(towns)
  return {
    address_1: random.fill(random.pick(streets)),
    address_2: random.percent(35) ? random.fill(random.pick(secondLines)) : null,
    ...{ town, city, county, country, countryiso2 },
    postcode: random.percent(8) ? null : random.fill(postcode),
  }
}
