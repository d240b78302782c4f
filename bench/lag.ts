/**
 * The time from a commit until v1 lists the change: `npm run bench -- lag`. 1,000 tenants with 200,000 vouchers, and the
 * service as it runs: beside 500 changes a second, then also while one transaction of 100,000 changes is worked off, then idle.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Pool } from '../src/db/sql.ts'
import { makeStep } from '../src/projection/step.ts'
import { postgresCpu, processCpu } from './harness/cpu-time.ts'
import { createMigrated, startTemporaryServer } from './harness/database-server.ts'
import { buildService, root } from './harness/packages.ts'
import { createToken, startService } from './harness/processes.ts'
import { describeRun, logProgress, quantile, record } from './harness/report.ts'
import { seed, sizes, treeOf } from './harness/seed.ts'
import { changesPerSecond, startWriter } from './harness/writer.ts'

const { values: options } = parseArgs({
  options: {
    /** The time of the measurements beside the writer, and of the idle service, in seconds. */
    seconds: { type: 'string', default: '30' },
    /** Writes the results into RESULTS.md. */
    record: { type: 'boolean', default: false },
  },
})
const seconds = Number(options.seconds)
const size = sizes.lag
const { root: group, firstLeaf } = treeOf(size)
const bulk = 100_000
/** The tenants whose changes are observed. They have fewer than 1,000 vouchers each, and the bulk changes none of them. */
const observed = Array.from({ length: 4 }, (_, n) => firstLeaf + 200 + n)

const readList = async (origin: string, secret: string, tenant: number, since: string) => {
  const path = `/api/external/v1/tenants/${tenant}/sales/purchased-vouchers?updated_since=${encodeURIComponent(since)}`
  const answer = await fetch(origin + path, {
    headers: { authorization: `Bearer ${secret}`, accept: 'application/json' },
  })
  if (answer.status !== 200) throw new Error(`The list is answered with ${answer.status}: ${await answer.text()}`)
  const body: { data: { id: number; void_reason?: string }[]; server_time: string } = await answer.json()
  return body
}

/** The number of observed changes: each has a text of its own, because a step writes only records that differ. */
let marks = 0

/** Changes vouchers of one tenant, one after the other. @returns the times until v1 lists each, in milliseconds */
async function observe(sql: Pool, origin: string, secret: string, tenant: number, isOver: () => boolean) {
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

buildService(root)
const server = await startTemporaryServer({ sharedBuffers: '1GB' })
try {
  const installation = await createMigrated(server, 'lag', root)
  const owner = server.open('lag')
  await seed(owner, size, logProgress)
  for (let more: boolean | null = true; more; ) more = await makeStep(owner)
  await owner`vacuum (analyze)`
  logProgress('filled')
  const secret = await createToken(installation, group)
  const service = await startService(installation)
  const pools = observed.map(() => server.open('lag'))
  const observeAll = async (isOver: () => boolean) => {
    const each = observed.map((tenant, n) => observe(pools[n]!, service.origin, secret, tenant, isOver))
    return (await Promise.all(each)).flat()
  }
  const after = (time: number) => {
    const end = performance.now() + time * 1000
    return () => performance.now() > end
  }
  const describe = (lags: number[]) =>
    `${quantile(lags, 0.5).toFixed(0)} ms (median), ${quantile(lags, 0.99).toFixed(0)} ms (99th percentile), ` +
    `${quantile(lags, 1).toFixed(0)} ms (most) of ${lags.length} changes`

  const writer = server.open('lag')
  const stop = startWriter(writer, size.vouchers)
  await observeAll(after(2))
  const beside = await observeAll(after(seconds))
  logProgress('measured beside the writer')

  const begun = performance.now()
  await owner`
    update purchased_voucher set current_balance = current_balance + 1, void_reason = 'bulk' where id in (
      select id from purchased_voucher where tenant_id <> all(${`{${observed.join()}}`}::text::bigint[]) limit ${bulk})`
  const committed = performance.now()
  let isDone = false
  const besideBulk = observeAll(() => isDone)
  while (!isDone) {
    await sleep(250)
    const [row] = await owner<{ count: number }[]>`select count(*) from gateway.voucher where void_reason = 'bulk'`
    isDone = row?.count === bulk
  }
  const took = performance.now() - committed
  const lagsBesideBulk = await besideBulk
  await stop()
  logProgress('measured beside the bulk')

  await sleep(3_000)
  const clocks = [processCpu(service.pid), await postgresCpu(owner)]
  const [from, before] = [performance.now(), clocks.map(clock => clock())]
  await sleep(seconds * 1000)
  const shares = clocks.map((clock, n) => ((clock() - before[n]!) * 100_000) / (performance.now() - from))
  const ages: number[] = []
  for (const isOver = after(5); !isOver(); await sleep(20)) {
    const { server_time } = await readList(service.origin, secret, firstLeaf, new Date().toISOString())
    ages.push(Date.now() - Date.parse(server_time))
  }
  const text = `${describeRun(server.version)} ${size.vouchers.toLocaleString('en')} vouchers, ${size.tenants.toLocaleString('en')} tenants. Durable commits.

Beside ${changesPerSecond} changes a second, v1 listed a change ${describe(beside)} after its commit.

A transaction of ${bulk.toLocaleString('en')} changes, which took ${((committed - begun) / 1000).toFixed(1)} s, was worked off ${(took / 1000).toFixed(1)} s after its commit. Meanwhile v1 listed changes of other tenants after ${describe(lagsBesideBulk)}.

Idle, the service took ${shares[0]?.toFixed(2)} % of a core and PostgreSQL ${shares[1]?.toFixed(2)} %; \`server_time\` was at most ${Math.max(...ages)} ms behind the clock.`
  console.log(text)
  if (options.record) record('Lag', text)
  await service.stop()
  await Promise.all([...pools, writer, owner].map(pool => pool.end()))
} finally {
  await server.stop()
}
