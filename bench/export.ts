/**
 * The cost of a bulk export: `npm run bench -- export`. Exports the vouchers of one tenant, and copies the same columns
 * with COPY through Node, in turns. Then other requests are measured during an export.
 */
import { vouchers } from '../src/domain/record/voucher.ts'
import { exportPath } from '../src/http/paths.ts'
import { type CpuClock, postgresCpu, processCpu, residentMemory } from './harness/cpu-time.ts'
import { type Judged, judge } from './harness/goals.ts'
import { Load, type Outcome } from './harness/load.ts'
import { type HttpRequest, restTransport } from './harness/operations.ts'
import { publish, readOptions } from './harness/options.ts'
import { buildService, root } from './harness/packages.ts'
import { baseEnvironment, type Running, startProcess, startService } from './harness/processes.ts'
import { describeRun, logProgress, median, table } from './harness/report.ts'
import { sizes, treeOf } from './harness/seed.ts'
import { openSeeded, type SeededDatabase } from './harness/seeded-database.ts'

const options = readOptions({
  rounds: 5,
  /** Seconds of each measurement during an export. */
  seconds: 3,
  /** A tenth of the data, and shorter rounds. */
  short: false,
})
const { rounds } = options
const seconds = options.short ? 1 : options.seconds

/** The tenant whose vouchers are exported: the largest. */
const tenant = treeOf(sizes.requests).firstLeaf

/** Connections that ask for pages during an export: few, so that the machine has a core left. */
const connectionCounts = [1, 4]

/** The cost of reading all vouchers once. */
interface Figures {
  rows: number
  seconds: number
  /** The CPU time of the process that sent the rows, and of PostgreSQL, in seconds. */
  node: number
  postgres: number
  /** The size of a row, in bytes. */
  size: number
  /** The most that the memory of the process grew, in MiB. */
  memory: number
}

interface Contender {
  name: string
  server: Running
  request: HttpRequest
}

async function measure({ server, request }: Contender, load: Load, postgres: CpuClock, rows: number): Promise<Figures> {
  const node = processCpu(server.pid)
  const rest = residentMemory(server.pid)
  let highest = rest
  const sampling = setInterval(() => {
    highest = Math.max(highest, residentMemory(server.pid))
  }, 20)
  const before = { node: node(), postgres: postgres() }
  const { perSecond, bytes } = await load.run(server.origin, [request], 0, { count: 1 }, { busy: 1 })
  clearInterval(sampling)
  return {
    rows,
    seconds: 1 / perSecond,
    node: node() - before.node,
    postgres: postgres() - before.postgres,
    size: bytes / rows,
    memory: highest - rest,
  }
}

/** The times of pages over some connections, without an export and during an export. */
interface Pages {
  cells: string[]
  /** The highest ratio between the 99th percentiles of the times of pages, during an export and without an export. */
  p99: number
}

/** Sends pages without an export, and then during repeated exports. */
async function measurePages({ server: { origin }, request }: Contender, exporter: Load, load: Load, page: HttpRequest) {
  const measured: Pages[] = []
  // A service that has just started refuses requests of many new connections.
  await load.run(origin, [page], 0, { seconds }, { busy: 4 })
  for (const connections of connectionCounts) {
    const [idle, during]: [Outcome[], Outcome[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      idle.push(await load.run(origin, [page], 0, { seconds }, { busy: connections }))
      const exporting = exporter.run(origin, [request], 0, { seconds }, { busy: 1 })
      during.push(await load.run(origin, [page], 0, { seconds }, { busy: connections }))
      await exporting
      logProgress(`round ${round + 1} during an export, ${connections} connections`)
    }
    const of = (outcomes: Outcome[], name: 'p50' | 'p99' | 'perSecond') => median(outcomes.map(each => each[name]))
    const ratio = (name: 'p50' | 'p99') => of(during, name) / of(idle, name)
    const milliseconds = (name: 'p50' | 'p99') =>
      `${of(idle, name).toFixed(2)} → ${of(during, name).toFixed(2)} ms (${ratio(name).toFixed(2)})`
    const pages = `${of(idle, 'perSecond').toFixed(0)} → ${of(during, 'perSecond').toFixed(0)}`
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
  const statement = `select ${columns.join()} from gateway.voucher where tenant_id = ${tenant} order by updated_at, id`
  const environment = { ...baseEnvironment, ADDRESS: JSON.stringify(database.address), STATEMENT: statement }
  const copy = await startProcess(process.execPath, [`${root}bench/export/copy-process.mjs`], environment)
  const path = `${exportPath}/tenants/${tenant}/purchased-vouchers`
  const authorization = `Bearer ${database.secret}`
  const coded = (coding: string): Contender => ({
    name: coding === 'identity' ? 'export' : `export, ${coding}`,
    server: service,
    request: { method: 'GET', path, headers: { authorization, 'accept-encoding': coding } },
  })
  const whole = { name: 'copy', server: copy, request: { method: 'GET', path: '/', headers: {} } } as const
  return [coded('identity'), whole, coded('gzip'), coded('br')]
}

/** The measurements, by the name of the contender. */
type Results = ReadonlyMap<string, readonly Figures[]>

/**
 * Returns the figures with goals. The first goal is 100,000 vouchers a second, or 60 % of the rate of COPY if this is
 * less.
 */
function toJudged(results: Results, during: readonly Pages[]): Judged[] {
  const of = (name: string) => results.get(name) ?? []
  const ofCore = (name: string) => of(name).map(({ rows, node }) => rows / node)
  const base = Math.min(100_000, 0.6 * median(ofCore('copy')))
  return [
    {
      name: 'vouchers a second of a core of Node, to 100,000 or 60 % of COPY',
      goal: '≥ 1',
      values: ofCore('export').map(rate => rate / base),
    },
    {
      name: 'memory above that at rest',
      goal: '≤ 64',
      unit: 'MiB',
      values: [Math.max(...of('export').map(each => each.memory))],
    },
    {
      name: 'pages during an export, 99th percentile, times',
      goal: '≤ 2',
      values: [Math.max(...during.map(each => each.p99))],
    },
  ]
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
  return table(heads, rows)
}

buildService(root)
const database = await openSeeded(options.short ? 'short' : 'requests')
const contenders: Contender[] = []
const [load, exporter] = [new Load(), new Load()]
try {
  const [total] = await database.sql<{ count: number }[]>`
    select count(*) from gateway.voucher where tenant_id = ${tenant}`
  const rows = total?.count ?? 0
  contenders.push(...(await startContenders(database)))
  const postgres = await postgresCpu(database.sql)
  for (const contender of contenders) await measure(contender, load, postgres, rows)
  logProgress(`warmed up: ${rows} vouchers`)
  const results = new Map(contenders.map(({ name }) => [name, [] as Figures[]]))
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders) {
      results.get(contender.name)?.push(await measure(contender, load, postgres, rows))
    }
    logProgress(`round ${round + 1} of ${rounds}`)
  }
  const page = restTransport(database.secret).request('ListPurchasedVouchers', { tenant })
  const during = await measurePages(contenders[0]!, exporter, load, page)
  const pages = during.map(({ cells }) => cells)
  const text = `${describeRun(database.version)} ${rows.toLocaleString('en')} vouchers of one tenant, median of ${rounds} rounds.

${describe(results)}

Pages of 50 vouchers without an export and during one that is repeated:

${table(['connections', 'p50', 'p99', 'pages a second'], pages)}

${judge(toJudged(results, during))}`
  publish('Bulk export', text)
} finally {
  exporter.stop()
  load.stop()
  for (const server of new Set(contenders.map(each => each.server))) await server.stop()
  await database.close()
}
