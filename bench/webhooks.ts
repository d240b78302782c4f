/**
 * The time from a commit until the first byte of its webhook: `npm run bench -- webhooks`. 50 endpoints, each for 20 of
 * 1,000 tenants and one that is observed, during 500 changes a second; then during a transaction of 100,000 changed
 * balances.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { createEndpoint } from '../src/domain/event/endpoint.ts'
import { createToken } from '../src/domain/token/lifecycle.ts'
import { permissionNames } from '../src/domain/token/permission.ts'
import { postgresCpu, processCpu } from './harness/cpu-time.ts'
import { createMigrated, type DatabaseServer, measureOnServers } from './harness/database-server.ts'
import { checkGoals, quantile } from './harness/goals.ts'
import { root } from './harness/packages.ts'
import { startService } from './harness/processes.ts'
import { describeRun, logProgress, publish, readOptions } from './harness/report.ts'
import { makeRecords, seed, sizes } from './harness/seed.ts'
import { changesPerSecond, startWriter } from './harness/writer.ts'

const { seconds } = readOptions({
  /** The duration of the measurement while the writer runs, in seconds. */
  seconds: 30,
})
const size = sizes.lag
const endpoints = 50
const certificate = join(root, 'test/webhook/receiver.pem')

interface Arrival {
  at: number
  tenant_id: number
  type: string
}

/** Starts a receiver of all endpoints. */
async function startReceiver() {
  const arrivals: Arrival[] = []
  const awaited = new Map<number, (at: number) => void>()
  const pem = readFileSync(certificate)
  const server = createServer({ key: pem, cert: pem }, async (request, response) => {
    const at = performance.now()
    const event: Arrival = { ...JSON.parse(await text(request)), at }
    response.writeHead(204).end()
    arrivals.push(event)
    awaited.get(event.tenant_id)?.(at)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { arrivals, awaited, server, url: `https://localhost:${port}/` }
}

async function measure(server: DatabaseServer): Promise<string> {
  const installation = await createMigrated(server, 'webhooks')
  const owner = server.open('webhooks')
  await seed(owner, size)
  // Separate tenants, which the writer does not change, because a list has at most one event a second.
  const observed = await owner<{ tenantId: number; voucherId: number }[]>`
    with created as (
      insert into tenant (name) select 'Observed ' || n from generate_series(1, ${endpoints}) n returning id
    )
    insert into purchased_voucher (tenant_id, reference, currency, initial_balance, current_balance)
    select id, 'observed', 'GBP', 100, 100 from created returning tenant_id as "tenantId", id as "voucherId"`
  await makeRecords(owner)
  const receiver = await startReceiver()
  for (const [n, { tenantId }] of observed.entries()) {
    const ids = [tenantId, ...Array.from({ length: size.tenants / endpoints }, (_, at) => 1 + n + at * endpoints)]
    const tenants = ids.map(id => ({ tenantId: id, withDescendants: false }))
    const input = { name: 'benchmark', contact: null, rateLimit: null, permissions: [...permissionNames], tenants }
    const actor = { name: 'benchmark', address: null }
    const { id } = await createToken(owner, actor, { ...input, expiresAt: null })
    await createEndpoint(owner, actor, id, receiver.url)
  }
  const settings = { WEBHOOK_NETWORKS: '127.0.0.0/8', NODE_EXTRA_CA_CERTS: certificate }
  const service = await startService(installation, { settings })
  const [node, postgres] = [processCpu(service.pid), await postgresCpu(owner)]
  const stop = startWriter(server.open('webhooks'), size.vouchers)
  const changing = server.open('webhooks')

  /**
   * Changes an observed voucher at irregular intervals.
   *
   * @returns the times until its webhook arrived, in milliseconds
   */
  async function observe({ tenantId, voucherId }: (typeof observed)[number], isOver: () => boolean) {
    const lags: number[] = []
    for (let n = 0; !isOver(); n++) {
      await sleep(1_200 + 1_000 * Math.random())
      const arrived = new Promise<number>(resolve => receiver.awaited.set(tenantId, resolve))
      await changing`update purchased_voucher set current_balance = ${n} where id = ${voucherId}`
      const committed = performance.now()
      lags.push(Math.max(0, (await arrived) - committed))
    }
    return lags
  }
  const until = (end: number) => () => performance.now() > end
  await Promise.all(observed.map(each => observe(each, until(performance.now() + 5_000))))
  const [begun, before] = [receiver.arrivals.length, [node(), postgres()] as const]
  const lags = await Promise.all(observed.map(each => observe(each, until(performance.now() + seconds * 1000))))
  const delivered = (receiver.arrivals.length - begun) / seconds
  const shares = [node() - before[0], postgres() - before[1]].map(used => ((used / seconds) * 100).toFixed(0))
  logProgress('measured while the writer ran')
  await owner`update purchased_voucher set current_balance = 1000 where id <= 100000`
  await sleep(20_000)
  await stop()
  await service.stop()
  receiver.server.closeAllConnections()
  receiver.server.close()

  // Two events of a list can arrive within less than a second, because the first event can be delayed on its way.
  const recent = new Map<string, number[]>()
  let most = 0
  for (const { at, tenant_id, type } of receiver.arrivals) {
    const list = `${tenant_id} ${type}`
    const inTenSeconds = [...(recent.get(list) ?? []), at].filter(earlier => earlier > at - 10_000)
    recent.set(list, inTenSeconds)
    most = Math.max(most, inTenSeconds.length)
  }
  const all = lags.flat()
  return `${describeRun(server.version)} ${size.vouchers.toLocaleString('en')} vouchers, ${size.tenants.toLocaleString('en')} tenants, \
${endpoints} endpoints. Durable commits.

${checkGoals([
  ['commit to webhook, median', '≤ 300 ms', [quantile(all, 0.5)]],
  ['commit to webhook, 99th percentile', '≤ 1000 ms', [quantile(all, 0.99)]],
  ['events of a list in ten seconds at most, during the bulk too', '≤ 10', [most]],
])}

Of ${all.length} changes, during ${changesPerSecond} changes a second, which gave ${delivered.toFixed(0)} webhooks a second. The service took \
${shares[0]} % of a core and PostgreSQL ${shares[1]} %.`
}

const result = await measureOnServers({ shared_buffers: '1GB' }, { autovacuum: 'off' }, measure)
publish('Webhooks', result)
