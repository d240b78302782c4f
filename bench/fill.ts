/**
 * The time of the first fill: `npm run bench -- fill`, on the embedded and the packaged server. One million vouchers,
 * 200,000 customers and 50,000 products of 1,000 tenants; the service writes all records, then the indexes, then the
 * figures, while the platform writes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { postgresCpu, processCpu } from './harness/cpu-time.ts'
import { createMigrated, type DatabaseServer, measureOnServers } from './harness/database-server.ts'
import { checkGoals, table } from './harness/goals.ts'
import { startService } from './harness/processes.ts'
import { describeRun, logProgress, publish, readOptions } from './harness/report.ts'
import { seed } from './harness/seed.ts'
import { changesPerSecond, startWriter } from './harness/writer.ts'

const { scale } = readOptions({
  /** The factor by which the numbers of vouchers and customers are multiplied: 5 gives five million vouchers. */
  scale: 1,
})
const size = { tenants: 1_000, products: 50_000, vouchers: 1_000_000 * scale, customers: 200_000 * scale }

async function measure(server: DatabaseServer): Promise<string> {
  const installation = await createMigrated(server, 'fill')
  const owner = server.open('fill')
  await seed(owner, size)
  const stop = startWriter(server.open('fill'), size.vouchers)
  const postgres = await postgresCpu(owner)
  const [start, postgresBefore] = [performance.now(), postgres()]
  const service = await startService(installation)
  const node = processCpu(service.pid)
  /** The time from the start to the end of each phase, in seconds. */
  const ends = new Map<string, number>()
  for (let phase = 'records'; phase !== 'done'; await sleep(100)) {
    const [row] = await owner<{ phase: string }[]>`
      select case when is_complete then 'done'
                  when is_complete is null or exists (select from gateway.scan) then 'records'
                  when exists (select from gateway.record_indexes() where to_regclass('gateway.' || name) is null) then 'indexes'
                  else 'figures' end as phase
      from (select 1) one left join (select is_complete from gateway.step order by stamp desc limit 1) step on true`
    const next = row?.phase ?? phase
    if (next === phase) continue
    ends.set(phase, (performance.now() - start) / 1000)
    logProgress(`${phase} are complete`)
    phase = next
  }
  const cpu = { service: node(), postgres: postgres() - postgresBefore }
  const written = await stop()
  const [sizes] = await owner<{ records: string; rollups: string; indexes: number }[]>`
    select pg_size_pretty(sum(pg_total_relation_size(oid)) filter (where relname <> 'figure_rollup')) as records,
           pg_size_pretty(pg_total_relation_size('gateway.figure_rollup')) as rollups,
           sum(pg_indexes_size(oid)) filter (where relname like 'voucher%') / 1e6 as indexes
    from pg_class where relnamespace = 'gateway'::regnamespace and relkind = 'r'`
  await service.stop()
  const number = (value: number) => value.toLocaleString('en')
  return `${describeRun(server.version)} ${number(size.vouchers)} vouchers, ${number(size.customers)} customers, \
${number(size.products)} products, ${number(size.tenants)} tenants, durable commits. During ${changesPerSecond} changes a second (${number(written)} in all).

${checkGoals([
  ['a million vouchers', '≤ 60 s', [(ends.get('figures') ?? Number.NaN) / scale]],
  ['the indexes of a million vouchers', '≤ 376 MB', [(sizes?.indexes ?? Number.NaN) / scale]],
])}

${table(
  ['', 'seconds from the start'],
  [...ends].map(([phase, seconds]) => [`${phase} complete`, seconds.toFixed(0)]),
)}

PostgreSQL took ${cpu.postgres.toFixed(0)} s of the processor, the service ${cpu.service.toFixed(0)} s. The records take \
${sizes?.records} with their indexes, the rollups ${sizes?.rollups}.`
}

const settings = { shared_buffers: '2GB', max_wal_size: '8GB' }
const text = await measureOnServers({ ...settings, autovacuum: 'on' }, settings, measure)
publish('First fill', text)
