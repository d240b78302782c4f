/**
 * The cost of the gateway for the platform's writers: `npm run bench -- writers`. Measures all contenders on one server,
 * in turns, and compares them with the platform's own tables in the same round.
 */
import { parseArgs } from 'node:util'
import { describeRatios, logProgress, median, record, table } from './harness/report.ts'
import { rotated } from './harness/rounds.ts'
import { bare, ContenderDatabases, complete, stamps, variantOf } from './writers/databases.ts'
import { stopPublisher } from './writers/replication.ts'
import { type Workload, workloads, writers } from './writers/workloads.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1' },
    /** Commits do not wait for the disk, which leaves the CPU's work alone. */
    'not-durable': { type: 'boolean', default: false },
    /** Files of SQL, each an additional contender: stamps, changed by it. */
    variant: { type: 'string', multiple: true, default: [] },
    /** A regular expression: only the workloads whose names match. */
    only: { type: 'string', default: '' },
    /** A regular expression: only the contenders whose names match, beside the bare one. */
    contenders: { type: 'string', default: '' },
    /** Writes the results into RESULTS.md. */
    record: { type: 'boolean', default: false },
  },
})
const others = [stamps, complete, ...options.variant.map(variantOf)]
const contenders = [bare, ...others.filter(({ name }) => new RegExp(options.contenders).test(name))]

/** @returns the figures of each workload: a list of rounds for each contender */
async function compete(databases: ContenderDatabases): Promise<Map<Workload, number[][]>> {
  const chosen = workloads.filter(({ name }) => new RegExp(options.only).test(name))
  const outcome = new Map(chosen.map(workload => [workload, contenders.map((): number[] => [])]))
  for (let round = 0; round < Number(options.rounds); round++) {
    const copies = await databases.freshCopies(writers)
    for (const [workload, figures] of outcome) {
      for (const index of rotated([...contenders.keys()], round)) {
        figures[index]!.push(await workload.measure(copies[index]!, Number(options.seconds)))
      }
      logProgress(`round ${round + 1} of ${options.rounds}: ${workload.name}`)
    }
    for (const connection of copies.flat()) await connection.end()
  }
  return outcome
}

const limits = { '/s': '≥', ms: '≤', bytes: '≤' }

function describe(outcome: Map<Workload, number[][]>): string {
  const rows = [...outcome].map(([{ name, unit, limit }, [base = [], ...figures]]) => [
    name,
    limit === undefined ? '' : `${limits[unit]} ${limit}`,
    `${median(base).toFixed(0)} ${unit}`,
    ...figures.map(values => (unit === 'bytes' ? median(values).toFixed(0) : describeRatios(values, base))),
  ])
  return table(['', 'limit', ...contenders.map(({ name }) => name)], rows)
}

const durable = !options['not-durable']
await ContenderDatabases.run(contenders, { durable, empty: false }, async databases => {
  const text = `${databases.describe()}

${writers} writers of single rows, ${options.rounds} rounds in turns. "Bare" are the platform's own tables with primary key, \
reference and QR token alone: its figures are medians. The others have ratios to it, of the same round: median \
(quartiles). Of a rate, more is better; of a time, less is better. Bytes are no ratios.

${describe(await compete(databases))}`
  await stopPublisher()
  console.log(text)
  if (options.record) record(durable ? 'Writers' : 'Writers, not durable', text)
})
