import { describeQuartiles, median, table } from '../summary.ts'
import type { Call } from './calls.ts'
import { meanings, type Name } from './line-up.ts'
import { connections } from './load.ts'
import type { Figures, Results } from './rounds.ts'
import { describeTargets } from './targets.ts'

const pick = (figures: Figures[], measure: keyof Figures) => figures.map(round => round[measure])

function describeCall(call: Call, ofCall: Map<Name, Figures[]>): string {
  const ratio = (figures: Figures[], measure: keyof Figures, to: Name) => {
    const base = ofCall.get(to)
    return base ? describeQuartiles(pick(figures, measure), pick(base, measure)) : '–'
  }
  const rows = [...ofCall]
    .filter(([name]) => name !== 'rest again')
    .map(([name, figures]) => {
      const mid = (measure: keyof Figures, digits: number) => median(pick(figures, measure)).toFixed(digits)
      return [
        name,
        mid('node', 0),
        mid('postgres', 0),
        ratio(figures, 'node', 'L0'),
        ratio(figures, 'node', 'L1'),
        ratio(figures, 'total', 'L0'),
        mid('perSecond', 0),
        mid('p50', 1),
        mid('p99', 1),
      ]
    })
  const heads = [
    '',
    'Node, µs',
    'Postgres, µs',
    'Node to L0',
    'Node to L1',
    'total to L0',
    'requests/s',
    'p50, ms',
    'p99, ms',
  ]
  const again = ofCall.get('rest again')
  const noise = again
    ? `\n\nA/A: Node ${ratio(again, 'node', 'rest')}, total ${ratio(again, 'total', 'rest')}, requests/s ${ratio(again, 'perSecond', 'rest')}.`
    : ''
  return `### ${call.title}\n\n${table(heads, rows)}${noise}`
}

/** @returns the results in Markdown */
export function describeResults(results: Results, options: { rounds: number; seconds: number }): string {
  const present = [...new Set([...results.values()].flatMap(ofCall => [...ofCall.keys()]))]
  const explained = present.map(name => `- ${name}: ${meanings[name]}`).join('\n')
  return `${explained}

Processor time a request, of the Node process and of all of PostgreSQL, as the operating system counts it; \
${connections} connections, pools of 10, in turns, each ${options.seconds} s a round; rounds: ${options.rounds}. Figures are medians of the \
rounds. Ratios are paired, of the same round: median (quartiles); less is better. L0, L1, mercurius, yoga and \
postgraphile know neither rate, permissions, the tree of tenants nor the watermark that keeps a sync lossless: they do \
less.

${[...results].map(([call, ofCall]) => describeCall(call, ofCall)).join('\n\n')}

### Targets

${describeTargets(results)}`
}

/** @returns all calls in one table, as ratios to the hand-written service: what the README shows */
export function describeInShort(results: Results): string {
  const calls = [...results].filter(([, ofCall]) => ofCall.has('L1'))
  const present = [...new Set(calls.flatMap(([, ofCall]) => [...ofCall.keys()]))].filter(name => name !== 'rest again')
  const ratio = (ofCall: Map<Name, Figures[]>, name: Name, measure: keyof Figures) => {
    const base = pick(ofCall.get('L1') ?? [], measure)
    return median(pick(ofCall.get(name) ?? [], measure).map((value, round) => value / base[round]!)).toFixed(2)
  }
  const rows = present.map(name => [
    meanings[name],
    ...calls.map(([, ofCall]) =>
      ofCall.has(name) ? `${ratio(ofCall, name, 'node')} · ${ratio(ofCall, name, 'total')}` : '–',
    ),
  ])
  return table(['', ...calls.map(([{ title }]) => title.replace(/^[A-Z]/, letter => letter.toLowerCase()))], rows)
}
