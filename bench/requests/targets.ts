import { median, ratios, table } from '../harness/report.ts'
import type { Figures, Results } from '../harness/rounds.ts'
import type { Name } from './contenders.ts'

type Measure = 'node' | 'total'

/** One side of a comparison: a contender's figures for a call. */
interface Side {
  call: string
  name: Name
}

interface Target {
  title: string
  measure: Measure
  side: Side
  base: Side
  /** The highest ratio that is allowed. */
  limit: number
}

const words: Record<Measure, string> = { node: 'Node', total: 'Node + Postgres' }

const target = (call: string, name: Name, measure: Measure, base: Name, limit: number): Target => ({
  title: `${call}: ${name} / ${base}, ${words[measure]}`,
  measure,
  side: { call, name },
  base: { call, name: base },
  limit,
})

/** The CPU time that the service may take, as ratios. */
const targets: Target[] = [
  target('vouchers', 'rest', 'node', 'L0', 1.35),
  target('vouchers', 'rest', 'node', 'L1', 0.5),
  target('vouchers', 'rest', 'total', 'L0', 0.9),
  target('products', 'rest', 'node', 'L0', 2.2),
  target('products', 'rest', 'node', 'L1', 0.75),
  target('products', 'rest', 'total', 'L0', 1.05),
  target('voucher', 'rest', 'node', 'L1', 1.15),
  target('voucher', 'rest', 'total', 'L0', 1.1),
  target('resolution', 'rest', 'node', 'L1', 1.25),
  target('vouchers', 'rest', 'node', 'mercurius', 0.5),
  target('products', 'rest', 'node', 'mercurius', 0.5),
  target('vouchers', 'graphql', 'node', 'L1', 1),
  target('products', 'graphql', 'node', 'L1', 1),
  target('vouchers', 'graphql', 'node', 'mercurius', 1),
  target('products', 'graphql', 'node', 'mercurius', 1),
  target('voucher', 'graphql', 'node', 'mercurius', 1.5),
  {
    title: 'rest: the last pages of the largest list / its first, Node + Postgres',
    measure: 'total',
    side: { call: 'last', name: 'rest' },
    base: { call: 'first', name: 'rest' },
    limit: 1.2,
  },
]

/** @returns a table of the targets that were measured */
export function describeTargets(results: Results): string {
  const valuesOf = ({ call, name }: Side, measure: keyof Figures) =>
    results
      .get(call)
      ?.get(name)
      ?.map(figures => figures[measure])
  const rows = targets.flatMap(({ title, measure, side, base, limit }) => {
    const values = valuesOf(side, measure)
    const bases = valuesOf(base, measure)
    if (!values || !bases) return []
    const ratio = median(ratios(values, bases))
    return [[title, `≤ ${limit}`, ratio.toFixed(2), ratio <= limit ? 'reached' : 'not reached']]
  })
  return table(['target', 'limit', 'median', ''], rows)
}
