import { median, table } from '../summary.ts'
import type { Name } from './line-up.ts'
import type { Figures, Results } from './rounds.ts'

type Measure = keyof Figures

/** One side of a comparison: what a contender made of a call. */
interface Side {
  call: string
  name: Name
}

interface Target {
  title: string
  measure: Measure
  one: Side
  other: Side
  /** The ratio may be so much at most. */
  limit: number
}

const words: Partial<Record<Measure, string>> = { node: 'Node', total: 'Node + Postgres' }

function target(call: string, name: Name, measure: Measure, other: Name, limit: number): Target {
  const title = `${call}: ${name} to ${other}, ${words[measure]}`
  return { title, measure, one: { call, name }, other: { call, name: other }, limit }
}

/** What the service is to cost at most, as ratios of processor time a request. */
export const targets: Target[] = [
  target('vouchers', 'rest', 'node', 'L0', 1.35),
  target('vouchers', 'rest', 'node', 'L1', 0.5),
  target('vouchers', 'rest', 'total', 'L0', 0.9),
  target('products', 'rest', 'node', 'L0', 2.2),
  target('products', 'rest', 'node', 'L1', 0.75),
  target('products', 'rest', 'total', 'L0', 1.05),
  target('voucher', 'rest', 'node', 'L1', 1.1),
  target('voucher', 'rest', 'total', 'L0', 1.1),
  target('vouchers', 'rest', 'node', 'mercurius', 0.5),
  target('products', 'rest', 'node', 'mercurius', 0.5),
  target('vouchers', 'graphql', 'node', 'mercurius', 1),
  target('products', 'graphql', 'node', 'mercurius', 1),
  target('voucher', 'graphql', 'node', 'mercurius', 1.5),
  {
    title: 'rest: the last pages of the largest list to its first, Node + Postgres',
    measure: 'total',
    one: { call: 'last', name: 'rest' },
    other: { call: 'first', name: 'rest' },
    limit: 1.2,
  },
]

/** @returns a table of the targets: what came out, and whether that is within them; without those not measured */
export function describeTargets(results: Results): string {
  const valuesOf = ({ call, name }: Side, measure: Measure) =>
    [...results]
      .find(([{ name: found }]) => found === call)?.[1]
      .get(name)
      ?.map(figures => figures[measure])
  const rows = targets.flatMap(({ title, measure, one, other, limit }) => {
    const values = valuesOf(one, measure)
    const bases = valuesOf(other, measure)
    if (!values || !bases) return []
    const ratio = median(values.map((value, round) => value / bases[round]!))
    return [[title, `≤ ${limit}`, ratio.toFixed(2), ratio <= limit ? 'reached' : 'not reached']]
  })
  return table(['target', 'limit', 'median', ''], rows)
}
