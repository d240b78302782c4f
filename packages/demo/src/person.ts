import { names } from './data/names.ts'
import type { Country } from './data/places.ts'
import type { Random } from './random.ts'

function toName(entry: string) {
  const [text = '', latin] = entry.replaceAll('_', ' ').split('|')
  const roman = latin === undefined ? text : latin.charAt(0).toUpperCase() + latin.slice(1)
  const spelled = roman.replaceAll('ß', 'ss').replaceAll('ı', 'i').normalize('NFD').toLowerCase()
  return { text, roman, mailbox: spelled.replace(/[^a-z-]/g, '') }
}

const countries: Country[] = ['GB', 'IE', 'DE', 'JP', 'KW', 'BH']

const namesByCountry = new Map(
  countries.map(country => {
    const { forenames, surnames, surnameFirst } = names[country]
    return [country, { forenames: forenames.map(toName), surnames: surnames.map(toName), surnameFirst }]
  }),
)

/**
 * Returns a random customer of a country. Most names, but not all, are typical of that country. `mailbox` is the first
 * part of the person's e-mail address, for example `siobhan.osullivan`.
 */
export function randomPerson(random: Random, country: Country) {
  const home = random.percent(88) ? country : random.pick(countries)
  const { forenames, surnames, surnameFirst } = namesByCountry.get(home)!
  const script = random.percent(25) ? 'roman' : 'text'
  const { [script]: forename, mailbox: givenMailbox } = random.pick(forenames)
  const { [script]: surname, mailbox: familyMailbox } = random.pick(surnames)
  const fullName = surnameFirst ? `${surname} ${forename}` : `${forename} ${surname}`
  return { forename, surname, fullName, mailbox: `${givenMailbox}.${familyMailbox}` }
}
