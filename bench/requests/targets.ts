import { type Goal, judge } from '../harness/goals.ts'
import { ratios } from '../harness/report.ts'
import { type Figures, type Results, valuesOf } from '../harness/rounds.ts'
import type { Name } from './contenders.ts'

const words = { node: 'Node', total: 'Node + Postgres' }

/** The contender of a call. */
type Side = `${string}: ${Name}`

/** The goals of ratios of CPU time. */
const targets: [side: Side, base: Side, measure: keyof typeof words, goal: Goal][] = [
  ['vouchers: rest', 'vouchers: L1', 'node', '≤ 0.5'],
  ['products: rest', 'products: L1', 'node', '≤ 0.5'],
  ['voucher: rest', 'voucher: L1', 'node', '≤ 1'],
  ['resolution: rest', 'resolution: L1', 'node', '≤ 1.2'],
  ['resolution: rest', 'resolution: L1', 'total', '≤ 1'],
  ['vouchers: rest', 'vouchers: L1', 'total', '≤ 0.7'],
  ['products: rest', 'products: L1', 'total', '≤ 0.7'],
  ['vouchers: rest', 'vouchers: L0', 'total', '≤ 0.9'],
  ['products: rest', 'products: L0', 'total', '≤ 1.05'],
  ['vouchers: graphql', 'vouchers: L1', 'node', '≤ 1'],
  ['products: graphql', 'products: L1', 'node', '≤ 1'],
  // A page costs the same at any depth.
  ['last: rest', 'first: rest', 'total', '≤ 1.2'],
]

/** @returns a table of the targets that were measured */
export function describeTargets(results: Results): string {
  const valuesOfSide = (side: Side, measure: keyof Figures) => {
    const [call = '', name = ''] = side.split(': ')
    return valuesOf(results, call, name, measure)
  }
  const measured = targets.map(([side, base, measure, goal]) => ({
    ...{ name: `${side} / ${base}, ${words[measure]}`, goal },
    values: ratios(valuesOfSide(side, measure), valuesOfSide(base, measure)).filter(ratio => !Number.isNaN(ratio)),
  }))
  return judge(measured.filter(({ values }) => values.length > 0))
}
