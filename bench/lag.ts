/**
 * The time from a commit until v1 lists the change, and what steps cost: `npm run bench -- lag`. 1,000 tenants with
 * 200,000 vouchers, and the service as it runs, on the embedded and the packaged server: during 500 changes a second;
 * then with transactions of 100,000 changed balances; then with such a transaction and no other change; and idle. Also
 * measures how long PostgreSQL takes to find that no list of 500 tenants has changed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../src/db/sql.ts'
import { readChanges } from '../src/domain/record/list-changes.ts'
import { type CpuClock, postgresCpu, processCpu } from './harness/cpu-time.ts'
import { createMigrated, type DatabaseServer, measureOnServers } from './harness/database-server.ts'
import { checkGoals, type FigureWithGoal, quantile } from './harness/goals.ts'
import { restTransport } from './harness/operations.ts'
import { createToken, startService } from './harness/processes.ts'
import { describeRun, logProgress, publish, readOptions } from './harness/report.ts'
import { seedRecords, sizes, treeOf } from './harness/seed.ts'
import { changesPerSecond, startWriter } from './harness/writer.ts'

const { seconds, rounds } = readOptions({
  /** The duration of the measurement while the writer runs, and of the measurement of the idle service, in seconds. */
  seconds: 60,
  /** The number of 100,000-row transactions to measure, first while the writer runs and then without it. */
  rounds: 3,
})
const size = sizes.lag
const { root: group, firstLeaf } = treeOf(size)
const bulk = 100_000
/**
 * The ids of the tenants whose changes are observed. Each of these tenants has fewer than 1,000 vouchers, and the bulk
 * changes none of them.
 */
const observed = Array.from({ length: 4 }, (_, n) => firstLeaf + 200 + n)

const readList = async (origin: string, secret: string, tenant: number, since: string) => {
  const request = restTransport(secret).request('ListPurchasedVouchers', { tenant, updated_since: since })
  const answer = await fetch(origin + request.path, request)
  if (answer.status !== 200) throw new Error(`The list is answered with ${answer.status}: ${await answer.text()}`)
  const body: { data: { id: number; void_reason?: string }[]; server_time: string } = await answer.json()
  return body
}

/**
 * The number of observed changes so far. Each change writes a different text, because a step writes only records that
 * differ.
 */
let marks = 0

/**
 * Changes vouchers of one tenant, one after the other.
 * @returns the time until v1 lists each change, in milliseconds
 */
async function measureListingTimes(sql: Pool, origin: string, secret: string, tenant: number, isOver: () => boolean) {
  const ids = await sql<{ id: number }[]>`select id from purchased_voucher where tenant_id = ${tenant} order by id`
  const lags: number[] = []
  let { server_time: since } = await readList(origin, secret, tenant, new Date().toISOString())
  for (let n = 0; !isOver(); n++) {
    const id = ids[n % ids.length]?.id ?? 0
    const mark = `change ${++marks}`
    await sql`update purchased_voucher set void_reason = ${mark} where id = ${id}`
    const committed = performance.now()
    for (let found = false; !found; ) {
      await sleep(2)
      const { data, server_time } = await readList(origin, secret, tenant, since)
      found = data.some(voucher => voucher.id === id && voucher.void_reason === mark)
      if (found) since = server_time
      else if (performance.now() - committed > 300_000)
        throw new Error('v1 does not list a change within five minutes.')
    }
    lags.push(performance.now() - committed)
    await sleep(50 * Math.random())
  }
  return lags
}

/** The balance that the next transaction of 100,000 changes writes. The writer writes balances below 100. */
let balance = 1000

/**
 * Changes balances in one transaction.
 *
 * @returns the seconds from the commit until all changes are in the records, and PostgreSQL's processor time
 */
async function changeBalances(owner: Pool, postgres: CpuClock) {
  balance++
  await owner`
    update purchased_voucher set current_balance = ${balance} where id in (
      select id from purchased_voucher where tenant_id <> all(${`{${observed.join()}}`}::text::bigint[]) limit ${bulk})`
  const [committed, before] = [performance.now(), postgres()]
  const changed = await owner<{ id: number }[]>`select id from purchased_voucher where current_balance = ${balance}`
  const untilListed = async (ids: { id: number }[]) => {
    for (let missing = 1; missing > 0; await sleep(50)) {
      const [row] = await owner<{ missing: number }[]>`
        select count(*) as missing from purchased_voucher source join gateway.voucher record using (id)
        where id = any(${`{${ids.map(({ id }) => id)}}`}::text::bigint[])
          and source.current_balance = ${balance} and record.current_balance <> ${balance}`
      missing = row?.missing ?? 0
    }
  }
  // Reading all changed vouchers repeatedly would cost as much as steps.
  await untilListed(changed.filter((_, n) => n % 500 === 0))
  const result = { seconds: (performance.now() - committed) / 1000, processor: postgres() - before }
  await untilListed(changed)
  return result
}

/**
 * Reads which lists of 500 tenants changed, when no list has changed.
 *
 * @returns PostgreSQL's processor time, in milliseconds
 */
async function measureUnchangedRead(sql: Pool): Promise<number> {
  const [backend] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const clock = processCpu(backend?.pid ?? 0)
  const tenants = Array.from({ length: 500 }, (_, n) => ({ tenantId: 1 + n, withDescendants: false }))
  const token = { id: 1, name: 'benchmark', permissions: [], tenants, rateLimit: null, expiresAt: null }
  const request = {
    after: new Date().toISOString(),
    tenantIds: null,
    records: ['tenant', 'product', 'voucher', 'customer'],
  }
  const before = clock()
  for (let read = 0; read < 500; read++) await readChanges(sql, token, request)
  return ((clock() - before) * 1000) / 500
}

async function measure(server: DatabaseServer): Promise<string> {
  const installation = await createMigrated(server, 'lag')
  const owner = server.open('lag')
  await seedRecords(owner, size)
  const secret = await createToken(installation, group)
  const service = await startService(installation)
  const postgres = await postgresCpu(owner)
  const pools = observed.map(() => server.open('lag'))
  const observeAll = async (isOver: () => boolean) => {
    const each = observed.map((tenant, n) => measureListingTimes(pools[n]!, service.origin, secret, tenant, isOver))
    return (await Promise.all(each)).flat()
  }
  const after = (time: number) => {
    const end = performance.now() + time * 1000
    return () => performance.now() > end
  }

  const stop = startWriter(server.open('lag'), size.vouchers)
  await observeAll(after(2))
  const steady = await observeAll(after(seconds))
  logProgress('measured while the writer ran')
  const duringBulk: { seconds: number; lags: number[] }[] = []
  for (let round = 0; round < rounds; round++) {
    let isDone = false
    const observing = observeAll(() => isDone)
    const { seconds } = await changeBalances(owner, postgres)
    isDone = true
    duringBulk.push({ seconds, lags: await observing })
  }
  await stop()
  logProgress('measured transactions of many changes while the writer ran')

  const bulkTimes: number[] = []
  for (let round = 0; round < rounds; round++) {
    await sleep(2_000)
    bulkTimes.push((await changeBalances(owner, postgres)).processor)
  }
  logProgress('measured many changes without the writer')

  // Autovacuum is off, because it would disturb one round and not another. So the tables are vacuumed here.
  await owner`vacuum (analyze)`
  // Meanwhile V8 collects the garbage of the load, and each connection prepares the statements of the background jobs.
  await sleep(60_000)
  const clocks = [processCpu(service.pid), postgres]
  const [from, before] = [performance.now(), clocks.map(clock => clock())]
  await sleep(seconds * 1000)
  const shares = clocks.map((clock, n) => ((clock() - before[n]!) * 100_000) / (performance.now() - from))
  const ages: number[] = []
  for (const isOver = after(5); !isOver(); await sleep(20)) {
    const { server_time } = await readList(service.origin, secret, firstLeaf, new Date().toISOString())
    ages.push(Date.now() - Date.parse(server_time))
  }
  await service.stop()
  const noChanges = await measureUnchangedRead(owner)

  const many = `${bulk.toLocaleString('en')} changed balances`
  const listed = duringBulk.map(each => each.seconds)
  const others = duringBulk.map(({ lags }) => quantile(lags, 0.99))
  const figuresWithGoals: FigureWithGoal[] = [
    ['a change while the writer runs, 99th percentile', '≤ 200 ms', [quantile(steady, 0.99)]],
    [`${many} until listed`, '≤ 8 s', listed],
    [`another tenant's change during ${many}, 99th percentile`, '≤ 500 ms', others],
    [`${many} without the writer, PostgreSQL's processor time`, '≤ 5 s', bulkTimes],
    ['idle, both processes', '≤ 0.5 % of a core', [shares[0]! + shares[1]!]],
    ['server_time behind the clock, idle', '≤ 1000 ms', [Math.max(...ages)]],
    ['no list of 500 tenants has changed', '≤ 1 ms', [noChanges]],
  ]
  return `${describeRun(server.version)} ${size.vouchers.toLocaleString('en')} vouchers, ${size.tenants.toLocaleString('en')} tenants. Durable commits.

${checkGoals(figuresWithGoals)}

During ${changesPerSecond} changes a second, v1 listed half of ${steady.length} changes ${quantile(steady, 0.5).toFixed(0)} ms after their commit. \
Idle, the service took ${shares[0]?.toFixed(2)} % of a core and PostgreSQL ${shares[1]?.toFixed(2)} %.`
}

const text = await measureOnServers({ shared_buffers: '1GB' }, { autovacuum: 'off' }, measure)
publish('Lag', text)
