/**
 * The cost of readers for the primary: `npm run bench -- standbys`. The CPU time of the primary for a mixed load of
 * lists, records and searches without standbys, with one standby and with two standbys. Nothing changes meanwhile,
 * because steps would cost more than readers.
 */
import { connect } from '../src/db/connection/connect.ts'
import { createFaultServer } from '../test/faults/support/server.ts'
import { postgresCpu } from './harness/cpu-time.ts'
import { judge } from './harness/goals.ts'
import { Load } from './harness/load.ts'
import { type HttpRequest, restTransport } from './harness/operations.ts'
import { publish, readOptions } from './harness/options.ts'
import { buildService, root } from './harness/packages.ts'
import { createToken, type Running, runCommand, startService } from './harness/processes.ts'
import { describeRatios, describeRun, median, ratios, table } from './harness/report.ts'
import { type Figures, measureRounds, type Requests, type Subject, valuesOf } from './harness/rounds.ts'
import { seedRecords, sizes, treeOf } from './harness/seed.ts'
import { readCalls } from './requests/calls.ts'

const options = readOptions({
  rounds: 7,
  /** The approximate time for which one service is measured in a round, in seconds. */
  seconds: 3,
})
const size = sizes.short
const counts = [0, 1, 2]

buildService(root)
const settings = { wal_keep_size: '2GB', shared_buffers: '256MB' }
// A standby needs the settings with which its primary was created.
const primary = await createFaultServer({ ...settings, max_connections: '150', max_wal_senders: '10' })
const standbys = [await primary.createStandby(), await primary.createStandby()]
const load = new Load()
const services: Running[] = []
try {
  for (const each of [primary, ...standbys]) await each.start()
  const installation = { checkout: root, databaseUrl: primary.url('postgres') }
  await runCommand(installation, 'migrate')
  const sql = connect(primary.url('postgres'), { max: 1, statementTimeoutMs: 0, searchPath: 'public' })
  await seedRecords(sql, size)
  const { root: group, firstLeaf } = treeOf(size)
  const transport = restTransport(await createToken(installation, group))
  const calls = (await readCalls(sql, size)).filter(({ name }) => ['vouchers', 'products', 'voucher'].includes(name))
  const lists = calls.flatMap(({ operation, samples }) =>
    samples.slice(0, 60).map(sample => transport.request(operation, sample)),
  )
  const query = `{ tenant(id: ${firstLeaf}) {
    purchasedVouchers(first: 20, filter: { status: [REDEEMABLE] }) { nodes { id reference } } } }`
  const createSearch = async (): Promise<HttpRequest> => ({
    ...{ method: 'POST', path: '/graphql', body: JSON.stringify({ query }) },
    headers: {
      authorization: `Bearer ${await createToken(installation, group)}`,
      'content-type': 'application/json',
    },
  })
  // A token may have ten of them under way, and each connection may send one.
  const [search, searchOfAnother] = [await createSearch(), await createSearch()]
  const mixed = lists.flatMap((request, n) =>
    n % 10 === 0 ? [request, n % 20 === 0 ? search : searchOfAnother] : [request],
  )

  const [changed] = await sql<{ version: string }[]>`select current_setting('server_version') as version`
  const cpu = await postgresCpu(sql)
  for (const count of counts) {
    const urls = standbys.slice(0, count).map(each => each.url('postgres'))
    services.push(await startService(installation, { settings: { DATABASE_REPLICA_URLS: urls.join() } }))
  }
  const subjects = services.map((service, n): Subject => ({ ...service, name: `${counts[n]} standbys`, postgres: cpu }))
  const requests: Requests = new Map([['mixed', new Map(subjects.map(subject => [subject, mixed]))]])
  const timing = { rounds: options.rounds, seconds: options.seconds, warmUp: 1_500 }
  const results = await measureRounds(requests, load, timing)

  const of = (name: string, figure: keyof Figures) => valuesOf(results, 'mixed', name, figure)
  const base = of('0 standbys', 'postgres')
  const rows = subjects.map(({ name }) => [
    name,
    ...(['postgres', 'node', 'p50', 'p99'] as const).map(figure =>
      median(of(name, figure)).toFixed(figure[0] === 'p' && figure !== 'postgres' ? 1 : 0),
    ),
    describeRatios(of(name, 'postgres'), base),
  ])
  const heads = ['', 'primary, µs a request', 'Node, µs a request', 'p50, ms', 'p99, ms', 'primary, ratio']
  const text = `${describeRun(changed?.version ?? '')} Lists, records and searches over REST and GraphQL, ${size.vouchers.toLocaleString('en')} vouchers, 16 connections. The time of the primary has the idle steps of all three services. All servers share the machine.

${table(heads, rows)}

${judge(
  subjects
    .slice(1)
    .map(({ name }) => ({ name: `${name}: primary`, goal: '≤ 0.25', values: ratios(of(name, 'postgres'), base) })),
)}`
  publish('Standbys', text)
  await sql.end()
} finally {
  load.stop()
  for (const service of services) await service.stop()
  for (const each of [...standbys, primary]) await each.remove()
}
