/** The scalars that GraphQL lacks. Their values are written unchanged (`columnTypes` in `columns.ts`). */
import { GraphQLError } from 'graphql'
import { builder } from './builder.ts'

const serialize = <Value>(value: Value) => value

builder.scalarType('BigInt', {
  description: 'A whole number up to 2^53 - 1, as a JSON number.',
  serialize,
  parseValue: () => {
    throw new GraphQLError('BigInt is not an input type.')
  },
})

builder.scalarType('Money', {
  description:
    "An amount in major units of its currency, as a JSON number that is exact to the currency's minor unit: 25, 25.5, 0.07.",
  serialize,
  parseValue: value => {
    if (typeof value !== 'number' || !Number.isFinite(value)) throw new GraphQLError('Money takes a number.')
    return value
  },
})

// These scalars accept any text. The resolver reports a text that is not a date or not an instant, after it has checked
// scope and permission (R1).

const requireString = (name: string) => (value: unknown) => {
  if (typeof value !== 'string') throw new GraphQLError(`${name} takes a string.`)
  return value
}

builder.scalarType('Date', {
  description: 'A calendar date, `YYYY-MM-DD`.',
  serialize,
  parseValue: requireString('Date'),
})

builder.scalarType('DateTime', {
  description:
    'An instant: an ISO-8601 date and time. Answers are in UTC, end in `Z` and have six fraction digits; ' +
    'arguments may have an offset (UTC without one), and are read to the microsecond.',
  serialize,
  parseValue: requireString('DateTime'),
})
