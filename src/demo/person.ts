import { names } from './data/names.ts'
import type { Country } from './data/places.ts'
import type { Random } from './random.ts'

/** A made-up person. */
interface Person {
  forename: string
  surname: string
  fullName: string
  /** The first part of the person's e-mail address, for example `siobhan.osullivan`. */
  mailbox: string
}

interface Name {
  text: string
  /** The name in Latin letters. */
  roman: string
  mailbox: string
}

function toName(entry: string): Name {
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

/** Returns a random customer of a country, whose name is mostly, but not always, of that country. */
export function randomPerson(random: Random, country: Country): Person {
  const home = random.percent(88) ? country : random.pick(countries)
  const { forenames, surnames, surnameFirst } = namesByCountry.get(home)!
  const script = random.percent(25) ? 'roman' : 'text'
  const given = random.pick(forenames)
  const family = random.pick(surnames)
  const forename = given[script]
  const surname = family[script]
  return {
    forename,
    surname,
    fullName: surnameFirst ? `${surname} ${forename}` : `${forename} ${surname}`,
    mailbox: `${given.mailbox}.${family.mailbox}`,
  }
}
