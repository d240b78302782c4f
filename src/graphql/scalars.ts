import { GraphQLError } from 'graphql'
import { builder } from './builder.ts'

const onlyRead = (name: string) => () => {
  throw new GraphQLError(`${name} is not an input type.`)
}

builder.scalarType('BigInt', {
  description: 'A whole number up to 2^53 - 1, as a JSON number.',
  serialize: value => value,
  parseValue: onlyRead('BigInt'),
})

builder.scalarType('Money', {
  description:
    "An amount in major units of its currency, as a JSON number that is exact to the currency's minor unit: 25, 25.5, 0.07.",
  serialize: value => value,
  parseValue: onlyRead('Money'),
})

builder.scalarType('DateTime', {
  description:
    'An instant: an ISO-8601 date and time. Answers are in UTC, end in `Z` and have six fraction digits; ' +
    'arguments may have an offset (UTC without one), and are read to the microsecond.',
  serialize: value => value,
  // Whether the text is an instant is for the resolver to say, after scope and permission (R1).
  parseValue: value => {
    if (typeof value !== 'string') throw new GraphQLError('DateTime takes a string.')
    return value
  },
})

builder.scalarType('Date', {
  description: 'A calendar date, `YYYY-MM-DD`.',
  serialize: value => value,
  parseValue: onlyRead('Date'),
})
