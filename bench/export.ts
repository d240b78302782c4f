/**
 * The cost of a bulk export: `npm run bench -- export`. Exports the vouchers of one tenant, and copies the same columns
 * with COPY through Node, in turns. Then other requests are measured during an export.
 */
import { vouchers } from '../src/domain/record/voucher.ts'
import { exportPath } from '../src/http/paths.ts'
import { postgresCpu, processCpu, residentMemory } from './harness/cpu-time.ts'
import { checkGoals, median, table } from './harness/goals.ts'
import { Load, type Outcome } from './harness/load.ts'
import { type HttpRequest, restTransport } from './harness/operations.ts'
import { type Running, startProcess, startService } from './harness/processes.ts'
import { describeRun, logProgress, publish, readOptions } from './harness/report.ts'
import { sizes, treeOf } from './harness/seed.ts'
import { openSeeded } from './harness/seeded-database.ts'

const options = readOptions({
  rounds: 5,
  /** True: a tenth of the data, and shorter rounds. */
  short: false,
})
const { rounds } = options
/** The duration of each measurement during an export, in seconds. */
const seconds = options.short ? 1 : 3

/** The id of the tenant whose vouchers are exported. It is the tenant with the most vouchers. */
const tenant = treeOf(sizes.requests).firstLeaf

/**
 * The numbers of connections that request pages during an export. They are low, so that the machine has a core left.
 */
const connectionCounts = [1, 4]

/** The cost of one export, or one COPY, of all vouchers. */
interface Figures {
  seconds: number
  /** The CPU time of the process that sent the rows, and of PostgreSQL, in seconds. */
  node: number
  postgres: number
  bytes: number
  /** The maximum growth of the memory of the process, in MiB. */
  memory: number
}

interface Contender {
  name: string
  server: Running
  request: HttpRequest
  figures: Figures[]
}

const database = await openSeeded(options.short ? 'short' : 'requests')
const [total] = await database.sql<{ count: number }[]>`
  select count(*) from gateway.voucher where tenant_id = ${tenant}`
const rows = total?.count ?? 0
const postgres = await postgresCpu(database.sql)
const [load, exporter] = [new Load(), new Load()]

async function startContenders(): Promise<Contender[]> {
  const service = await startService(database, { settings: { EXPORTS_PER_HOUR: '1000000' } })
  const columns = Object.entries(vouchers.columns).flatMap(([name, { expression }]) =>
    name === 'tenantId' ? [] : [expression],
  )
  const statement = `select ${columns.join()} from gateway.voucher where tenant_id = ${tenant} order by updated_at, id`
  const copy = await startProcess(['bench/export/copy-process.mjs'], { ...database.environment, STATEMENT: statement })
  const contender = (name: string, server: Running, path: string, coding: string): Contender => {
    const headers = { authorization: `Bearer ${database.secret}`, 'accept-encoding': coding }
    return { name, server, request: { method: 'GET', path, headers }, figures: [] }
  }
  const path = `${exportPath}/tenants/${tenant}/purchased-vouchers`
  return [
    contender('export', service, path, 'identity'),
    contender('copy', copy, '/', 'identity'),
    contender('export, gzip', service, path, 'gzip'),
    contender('export, br', service, path, 'br'),
  ]
}

async function measure({ server, request }: Contender): Promise<Figures> {
  const node = processCpu(server.pid)
  const rest = residentMemory(server.pid)
  let highest = rest
  const sampling = setInterval(() => {
    highest = Math.max(highest, residentMemory(server.pid))
  }, 20)
  const before = { node: node(), postgres: postgres() }
  const { perSecond, bytes } = await load.run(server.origin, [request], { count: 1, connections: 1 })
  clearInterval(sampling)
  const used = { node: node() - before.node, postgres: postgres() - before.postgres }
  return { seconds: 1 / perSecond, ...used, bytes, memory: highest - rest }
}

/**
 * Sends pages without an export, and then during repeated exports.
 * @returns the outcomes for each number of connections
 */
async function measurePages({ server: { origin }, request }: Contender) {
  const page = restTransport(database.secret).request('ListPurchasedVouchers', { tenant })
  const measured: { connections: number; idle: Outcome[]; during: Outcome[] }[] = []
  // A service that has just started refuses requests of many new connections.
  await load.run(origin, [page], { seconds, connections: 4 })
  for (const connections of connectionCounts) {
    const [idle, during]: [Outcome[], Outcome[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      idle.push(await load.run(origin, [page], { seconds, connections }))
      const exporting = exporter.run(origin, [request], { seconds, connections: 1 })
      during.push(await load.run(origin, [page], { seconds, connections }))
      await exporting
      logProgress(`round ${round + 1} during an export, ${connections} connections`)
    }
    measured.push({ connections, idle, during })
  }
  return measured
}

const contenders = await startContenders()
for (const contender of contenders) await measure(contender)
logProgress(`warmed up: ${rows} vouchers`)
for (let round = 0; round < rounds; round++) {
  for (const contender of contenders) contender.figures.push(await measure(contender))
  logProgress(`round ${round + 1} of ${rounds}`)
}
const [whole, copy] = contenders.map(({ figures }) => figures)
const pages = (await measurePages(contenders[0]!)).map(({ connections, idle, during }) => {
  const change = (name: 'p50' | 'p99' | 'perSecond') => {
    const [before, after] = [idle, during].map(outcomes => median(outcomes.map(each => each[name])))
    return { ratio: after! / before!, text: `${before!.toFixed(2)} → ${after!.toFixed(2)}` }
  }
  return { connections, p50: change('p50'), p99: change('p99'), perSecond: change('perSecond') }
})

const costs = contenders.map(({ name, figures }) => {
  const of = (pick: (each: Figures) => number, digits = 0) => median(figures.map(pick)).toFixed(digits)
  return [
    name,
    of(each => rows / each.seconds),
    of(each => rows / each.node),
    of(each => (each.node / rows) * 1e6, 2),
    of(each => (each.postgres / rows) * 1e6, 2),
    of(each => each.bytes / rows),
    Math.max(...figures.map(each => each.memory)).toFixed(0),
  ]
})
const heads = ['', 'vouchers/s', 'of a core of Node', 'Node, µs', 'PostgreSQL, µs', 'bytes a voucher', 'memory, MiB']
/** The goal is 100,000 vouchers per second and core, or 60 % of the rate of COPY if this is less. */
const goalRate = Math.min(100_000, 0.6 * median(copy!.map(({ node }) => rows / node)))
const rates = whole!.map(({ node }) => rows / node / goalRate)
const text = `${describeRun(database.version)} ${rows.toLocaleString('en')} vouchers of one tenant, median of ${rounds} rounds; the most memory.

${table(heads, costs)}

Pages of 50 vouchers without an export → during one that is repeated:

${table(
  ['connections', 'p50, ms', 'p99, ms', 'pages a second'],
  pages.map(({ connections, p50, p99, perSecond }) => [String(connections), p50.text, p99.text, perSecond.text]),
)}

${checkGoals([
  ['vouchers a second of a core of Node, to the lesser of 100,000 and 60 % of COPY', '≥ 1', rates],
  ['memory above that at rest', '≤ 64 MiB', [Math.max(...whole!.map(each => each.memory))]],
  ['pages during an export, 99th percentile, times', '≤ 2', [Math.max(...pages.map(({ p99 }) => p99.ratio))]],
])}`
publish('Bulk export', text)
