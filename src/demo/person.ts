import { names } from './data/names.ts'
import type { Country } from './data/places.ts'
import type { Draw } from './random.ts'

/** A made-up person. */
export interface Person {
  forename: string
  surname: string
  fullName: string
  /** What the person's e-mail address begins with: `siobhan.osullivan` */
  mailbox: string
}

interface Name {
  text: string
  /** As in Latin letters; the same where those are its own. */
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

const called = new Map(
  countries.map(country => {
    const { forenames, surnames, surnameFirst } = names[country]
    return [country, { forenames: forenames.map(toName), surnames: surnames.map(toName), surnameFirst }]
  }),
)

/** @returns a person who buys in a country: mostly one of its own, now and then one from elsewhere */
export function drawPerson(draw: Draw, country: Country): Person {
  const home = draw.percent(88) ? country : draw.pick(countries)
  const { forenames, surnames, surnameFirst } = called.get(home)!
  const script = draw.percent(25) ? 'roman' : 'text'
  const given = draw.pick(forenames)
  const family = draw.pick(surnames)
  const forename = given[script]
  const surname = family[script]
  return {
    forename,
    surname,
    fullName: surnameFirst ? `${surname} ${forename}` : `${forename} ${surname}`,
    mailbox: `${given.mailbox}.${family.mailbox}`,
  }
}
