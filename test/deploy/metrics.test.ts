/**
 * Prometheus scrapes a service under load and during faults. Each selector of an alert and each expression of a
 * dashboard must get a value. A selector with a wrong metric name gets none.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { venuesFolder, venuesTables } from '../adopt/venues.ts'
import { exchange } from '../faults/support/load.ts'
import { startFaultServer, startStandby } from '../faults/support/start.ts'
import { afterFile } from '../support/cleanups.ts'
import { freePort } from '../support/free-port.ts'
import { run, serve } from '../support/process.ts'
import { until } from '../support/until.ts'
import { createVisitor } from '../support/visitor.ts'
import { dashboards } from './dashboards.ts'
import { promtool, startPrometheus } from './prometheus.ts'

const venue = '00000000-0000-0000-0000-000000000001'
/** The id of the venue: the lowest id for keys that are no integers. */
const tenant = '9000000000000000'
// Logical replication sends only flushed WAL, and these servers commit without a flush by default.
const serverSettings = { wal_level: 'logical', synchronous_commit: 'on', max_slot_wal_keep_size: '128MB' }
const [platform, primary] = await Promise.all([startFaultServer(serverSettings), startFaultServer()])
const standby = await startStandby(primary)
await primary.use('postgres', sql => sql`create database gateway`)
await platform.use('postgres', sql => sql`create database shop`)
const runAtPlatform = (statements: string) => platform.use('shop', sql => sql.unsafe(statements).simple())
const runAtGateway = (statements: string) => primary.use('gateway', sql => sql.unsafe(statements).simple())
const createCardInsert = (from: number, to: number, cents = '5000') => `
  insert into shop."Gift Card" ("No", venue, code, "valueCents")
    select 'C' || n, '${venue}', 'CODE-' || n, ${cents} from generate_series(${from}, ${to}) n`
await runAtPlatform(venuesTables)
await runAtPlatform(
  `insert into shop.venue (id, path, name) values ('${venue}', 'main', 'Main'); ${createCardInsert(1, 500)}`,
)

const metricsPort = await freePort()
const environment = {
  ...{ DATABASE_URL: primary.url('gateway'), PLATFORM_URL: platform.url('shop') },
  DATABASE_REPLICA_URLS: standby.url('gateway'),
  // The pool is so small that statements must wait.
  ...{ DATABASE_POOL: '2', METRICS_PORT: String(metricsPort), RATE_LIMIT_PER_MINUTE: '1000000', LOG_LEVEL: 'fatal' },
}
expect(await run(['adopt', 'apply', venuesFolder], environment)).toMatchObject({ code: 0 })

/** Creates a token for the venue. @returns the secret of the token */
async function createToken(...options: string[]): Promise<string> {
  const rights = ['--tenant', tenant, '--permission', 'view_vouchers', 'view_orders']
  const { stdout } = await run(['token', 'create', '--name', 'Load', ...rights, '--json', ...options], environment)
  return JSON.parse(stdout).token
}
const secret = await createToken('--expires-in', '7d')
const slowSecret = await createToken('--rate-limit', '1')
const service = await serve(environment, { args: ['--workers', '2'] })
const prometheus = await startPrometheus(`127.0.0.1:${metricsPort}`)
const scrape = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()

const { origin } = service
const call = (path: string, token = secret, body?: string) =>
  exchange(new URL(path, origin), token, body, { method: body === undefined ? 'GET' : 'POST' })
const vouchers = `/api/external/v1/tenants/${tenant}/sales/purchased-vouchers`
const calls = [
  () => call('/api/external/v1/tenants'),
  () => call(vouchers),
  () => call(`${vouchers}/1`),
  () => call('/graphql', secret, JSON.stringify({ query: '{ tenant(id: "1") { name } }' })),
  () => call(vouchers, slowSecret),
  () => call(vouchers, 'vgw_unknown'),
]
let stopped = false
const runningCallers = Promise.all(
  Array.from({ length: 12 }, async (_, caller) => {
    for (let turn = caller; !stopped; turn++) {
      await calls[turn % calls.length]?.()
      await pause(20)
    }
  }),
)
afterFile(() => {
  stopped = true
  return runningCallers
})

/** Waits until all alerts with these names fire. */
const untilFiring = (...names: string[]) =>
  expect.poll(prometheus.firing, { timeout: 40_000 }).toEqual(expect.arrayContaining(names))

test('promtool accepts the metrics of a loaded service', async () => {
  await call(`/api/external/export/v1/tenants/${tenant}/purchased-vouchers`)
  await createVisitor(origin).submit('/admin/login', { email: 'nobody@example.com', password: 'not this one, surely' })
  await untilFiring('VoucherGatewayTokensEnd')
  await promtool(['check', 'metrics'], await scrape())
})

test('alerts fire when steps cannot be made, and when changes of the platform do not arrive', async () => {
  const session = primary.open('gateway')
  await session.begin(async locked => {
    await locked`lock table gateway.step_lock in exclusive mode`
    await runAtPlatform(createCardInsert(501, 2600))
    await until(
      'there are notes',
      async () => (await runAtGateway('select count(*) from gateway.note'))[0]?.count > 1000,
    )
    await runAtGateway('alter subscription voucher_gateway disable')
    await runAtPlatform(`create table public.log as select repeat('x', 1000) from generate_series(1, 90000)`)
    await untilFiring(
      'VoucherGatewayStepLate STEPS_LATE',
      'VoucherGatewayNotesWait',
      'VoucherGatewaySubscriptionLate',
      'VoucherGatewaySlotEnds',
      'VoucherGatewayPlatformLost SUBSCRIPTION_DISABLED',
    )
  })
  await session.end()
  await runAtGateway('alter subscription voucher_gateway enable')
})

test('alerts fire for rows that v1 cannot show, and for a source without capture triggers', async () => {
  await runAtPlatform(createCardInsert(3001, 3001, '-1'))
  await untilFiring('VoucherGatewayKeysRejected')
  const session = primary.open('gateway')
  await session.begin(async locked => {
    // The lock prevents the service from repairing the triggers before the alert fires.
    await locked`lock table gateway.rule in share mode`
    await runAtGateway('alter table shop."Gift Card" disable trigger all')
    await untilFiring('VoucherGatewayCaptureMissing CAPTURE_MISSING')
  })
  await session.end()
})

test('alerts fire for a broken mapping, a missing right, a full disk, and a full pass as after a restore', async () => {
  await runAtGateway(`
    alter table shop."Gift Card" rename "valueCents" to cents;
    revoke select on gateway.customer from voucher_gateway;
    create function gateway.fill_disk() returns trigger language plpgsql as
      $$ begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$;
    create trigger fill_disk before insert on gateway.request_count execute function gateway.fill_disk()`)
  await untilFiring(
    'VoucherGatewayMappingBroken MAPPING_BROKEN',
    'VoucherGatewayGrantMissing GRANT_MISSING',
    'VoucherGatewayDiskFull DISK_FULL',
  )
  await runAtGateway(`
    drop function gateway.fill_disk() cascade;
    grant select on gateway.customer to voucher_gateway;
    alter table shop."Gift Card" rename cents to "valueCents";
    select gateway.require_full_pass()`)
  await untilFiring('VoucherGatewayFullPass')
})

test('an alert fires when a standby is down', async () => {
  await standby.stop('SIGQUIT')
  await untilFiring('VoucherGatewayStandbyLeftOut')
})

test('alerts fire when the database is down', async () => {
  await primary.stop('SIGQUIT')
  await untilFiring('VoucherGatewayServerErrors', 'VoucherGatewayError DATABASE_FAILED')
  await primary.start()
})

test('each selector of an alert and each expression of a dashboard has had a value', async () => {
  const panels = dashboards.flatMap(({ panels }) => panels.flatMap(panel => ('targets' in panel ? panel.targets : [])))
  const shown = panels.map(({ expr }) => expr.replaceAll('$job', '.+').replaceAll('$__rate_interval', '6s'))
  const selected = await Promise.all((await prometheus.expressions()).map(prometheus.selectorsOf))
  const empty: string[] = []
  for (const query of [...shown, ...selected.flat()]) if (!(await prometheus.hasGiven(query))) empty.push(query)
  expect(empty).toEqual([])
})

test('an instance that ended', async () => {
  await service.stop('SIGKILL')
  await untilFiring('VoucherGatewayInstanceDown', 'VoucherGatewayDown')
})
