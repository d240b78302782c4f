import { type Day, instantText, microsOfDay, second } from './calendar.ts'
import type { Row } from './copy-rows.ts'
import { type Country, places } from './data/places.ts'
import { findImport } from './import-batch.ts'
import { drawPerson } from './person.ts'
import { Draw } from './random.ts'
import { slots } from './tenant.ts'

/** The ids of one block of eight rows lie beyond 32 bits. */
const farBlock = 60

const mailHosts = ['example.com', 'example.org', 'example.net']
const consentSources = ['checkout', 'checkout', 'newsletter_form', 'in_venue_tablet', 'phone']

/** @returns the rows of `customer` */
export function* customerRows(count: number, today: Day): Generator<Row> {
  for (let row = 0; row < count; row++) yield customerRow(row, today)
}

function customerRow(row: number, today: Day): Row {
  const draw = new Draw('customer', row)
  const batch = findImport('customer', row, today)
  const seller = batch?.seller ?? draw.pick(slots)
  const person = drawPerson(draw, seller.country)
  const opted = draw.percent(60)
  const end = today * microsOfDay - 1
  const createdAt = (batch?.stamp ?? end) - draw.between(1, 730) * microsOfDay + draw.below(86_400 * second)
  const updatedAt = batch?.stamp ?? draw.between(createdAt, end)
  // Some of those who have not opted in once had.
  const consentedAt = opted || draw.percent(20) ? draw.between(createdAt, updatedAt) : null
  const source = batch ? 'import' : draw.pick(consentSources)
  const sparse = draw.percent(30)
  const nameless = sparse && draw.percent(50)
  return {
    id: row + 1 + (Math.floor(row / 8) === farBlock ? 2 ** 32 : 0),
    tenant_id: seller.id,
    email: draw.percent(2) ? null : `${person.mailbox}.${row + 1}@${draw.pick(mailHosts)}`,
    marketing_opted: opted,
    consented_at: consentedAt === null ? null : instantText(consentedAt),
    consent_source: consentedAt === null || draw.percent(5) ? null : source,
    created_at: instantText(createdAt),
    updated_at: instantText(updatedAt),
    forename: nameless ? null : person.forename,
    surname: nameless ? null : person.surname,
    full_name: nameless ? null : person.fullName,
    phone_number: sparse || draw.percent(25) ? null : draw.fill(draw.pick(places[seller.country].phones)),
    ...(sparse ? noAddress : drawAddress(draw, seller.country)),
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

function drawAddress(draw: Draw, countryiso2: Country): Record<keyof typeof noAddress, string | null> {
  const { country, streets, secondLines, towns } = places[countryiso2]
  const { town = null, city = null, county = null, postcode } = draw.pick(towns)
  return {
    address_1: draw.fill(draw.pick(streets)),
    address_2: draw.percent(35) ? draw.fill(draw.pick(secondLines)) : null,
    ...{ town, city, county, country, countryiso2 },
    postcode: draw.percent(8) ? null : draw.fill(postcode),
  }
}
