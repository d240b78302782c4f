/**
 * The cost of a bulk export: `npm run bench -- export`. Exports the vouchers of one tenant, and copies the same columns
 * with COPY through Node, in turns. Then other requests are measured beside an export. Fails when a full run misses a
 * bar.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { vouchers } from '../src/domain/record/voucher.ts'
import { exportPath } from '../src/http/paths.ts'
import { Reader } from './export/reader.ts'
import { type CpuClock, postgresCpu, processCpu } from './harness/cpu-time.ts'
import { Load, type Outcome } from './harness/load.ts'
import { buildService, root } from './harness/packages.ts'
import { baseEnvironment, type Running, startProcess, startService } from './harness/processes.ts'
import { describeRun, logProgress, median, record, table } from './harness/report.ts'
import { bigTenant } from './harness/seed.ts'
import { openSeeded, type SeededDatabase } from './harness/seeded-database.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    /** Seconds of each measurement beside an export. */
    seconds: { type: 'string', default: '3' },
    /** A hundredth of the data and one round: shows that the benchmark works. */
    short: { type: 'boolean', default: false },
    /** Writes the results into RESULTS.md. */
    record: { type: 'boolean', default: false },
  },
})
if (options.short && options.record) throw new Error('The figures of --short are not recorded.')
const rounds = options.short ? 1 : Number(options.rounds)
const seconds = options.short ? 0.5 : Number(options.seconds)

/** The bars that an export must reach. */
const bars = {
  /**
   * The target: the vouchers that one core of Node exports in a second, or this share of the rate of COPY through Node,
   * whichever is lower.
   */
  perSecond: 100_000,
  ofCopy: 0.6,
  /** The most that the memory of the process may grow, in MiB. */
  memory: 64,
  /** The most times longer that 99 % of other requests may take beside an export. */
  p99: 2,
}

/** Connections that ask for pages beside an export: few, so that the machine has a core left. */
const besides = [1, 4]

/** The cost of reading all vouchers once. */
interface Figures {
  rows: number
  seconds: number
  /** CPU time of the process that sent them, and of PostgreSQL, in seconds. */
  node: number
  postgres: number
  /** In bytes a row. */
  size: number
  /** The most that the memory of the process grew, in MiB. */
  memory: number
}

interface Contender {
  name: string
  server: Running
  url: string
  headers: Record<string, string>
}

const memoryOf = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

async function measure(contender: Contender, reader: Reader, postgres: CpuClock, rows: number): Promise<Figures> {
  const { server, url, headers } = contender
  const node = processCpu(server.pid)
  const rest = memoryOf(server.pid)
  let highest = rest
  const sampling = setInterval(() => {
    highest = Math.max(highest, memoryOf(server.pid))
  }, 20)
  const before = { node: node(), postgres: postgres() }
  const reading = await reader.read(server.origin + url, headers)
  const after = { node: node(), postgres: postgres() }
  clearInterval(sampling)
  const counted = /"count":(\d+)\}\n$/.exec(reading.tail)?.[1]
  if (contender.name !== 'copy' && Number(counted) !== rows) {
    throw new Error(`The export has ${counted} and not ${rows} vouchers: ${reading.tail}`)
  }
  return {
    rows,
    seconds: reading.seconds,
    node: after.node - before.node,
    postgres: after.postgres - before.postgres,
    size: reading.received / rows,
    memory: highest - rest,
  }
}

/** The times of pages without an export and beside one, over some connections. */
interface Beside {
  cells: string[]
  /** The highest ratio of the 99th percentile of the pages' times, beside an export to without one. */
  p99: number
}

/** Sends pages beside an export, which is repeated, and without one. */
async function measureBeside(contender: Contender, reader: Reader, load: Load, secret: string): Promise<Beside[]> {
  const { origin } = contender.server
  const headers = { accept: 'application/json', authorization: `Bearer ${secret}` }
  const page = {
    method: 'GET' as const,
    path: `/api/external/v1/tenants/${bigTenant}/sales/purchased-vouchers`,
    headers,
  }
  const measured: Beside[] = []
  // A cold service sheds requests of many new connections.
  await load.run(origin, [page], 0, { seconds }, 4)
  for (const connections of besides) {
    const [alone, beside]: [Outcome[], Outcome[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      alone.push(await load.run(origin, [page], 0, { seconds }, connections))
      let isOver = false
      const exporting = (async () => {
        while (!isOver) await reader.read(origin + contender.url, contender.headers)
      })()
      beside.push(await load.run(origin, [page], 0, { seconds }, connections))
      isOver = true
      await exporting
      logProgress(`round ${round + 1} beside an export, ${connections} connections`)
    }
    const of = (outcomes: Outcome[], name: 'p50' | 'p99' | 'perSecond') => median(outcomes.map(each => each[name]))
    const ratio = (name: 'p50' | 'p99') => of(beside, name) / of(alone, name)
    const milliseconds = (name: 'p50' | 'p99') =>
      `${of(alone, name).toFixed(2)} → ${of(beside, name).toFixed(2)} ms (${ratio(name).toFixed(2)})`
    const pages = `${of(alone, 'perSecond').toFixed(0)} → ${of(beside, 'perSecond').toFixed(0)}`
    const cells = [String(connections), milliseconds('p50'), milliseconds('p99'), pages]
    measured.push({ cells, p99: ratio('p99') })
  }
  return measured
}

async function startContenders(database: SeededDatabase): Promise<Contender[]> {
  const service = await startService(database, { settings: { EXPORTS_PER_HOUR: '1000000' } })
  const columns = Object.entries(vouchers.columns).flatMap(([name, { expression }]) =>
    name === 'tenantId' ? [] : [expression],
  )
  const statement = `select ${columns.join()} from purchased_voucher where tenant_id = ${bigTenant} order by updated_at, id`
  const environment = { ...baseEnvironment, ADDRESS: JSON.stringify(database.address), STATEMENT: statement }
  const copy = await startProcess(process.execPath, [`${root}bench/export/copy-process.mjs`], environment)
  const url = `${exportPath}/tenants/${bigTenant}/purchased-vouchers`
  const headers = { authorization: `Bearer ${database.secret}` }
  return [
    { name: 'export', server: service, url, headers },
    { name: 'copy', server: copy, url: '/', headers: {} },
    { name: 'export, gzip', server: service, url, headers: { ...headers, 'accept-encoding': 'gzip' } },
    { name: 'export, br', server: service, url, headers: { ...headers, 'accept-encoding': 'br' } },
  ]
}

/** The measurements, by the name of the contender. */
type Results = ReadonlyMap<string, readonly Figures[]>

const wall = ({ seconds: time }: Figures) => time
const core = ({ node }: Figures) => node

/** Returns the number of vouchers that a contender gave per second of a clock. */
const rate = (results: Results, name: string, time: (figures: Figures) => number) =>
  median((results.get(name) ?? []).map(figures => figures.rows / time(figures)))

/** Returns a sentence for each missed target. */
function missedBars(results: Results, beside: readonly Beside[]): string[] {
  const exported = rate(results, 'export', core)
  const perSecond = Math.min(bars.perSecond, bars.ofCopy * rate(results, 'copy', core))
  const memory = Math.max(...(results.get('export') ?? []).map(figures => figures.memory))
  const p99 = Math.max(...beside.map(each => each.p99))
  const missed: string[] = []
  if (!(exported >= perSecond))
    missed.push(`${exported.toFixed(0)} vouchers a second; at least ${perSecond.toFixed(0)}.`)
  if (!(memory <= bars.memory)) missed.push(`${memory.toFixed(0)} MiB more than at rest; at most ${bars.memory}.`)
  if (!(p99 <= bars.p99)) missed.push(`p99 beside an export is ${p99.toFixed(2)} of p99 without; at most ${bars.p99}.`)
  return missed
}

function describe(results: Results): string {
  const heads = ['', 'vouchers/s', 'of a core of Node', 'Node', 'PostgreSQL', 'bytes a voucher', 'memory, most']
  const rows = [...results].map(([name, all]) => {
    const of = (pick: (figures: Figures) => number) => median(all.map(pick))
    return [
      name,
      of(each => each.rows / each.seconds).toFixed(0),
      of(each => each.rows / each.node).toFixed(0),
      `${of(each => (each.node / each.rows) * 1e6).toFixed(2)} µs`,
      `${of(each => (each.postgres / each.rows) * 1e6).toFixed(2)} µs`,
      of(each => each.size).toFixed(0),
      `${Math.max(...all.map(each => each.memory)).toFixed(0)} MiB`,
    ]
  })
  const copied = rate(results, 'copy', wall)
  return `${table(heads, rows)}

Uncompressed, one core of Node exports ${rate(results, 'export', core).toFixed(0)} vouchers a second; the bar is 100,000, or 60 % of what COPY gives
through Node in the same run, whichever is less. Beside the database and the reader the export gave ${rate(results, 'export', wall).toFixed(0)} vouchers
a second, which is ${(rate(results, 'export', wall) / copied).toFixed(2)} of COPY's ${copied.toFixed(0)}.`
}

buildService(root)
const database = await openSeeded(options.short ? 'short' : 'full')
const contenders: Contender[] = []
const reader = new Reader()
const load = new Load()
try {
  const [total] = await database.sql<{ count: number }[]>`
    select count(*) from purchased_voucher where tenant_id = ${bigTenant}`
  const rows = total?.count ?? 0
  contenders.push(...(await startContenders(database)))
  const postgres = await postgresCpu(database.sql)
  for (const contender of contenders) await measure(contender, reader, postgres, rows)
  logProgress(`warmed up: ${rows} vouchers`)
  const results = new Map(contenders.map(({ name }) => [name, [] as Figures[]]))
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders) {
      results.get(contender.name)?.push(await measure(contender, reader, postgres, rows))
    }
    logProgress(`round ${round + 1} of ${rounds}`)
  }
  const beside = await measureBeside(contenders[0]!, reader, load, database.secret)
  const pages = beside.map(({ cells }) => cells)
  const text = `${describeRun(database.version)} ${rows.toLocaleString('en')} vouchers of one tenant, median of ${rounds} rounds.

${describe(results)}

Pages of 50 vouchers without and beside one export that is repeated:

${table(['connections', 'p50', 'p99', 'pages a second'], pages)}`
  console.log(options.short ? `The figures of a short run mean nothing.\n\n${text}` : text)
  if (options.record) record('Bulk export', text)
  const missed = options.short ? [] : missedBars(results, beside)
  for (const bar of missed) console.error(`A bar is missed: ${bar}`)
  if (missed.length > 0) process.exitCode = 1
} finally {
  reader.stop()
  load.stop()
  for (const server of new Set(contenders.map(each => each.server))) await server.stop()
  await database.close()
}
