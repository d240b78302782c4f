/**
 * The lag of figures and searches behind the records: `npm run bench -- lag`. 1,000 tenants with 200,000 vouchers, and
 * the service as it runs: beside 500 changes a second, and after one commit of 100,000 changes beside these.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { connect, serviceRole } from '../src/db/connect.ts'
import { migrate } from '../src/db/migrate.ts'
import type { Pool } from '../src/db/sql.ts'
import { fill } from './figures/fill.ts'
import { seed, tree } from './figures/seed.ts'
import { startTemporaryServer } from './harness/database-server.ts'
import { buildService, root } from './harness/packages.ts'
import { startService } from './harness/processes.ts'
import { describeRun, logProgress, record } from './harness/report.ts'

const { values: options } = parseArgs({
  options: {
    /** The time that writers run, in seconds. */
    seconds: { type: 'string', default: '30' },
    /** Writes the results into RESULTS.md. */
    record: { type: 'boolean', default: false },
  },
})
const size = { vouchers: 200_000, customers: 40_000 }
const bulk = 100_000
/** A transaction each 20 ms makes 500 changes a second. */
const [changesOfOne, interval] = [10, 20]

/** Changes random vouchers until it is stopped. @returns a function that stops it and returns the number of changes */
function write(sql: Pool): () => Promise<number> {
  let going = true
  let changes = 0
  const running = (async () => {
    for (let due = performance.now(); going; due += interval) {
      await sleep(Math.max(0, due - performance.now()))
      const ids = Array.from({ length: changesOfOne }, () => 1 + Math.floor(Math.random() * size.vouchers))
      await sql`update purchased_voucher set current_balance = trunc(random() * 100)
                where id = any(${`{${ids.join()}}`}::text::bigint[])`
      changes += ids.length
    }
  })()
  return async () => {
    going = false
    await running
    return changes
  }
}

/** Reads the lag until `isOver`. @returns all measured lags, in milliseconds, lowest first */
async function readLags(sql: Pool, isOver: () => boolean): Promise<number[]> {
  const lags: number[] = []
  while (!isOver()) {
    const [row] = await sql<{ lag: number }[]>`
      select extract(epoch from clock_timestamp() - as_of)::float8 * 1000 as lag from gateway.follower`
    if (row) lags.push(row.lag)
    await sleep(10)
  }
  return lags.sort((a, b) => a - b)
}

const after = (seconds: number) => {
  const end = performance.now() + seconds * 1000
  return () => performance.now() > end
}

buildService(root)
const server = await startTemporaryServer({ sharedBuffers: '1GB', durable: true })
try {
  await server.create('lag')
  const owner = server.open('lag')
  await migrate(owner)
  await seed(owner, size, logProgress)
  const follower = connect(server.address('lag'), { max: 1, statementTimeoutMs: 0, role: serviceRole })
  await fill(owner, follower)
  await follower.end()
  logProgress('filled')
  const service = await startService({ checkout: root, databaseUrl: server.url('lag') })
  const [writer, reader] = [server.open('lag'), server.open('lag')]
  const stop = write(writer)
  await sleep(2_000)
  const lags = await readLags(reader, after(Number(options.seconds)))
  const at = (share: number) => `${lags[Math.min(lags.length - 1, Math.floor(lags.length * share))]?.toFixed(0)} ms`

  const begun = performance.now()
  await owner`update purchased_voucher set current_balance = current_balance + 1 where id <= ${bulk}`
  const [commit] = await owner<{ at: string }[]>`select clock_timestamp()::text as at`
  const committed = performance.now()
  let followed = false
  const watching = readLags(reader, () => followed)
  while (!followed) {
    const [row] = await owner<{ followed: boolean }[]>`
      select as_of >= ${commit?.at ?? ''}::text::timestamptz as followed from gateway.follower`
    followed = row?.followed === true
    await sleep(20)
  }
  const ended = performance.now()
  const highest = (await watching).at(-1) ?? 0
  const changes = await stop()
  const text = `${describeRun(server.version)} ${size.vouchers.toLocaleString('en')} vouchers, ${tree.tenants.toLocaleString('en')} tenants. Durable commits.

Beside ${changesOfOne * (1000 / interval)} changes a second (${changes.toLocaleString('en')} in all), figures and searches were behind the clock by ${at(0.5)} (median), ${at(0.99)} (99th percentile), ${at(1)} (most).

A commit of ${bulk.toLocaleString('en')} changes, which took ${((committed - begun) / 1000).toFixed(1)} s, was followed ${((ended - committed) / 1000).toFixed(1)} s after it. Meanwhile all figures were behind by ${(highest / 1000).toFixed(1)} s at most.`
  console.log(text)
  if (options.record) record('Lag', text)
  await service.stop()
  await Promise.all([writer.end(), reader.end(), owner.end()])
} finally {
  await server.stop()
}
