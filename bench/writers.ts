/**
 * What it costs writers that no record is lost in a sync: `npm run bench:writers`. All contenders are measured in one
 * run on one server, in turns, and compared with what the measure of them did in the same round.
 */
import { parseArgs } from 'node:util'
import type { Pool } from '../src/db/connect.ts'
import { Arena, type Contender, naive, stamped, twin, unstamped, variantOf } from './contenders.ts'
import { describeRatios, median, record, table } from './harness/report.ts'
import { lagOfWatermark, timeWatermark } from './watermark.ts'
import { holding, measure, type Workload, workloads, writers } from './workloads.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '1' },
    /** Without waiting for the disk: what is left is the work alone. */
    'not-durable': { type: 'boolean', default: false },
    /** Files of SQL, each tried as a contender more. */
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
const contenders: Contender[] = [unstamped, twin, naive, stamped, ...options.variant.map(variantOf)]

/** What each workload came to: a list of rounds for each contender. */
type Outcome = Map<Workload, number[][]>

/** @returns the workloads that were asked for and that this version of the triggers offers */
async function choose(arena: Arena): Promise<Workload[]> {
  const canHold = await arena.hasFunction(holding)
  return workloads.filter(({ name, holds }) => name.includes(options.only) && (!holds || canHold))
}

async function compete(arena: Arena): Promise<Outcome> {
  const chosen = await choose(arena)
  const outcome: Outcome = new Map(chosen.map(workload => [workload, contenders.map((): number[] => [])]))
  for (let round = 0; round < rounds; round++) {
    const copies = await arena.freshCopies(contenders, writers)
    for (const [workload, figures] of outcome) {
      // Nobody is always the first.
      const turns = [...contenders.keys()].map(index => (index + round) % contenders.length)
      for (const index of turns) figures[index]!.push(await measure(workload, copies[index]!, { seconds }))
    }
    for (const connection of copies.flat()) await connection.end()
    process.stderr.write(`round ${round + 1} of ${rounds}\n`)
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

async function describeWatermark(arena: Arena): Promise<string> {
  const rows: string[][] = []
  const lags: string[][] = []
  for (const [index, contender] of contenders.entries()) {
    if (contender === unstamped || contender === twin || contender === naive) continue
    await arena.freshCopies(contenders, 0)
    const connections = Array.from({ length: 101 }, () => arena.open(`copy_${index}`))
    const [reader, holder, ...others] = connections as [Pool, Pool, ...Pool[]]
    for (const open of [0, 20, 100]) {
      const { watermark, nothing } = await timeWatermark(reader, connections.slice(1, 1 + open))
      rows.push([contender.name, String(open), `${watermark.toFixed(2)} ms`, `${nothing.toFixed(2)} ms`])
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

await Arena.run({ durable: !options['not-durable'] }, async arena => {
  await arena.prepare(contenders)
  const text = `${await arena.describe()}

${writers} writers, ${rounds} rounds in turns. The first contender has no triggers: its figures are medians of \
transactions a second, or of milliseconds. The others have ratios to it, of the same round: median (least–most). Of \
transactions a second, more is better; of 20,000 rows the ratio is of times, and less is better.

${describe(await compete(arena))}

${options['no-watermark'] ? '' : await describeWatermark(arena)}`
  console.log(text)
  if (options.record) record(options['not-durable'] ? 'Writers, not durable' : 'Writers', text)
})
