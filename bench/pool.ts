/**
 * Whether the service's ways with its database are well chosen: `npm run bench:pool`. The size of its pool, that
 * statements are prepared, and how far the statement time-out lies above the slowest statement. Over the seeded
 * database of `npm run bench`; Linux alone.
 */
import { execFileSync } from 'node:child_process'
import { availableParallelism, cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { statementTimeoutMs } from '../src/cli/database.ts'
import { readConfig } from '../src/config.ts'
import { type Call, readCalls } from './harness/calls.ts'
import { serverClock } from './harness/cpu.ts'
import { openSeeded, type SeededDatabase } from './harness/database.ts'
import { serviceDoor, startService } from './harness/line-up.ts'
import { Load } from './harness/load.ts'
import { compile, installPackages, root } from './harness/packages.ts'
import { timeStatements, type Waited } from './harness/patience.ts'
import { describeStatements, unprepared } from './harness/prepared.ts'
import type { Running } from './harness/process.ts'
import { type Figures, measure, type Results } from './harness/rounds.ts'
import { sizes } from './harness/seed.ts'
import { captureStatements } from './harness/statements.ts'
import { describeQuartiles, median, record, table } from './summary.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '2' },
    /** One of its parts: pool, prepared or time-out. */
    only: { type: 'string' },
    /** Proves that it works: a hundredth of the data, one moment of each. Its figures mean nothing. */
    short: { type: 'boolean', default: false },
    /** Writes the results into RESULTS.md. */
    record: { type: 'boolean', default: false },
  },
})
if (options.short && options.record) throw new Error('What --short measures is not for the record.')
const partNames = ['pool', 'prepared', 'time-out']
if (options.only !== undefined && !partNames.includes(options.only)) {
  throw new Error(`--only takes one of: ${partNames.join(', ')}.`)
}
if (options.only !== undefined && options.record) throw new Error('The record is of all parts.')
const size = options.short ? 'short' : 'full'
const timing = options.short
  ? { rounds: 1, seconds: 0.3, warmUp: 0.2 }
  : { rounds: Number(options.rounds), seconds: Number(options.seconds), warmUp: 2 }
const runs = options.short ? { warm: 3, cold: 1, seconds: 0.3 } : { warm: 20, cold: 3, seconds: 3 }

const began = performance.now()
const say = (text: string) =>
  process.stderr.write(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${text}\n`)

/** As many connections as `DATABASE_POOL` has when it is not set. */
const usual = readConfig({}).databasePool
const poolSizes = [...new Set([2, 4, 6, 10, 20, 40, usual])].sort((one, other) => one - other)
const loads = [4, 16, 64]

/** A service that runs, by the name under which its figures are listed. */
type Contestant = Running & { name: string }

/** The calls of these names, and their requests. */
async function requestsOf({ sql, secret }: SeededDatabase, wanted: string[]) {
  const door = serviceDoor(secret)
  const calls = (await readCalls(sql, sizes[size])).filter(({ name }) => wanted.includes(name))
  return Promise.all(
    calls.map(async call => {
      const asked = await Promise.all(call.samples.map(sample => door.ask(call.operation, sample, '')))
      return [call, asked] as const
    }),
  )
}

/** Sets services that differ in their environment beside each other. */
async function compete(
  database: SeededDatabase,
  load: Load,
  settings: Record<string, NodeJS.ProcessEnv>,
  wanted: string[],
  busy: readonly number[],
): Promise<Map<number, Results<string>>> {
  const contestants: Contestant[] = []
  const outcome = new Map<number, Results<string>>()
  try {
    for (const [name, environment] of Object.entries(settings)) {
      contestants.push({ name, ...(await startService(database, [], environment)) })
    }
    const requests = new Map(
      (await requestsOf(database, wanted)).map(([call, asked]) => [
        call,
        new Map(contestants.map(contestant => [contestant, asked])),
      ]),
    )
    const server = { sql: database.sql, clock: await serverClock(database.sql) }
    for (const number of busy) {
      const tell = (text: string) => say(`${number} connections of load: ${text}`)
      outcome.set(number, await measure(requests, load, server, { ...timing, busy: number }, tell))
    }
    return outcome
  } finally {
    await Promise.all(contestants.map(contestant => contestant.stop()))
  }
}

const heads = ['requests/s', 'p50, ms', 'p99, ms', 'Node, µs', 'Postgres, µs']

/** The rows of a table: what each made of a call, and what that is to the one of the given name. */
function rowsOf(ofCall: Map<string, Figures[]>, base: string): string[][] {
  const pick = (figures: Figures[], measure: keyof Figures) => figures.map(round => round[measure])
  return [...ofCall].map(([name, figures]) => {
    const mid = (measure: keyof Figures, digits: number) => median(pick(figures, measure)).toFixed(digits)
    const ratio = (measure: keyof Figures) =>
      name === base ? '1' : describeQuartiles(pick(figures, measure), pick(ofCall.get(base)!, measure))
    return [
      name,
      mid('perSecond', 0),
      mid('p50', 1),
      mid('p99', 1),
      mid('node', 0),
      mid('postgres', 0),
      ratio('perSecond'),
      ratio('p99'),
      ratio('total'),
    ]
  })
}

async function describePools(database: SeededDatabase, load: Load): Promise<string> {
  const base = String(usual)
  const settings = Object.fromEntries(poolSizes.map(max => [`${max}`, { DATABASE_POOL: String(max) }]))
  const all = { ...settings, [`${base} again`]: { DATABASE_POOL: base } }
  const outcome = await compete(database, load, all, ['vouchers', 'voucher'], loads)
  const ratios = ['requests/s', 'p99', 'processor time'].map(head => `${head}, to ${base}`)
  const calls: Call[] = [...(outcome.get(loads[0]!)?.keys() ?? [])]
  const tables = calls.flatMap(call =>
    loads.map(busy => {
      const rows = rowsOf([...outcome.get(busy)!].find(([{ name }]) => name === call.name)![1], base)
      return `#### ${call.title}, ${busy} connections of load\n\n${table(['pool', ...heads, ...ratios], rows)}`
    }),
  )
  return `### Size of the pool

\`DATABASE_POOL\` is ${base} when it is not set. \`${base} again\` is the same in another process: how far from 1 the \
ratio of equals comes out. All run at once; those that are not asked keep their connections.

${tables.join('\n\n')}`
}

const preparedBusy = 16

async function describePrepared(database: SeededDatabase, load: Load): Promise<string> {
  const settings = {
    prepared: {},
    'prepared again': {},
    'not prepared': { DATABASE_URL: unprepared(database.url) },
  }
  const wanted = ['vouchers', 'products', 'voucher', 'resolution']
  const outcome = await compete(database, load, settings, wanted, [preparedBusy])
  const ratios = ['requests/s', 'p99', 'processor time'].map(head => `${head}, to prepared`)
  const tables = [...outcome.get(preparedBusy)!].map(
    ([{ title }, ofCall]) => `#### ${title}\n\n${table(['', ...heads, ...ratios], rowsOf(ofCall, 'prepared'))}`,
  )
  const asked = (await requestsOf(database, wanted)).flatMap(([, requests]) => requests.slice(0, 200))
  const statements = await captureStatements(database, asked)
  const clock = await serverClock(database.sql)
  const seconds = timing.seconds / 4
  const each = await describeStatements(database, clock, statements, { rounds: timing.rounds, seconds })
  say('prepared and not: by statement')
  return `### Prepared statements

The driver prepares each statement once on each connection. Not prepared (\`prepare=false\` in the address), a statement \
is parsed and planned each time, and one with parameters goes back and forth twice: the driver first asks for their \
types. ${preparedBusy} connections of load.

${tables.join('\n\n')}

#### Each statement

What these requests sent and only reads, sent again by the driver alone, its cells left as they come; ten at once over ten connections, \
${seconds} s a round. Ratios of off to on; less would speak for off.

${each}`
}

function describeTimes(waited: Waited[]): string {
  const figures = (times: number[]) => `${median(times).toFixed(1)}, ${Math.max(...times).toFixed(1)}`
  const rows = waited.map(({ title, statement, warm, loaded, cold }) => {
    const slowest = Math.max(...warm, ...loaded, ...cold)
    const factor = (statementTimeoutMs / slowest).toFixed(0)
    return [title, `\`${statement}\``, figures(warm), figures(loaded), figures(cold), factor]
  })
  const slowest = Math.max(...waited.flatMap(({ warm, loaded, cold }) => [...warm, ...loaded, ...cold]))
  const seconds = statementTimeoutMs / 1000
  return `### Statement time-out

A statement may take ${seconds} s. The slowest measured took ${slowest.toFixed(0)} ms: the time-out is \
${(statementTimeoutMs / slowest).toFixed(0)} times that. Milliseconds, p50 and most: warm, ${runs.warm} runs or one at each of up to 1,000 places; beside \
16 connections of load that ask for pages of vouchers, as many as went into ${runs.seconds} s; and cold, ${runs.cold} \
runs, each the first that reads from a server started after the system had forgotten its files. The CSV of the audit \
is not exempt, for each of its batches is a statement.

${table(['', 'statement', 'warm', 'beside a load', 'cold', 'time-out to the most'], rows)}`
}

installPackages()
compile()
say('installed and compiled')
const load = new Load()
const isWanted = (part: string) => options.only === undefined || options.only === part
const parts: string[] = []
let version = ''
try {
  const database = await openSeeded(size, say)
  try {
    version = database.version
    if (isWanted('pool')) parts.push(await describePools(database, load))
    if (isWanted('prepared')) parts.push(await describePrepared(database, load))
  } finally {
    await database.close()
  }
  if (isWanted('time-out')) parts.push(describeTimes(await timeStatements(size, load, runs, say)))
} finally {
  load.stop()
}
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
const { products, vouchers } = sizes[size]
const text = `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model ?? 'unknown processor'}, \
${availableParallelism()} cores, Node ${process.version}, PostgreSQL ${version}, commit ${commit}. \
${products.toLocaleString('en')} products, ${vouchers.toLocaleString('en')} vouchers.

In turns, each ${timing.seconds} s a round; rounds: ${timing.rounds}. Figures are medians of the rounds; processor time \
is a request's, of the Node process and of all of PostgreSQL. Ratios are paired, of the same round: median (quartiles); \
of requests a second more is better, of all else less.

${parts.join('\n\n')}`
console.log(options.short ? `These figures mean nothing: all works.\n\n${text}` : text)
if (options.record) record('Pool, prepared statements, time-out', text)
