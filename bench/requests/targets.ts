import { median, ratios, table } from '../harness/report.ts'
import type { Figures, Results } from '../harness/rounds.ts'
import type { Name } from './contenders.ts'

const words = { node: 'Node', total: 'Node + Postgres' }

/** The contender of a call. */
type Side = `${string}: ${Name}`

/** The highest ratios of CPU time that are allowed. */
const targets: [side: Side, base: Side, measure: keyof typeof words, limit: number][] = [
  ['vouchers: rest', 'vouchers: L1', 'node', 0.45],
  ['products: rest', 'products: L1', 'node', 0.45],
  ['voucher: rest', 'voucher: L1', 'node', 1],
  ['resolution: rest', 'resolution: L1', 'node', 1.2],
  ['vouchers: rest', 'vouchers: L1', 'total', 0.7],
  ['products: rest', 'products: L1', 'total', 0.7],
  ['vouchers: rest', 'vouchers: L0', 'total', 0.9],
  ['products: rest', 'products: L0', 'total', 1.05],
  ['vouchers: graphql', 'vouchers: L1', 'node', 1],
  ['products: graphql', 'products: L1', 'node', 1],
  // A page costs the same at any depth.
  ['last: rest', 'first: rest', 'total', 1.2],
]

/** @returns a table of the targets that were measured */
export function describeTargets(results: Results): string {
  const valuesOf = (side: Side, measure: keyof Figures) => {
    const [call = '', name = ''] = side.split(': ')
    return (
      results
        .get(call)
        ?.get(name)
        ?.map(figures => figures[measure]) ?? []
    )
  }
  const rows = targets.flatMap(([side, base, measure, limit]) => {
    const [values, bases] = [valuesOf(side, measure), valuesOf(base, measure)]
    if (values.length === 0 || bases.length === 0) return []
    const ratio = median(ratios(values, bases))
    const outcome = ratio <= limit ? 'reached' : 'not reached'
    return [[`${side} / ${base}, ${words[measure]}`, `≤ ${limit}`, ratio.toFixed(2), outcome]]
  })
  return table(['target', 'limit', 'median', ''], rows)
}
