import { connections } from '../harness/load.ts'
import { describeRatios, median, ratios, table } from '../harness/report.ts'
import type { Figures, Results, Timing } from '../harness/rounds.ts'
import type { Call } from './calls.ts'
import { isName, meanings } from './contenders.ts'
import { describeTargets } from './targets.ts'

type Measure = keyof Figures

const pick = (figures: Figures[] | undefined, measure: Measure) => (figures ?? []).map(round => round[measure])

function describeCall(call: Call, ofCall: Map<string, Figures[]>): string {
  const ratio = (figures: Figures[], measure: Measure, base: string) =>
    ofCall.has(base) ? describeRatios(pick(figures, measure), pick(ofCall.get(base), measure)) : '–'
  const rows = [...ofCall]
    .filter(([name]) => name !== 'rest again')
    .map(([name, figures]) => {
      const middle = (measure: Measure, digits: number) => median(pick(figures, measure)).toFixed(digits)
      return [
        name,
        middle('node', 0),
        middle('postgres', 0),
        ratio(figures, 'node', 'L0'),
        ratio(figures, 'node', 'L1'),
        ratio(figures, 'total', 'L0'),
        middle('perSecond', 0),
        middle('p50', 1),
        middle('p99', 1),
      ]
    })
  const heads = [
    '',
    'Node, µs',
    'Postgres, µs',
    'Node / L0',
    'Node / L1',
    'total / L0',
    'per second',
    'p50, ms',
    'p99, ms',
  ]
  const again = ofCall.get('rest again')
  const noise = again ? `\n\nEquals: Node ${ratio(again, 'node', 'rest')}, total ${ratio(again, 'total', 'rest')}.` : ''
  return `### ${call.title}\n\n${table(heads, rows)}${noise}`
}

/** @returns the results in Markdown */
export function describeResults(calls: Call[], results: Results, timing: Timing): string {
  const present = new Set([...results.values()].flatMap(ofCall => [...ofCall.keys()]).filter(isName))
  const explained = [...present].map(name => `- ${name}: ${meanings[name]}`).join('\n')
  return `${explained}

CPU time a request, of the Node process and of all of PostgreSQL; ${connections} connections, pools of 10; \
${timing.rounds} rounds in turns of some ${timing.seconds} s, the second half of a round in reverse order. Figures are medians. Ratios are of the same round: median \
(quartiles); less is better. L0 and L1 have no rate, permissions or tree of tenants: they do less. \
"Equals" is the ratio of rest again to rest: noise.

${calls.map(call => describeCall(call, results.get(call.name) ?? new Map())).join('\n\n')}

### Targets

${describeTargets(results)}`
}

/** @returns all calls in one table, as ratios to the hand-written service: what docs/performance.md shows */
export function describeSummary(calls: Call[], results: Results): string {
  const shown = calls.filter(call => results.get(call.name)?.has('L1'))
  const present = new Set(shown.flatMap(call => [...(results.get(call.name)?.keys() ?? [])]).filter(isName))
  present.delete('rest again')
  const cell = (ofCall: Map<string, Figures[]> | undefined, name: string) => {
    const ratio = (measure: Measure) =>
      median(ratios(pick(ofCall?.get(name), measure), pick(ofCall?.get('L1'), measure))).toFixed(2)
    return ofCall?.has(name) ? `${ratio('node')} · ${ratio('total')}` : '–'
  }
  const rows = [...present].map(name => [meanings[name], ...shown.map(call => cell(results.get(call.name), name))])
  return table(['', ...shown.map(({ title }) => title.replace(/^[A-Z]/, letter => letter.toLowerCase()))], rows)
}
