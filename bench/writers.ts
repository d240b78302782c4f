/**
 * What the triggers that make a sync lossless cost writers: `npm run bench:writers`. Measures all contenders on one
 * server, in turns, and compares them with the unstamped one in the same round.
 */
import { parseArgs } from 'node:util'
import type { Pool } from '../src/db/connect.ts'
import { describeRatios, logProgress, median, record, table } from './harness/report.ts'
import { inTurns } from './harness/rounds.ts'
import {
  type Contender,
  ContenderDatabases,
  naive,
  stamped,
  unstamped,
  unstampedAgain,
  variantOf,
} from './writers/databases.ts'
import { lagOfWatermark, timeWatermark } from './writers/watermark.ts'
import { measure, type Workload, workloads, writers } from './writers/workloads.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '1' },
    /** Commits do not wait for the disk, which leaves the CPU's work alone. */
    'not-durable': { type: 'boolean', default: false },
    /** Files of SQL, each an additional contender. */
    variant: { type: 'string', multiple: true, default: [] },
    /** Only the workloads whose names contain it. */
    only: { type: 'string', default: '' },
    'no-watermark': { type: 'boolean', default: false },
    /** Writes the results into RESULTS.md. */
    record: { type: 'boolean', default: false },
  },
})
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)
const contenders: Contender[] = [unstamped, unstampedAgain, naive, stamped, ...options.variant.map(variantOf)]

/** The figures of each workload: a list of rounds for each contender. */
type Outcome = Map<Workload, number[][]>

async function compete(databases: ContenderDatabases): Promise<Outcome> {
  const chosen = workloads.filter(({ name }) => name.includes(options.only))
  const outcome: Outcome = new Map(chosen.map(workload => [workload, contenders.map((): number[] => [])]))
  for (let round = 0; round < rounds; round++) {
    const copies = await databases.freshCopies(writers)
    for (const [workload, figures] of outcome) {
      for (const index of inTurns([...contenders.keys()], round)) {
        figures[index]!.push(await measure(workload, copies[index]!, { seconds }))
      }
    }
    for (const connection of copies.flat()) await connection.end()
    logProgress(`round ${round + 1} of ${rounds}`)
  }
  return outcome
}

function describe(outcome: Outcome): string {
  const rows = [...outcome].map(([{ name, kind }, figures]) => {
    const base = median(figures[0]!)
    const absolute = kind === 'throughput' ? `${base.toFixed(0)}/s` : `${(base * 1000).toFixed(0)} ms`
    return [name, absolute, ...figures.slice(1).map(values => describeRatios(values, figures[0]!))]
  })
  return table(['transaction', ...contenders.map(({ name }) => name)], rows)
}

async function describeWatermark(databases: ContenderDatabases): Promise<string> {
  const rows: string[][] = []
  const lags: string[][] = []
  for (const contender of contenders) {
    if (contender === unstamped || contender === unstampedAgain || contender === naive) continue
    await databases.freshCopies(0)
    const connections = Array.from({ length: 101 }, () => databases.open(contender))
    const [reader, holder, ...others] = connections as [Pool, Pool, ...Pool[]]
    for (const open of [0, 20, 100]) {
      const { watermark, empty } = await timeWatermark(reader, connections.slice(1, 1 + open))
      rows.push([contender.name, String(open), `${watermark.toFixed(2)} ms`, `${empty.toFixed(2)} ms`])
    }
    for (const changed of [1, 1000]) {
      const lagging: [Pool, Pool, ...Pool[]] = [reader, holder, ...others.slice(0, writers)]
      const lag = await lagOfWatermark(lagging, { short: workloads[0]!, rows: changed, seconds: 5 })
      const figures = [lag.p50, lag.p99, lag.max].map(figure => `${figure.toFixed(1)} ms`)
      lags.push([contender.name, String(changed), ...figures])
    }
    for (const connection of connections) await connection.end()
  }
  return `${table(['contender', 'open writers', '`select gateway.watermark()`', '`select 1`'], rows)}

How far the watermark is behind the clock while one transaction is held open for 5 s and ${writers} short writers run:

${table(['contender', 'rows that the long one changed', 'p50', 'p99', 'max'], lags)}`
}

const durable = !options['not-durable']
await ContenderDatabases.run(contenders, { durable, empty: false }, async databases => {
  const text = `${databases.describe()}

${writers} writers, ${rounds} rounds in turns. The first contender has no triggers: its figures are medians of \
transactions a second, or of milliseconds. The others have ratios to it, of the same round: median (quartiles). Of \
transactions a second, more is better; of 20,000 rows the ratio is of times, and less is better.

${describe(await compete(databases))}

${options['no-watermark'] ? '' : await describeWatermark(databases)}`
  console.log(text)
  if (options.record) record(durable ? 'Writers' : 'Writers, not durable', text)
})
