import { type Count, mostCandidates } from '../domain/search/search-table.ts'
import { builder } from './builder.ts'

const CountPrecision = builder.enumType('CountPrecision', {
  description: 'Whether a count is exact.',
  values: {
    EXACT: { description: 'There are this many.' },
    AT_LEAST: { description: 'There are this many or more: counting ended at its bound.' },
  },
})

/** The type `Count`. */
export const CountType = builder.objectRef<Count>('Count').implement({
  description: `How many records a list has. Counting reads at most ${mostCandidates.toLocaleString('en')} records.`,
  fields: t => ({
    count: t.exposeInt('count', { description: 'The number, or its lower bound.' }),
    precision: t.expose('precision', { type: CountPrecision, description: 'Whether the number is exact.' }),
  }),
})
