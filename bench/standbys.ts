/**
 * The cost of readers for the primary: `npm run bench -- standbys`. Measures the CPU time of the primary for a mixed
 * load of lists, records and searches, without standbys, with one standby and with two standbys. Nothing changes
 * meanwhile, because steps would cost more than readers.
 */
import { connect } from '../src/db/connection/connect.ts'
import { createFaultServer } from '../test/faults/support/server.ts'
import { atEnd } from './harness/at-end.ts'
import { postgresCpu } from './harness/cpu-time.ts'
import { checkGoals, type FigureWithGoal, ratios } from './harness/goals.ts'
import { Load } from './harness/load.ts'
import { post, restTransport } from './harness/operations.ts'
import { root } from './harness/packages.ts'
import { createToken, runCommand, startService } from './harness/processes.ts'
import { describeRun, publish, readOptions } from './harness/report.ts'
import { describeCosts, measureRounds, type Requests, type Subject, valuesOf } from './harness/rounds.ts'
import { seedRecords, sizes, treeOf } from './harness/seed.ts'
import { readCalls } from './requests/calls.ts'

const { rounds } = readOptions({ rounds: 7 })
const size = sizes.short

const settings = { wal_keep_size: '2GB', shared_buffers: '256MB' }
// A standby needs the settings with which its primary was created.
const primary = await createFaultServer({ ...settings, max_connections: '150', max_wal_senders: '10' })
const standbys = [await primary.createStandby(), await primary.createStandby()]
for (const each of [primary, ...standbys]) {
  atEnd(() => each.remove())
  await each.start()
}
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
const createSearch = async () => post(await createToken(installation, group), '/graphql', { query })
// A token may have ten expensive requests under way, and each connection may send one.
const [search, searchOfAnother] = [await createSearch(), await createSearch()]
const mixed = lists.flatMap((request, n) =>
  n % 10 === 0 ? [request, n % 20 === 0 ? search : searchOfAnother] : [request],
)

const [row] = await sql<{ version: string }[]>`select current_setting('server_version') as version`
const cpu = await postgresCpu(sql)
const subjects: Subject[] = []
for (const count of [0, 1, 2]) {
  const urls = standbys.slice(0, count).map(each => each.url('postgres'))
  const service = await startService(installation, { settings: { DATABASE_REPLICA_URLS: urls.join() } })
  subjects.push({ ...service, name: `${count} standbys`, postgres: cpu })
}
const requests: Requests = new Map([['mixed', new Map(subjects.map(subject => [subject, mixed]))]])
const results = await measureRounds(requests, new Load(), { rounds, seconds: 3, warmUp: 1_500 })

const primaryTime = (name: string) => valuesOf(results, 'mixed', name, 'postgres')
const figuresWithGoals = subjects
  .slice(1)
  .map(
    ({ name }): FigureWithGoal => [`${name}: primary`, '≤ 0.25', ratios(primaryTime(name), primaryTime('0 standbys'))],
  )
const text = `${describeRun(row?.version ?? '')} Lists, records and searches over REST and
GraphQL, ${size.vouchers.toLocaleString('en')} vouchers, 16 connections. Postgres is the primary, whose time has the idle steps of all
three services. All servers share the machine.

${describeCosts(results, () => '0 standbys')}

${checkGoals(figuresWithGoals)}`
publish('Standbys', text)
