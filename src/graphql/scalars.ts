/** The scalars that GraphQL does not have. Their values are written as they are (`scalar` in src/db/column-codecs.ts). */
import { GraphQLError } from 'graphql'
import { builder } from './builder.ts'

const serialize = <Value>(value: Value) => value

/** Adds a scalar that no argument takes. */
function addOutputScalar(name: 'BigInt' | 'Money' | 'Date', description: string): void {
  const parseValue = () => {
    throw new GraphQLError(`${name} is not an input type.`)
  }
  builder.scalarType(name, { description, serialize, parseValue })
}

addOutputScalar('BigInt', 'A whole number up to 2^53 - 1, as a JSON number.')

addOutputScalar(
  'Money',
  "An amount in major units of its currency, as a JSON number that is exact to the currency's minor unit: 25, 25.5, 0.07.",
)

addOutputScalar('Date', 'A calendar date, `YYYY-MM-DD`.')

builder.scalarType('DateTime', {
  description:
    'An instant: an ISO-8601 date and time. Answers are in UTC, end in `Z` and have six fraction digits; ' +
    'arguments may have an offset (UTC without one), and are read to the microsecond.',
  serialize,
  // The resolver reports a text that is not an instant, after scope and permission (R1).
  parseValue: value => {
    if (typeof value !== 'string') throw new GraphQLError('DateTime takes a string.')
    return value
  },
})
