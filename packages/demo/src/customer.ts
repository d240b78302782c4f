import { type Day, isoInstant } from './calendar.ts'
import { customerHistory } from './consent.ts'
import { type Country, places } from './data/places.ts'
import { randomPerson } from './person.ts'
import { Random } from './random.ts'
import type { Row } from './row.ts'

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
