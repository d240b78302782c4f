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
  latin: string
}

function toName(entry: string): Name {
  const [text = '', latin = text] = entry.replaceAll('_', ' ').split('|')
  const spelled = latin.replaceAll('ß', 'ss').replaceAll('ı', 'i').normalize('NFD').toLowerCase()
  return { text, latin: spelled.replace(/[^a-z-]/g, '') }
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
  const forename = draw.pick(forenames)
  const surname = draw.pick(surnames)
  const inOrder = surnameFirst ? [surname.text, forename.text] : [forename.text, surname.text]
  return {
    forename: forename.text,
    surname: surname.text,
    fullName: inOrder.join(' '),
    mailbox: `${forename.latin}.${surname.latin}`,
  }
}
