/**
 * The address of the database leads to a standby, as during a failover: /readyz reports the standby until it is
 * promoted.
 */
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { VoucherGateway } from '#client'
import { freePort } from '../support/free-port.ts'
import { createPgBouncer } from '../support/pgbouncer.ts'
import { startProxy } from '../support/proxy.ts'
import { fetchOperation } from './support/load.ts'
import { startStandby, startWorld } from './support/start.ts'
import { operationOf } from './support/world.ts'

const { server: primary, world, start } = await startWorld('standby')
const login = 'gateway_login'
await primary.use('postgres', sql => sql.unsafe(`create role ${login} login in role voucher_gateway`))
let current = primary
const proxy = await startProxy(() => current.port)
const pooler = createPgBouncer({ server: { host: '127.0.0.1', port: proxy.port }, port: await freePort(), login })
await pooler.start()
afterAll(async () => {
  await pooler.remove()
  proxy.stop()
})

const direct = { DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}/${world.database}` }
// A session at PgBouncer outlives the session at the server, so the check at the start of a session finds no standby.
const pooled = { DATABASE_URL: pooler.url(world.database), DATABASE_STARTUP_PARAMETERS: 'off' }

test.each([
  { way: 'direct connections', environment: direct },
  { way: 'through PgBouncer', environment: pooled },
])('/readyz is 503 while the database is a standby ($way), and 200 after the promotion', async ({ environment }) => {
  current = primary
  const service = await start(environment)
  onTestFinished(async () => void (await service.stop('SIGKILL')))
  const ready = async () => {
    const asked = performance.now()
    return { ...(await service.ready()), isQuick: performance.now() - asked < 1_500 }
  }
  const call = (name: string) => fetchOperation(service.restAddress, operationOf(world, name))
  const absent = { ...operationOf(world, 'resolution'), body: JSON.stringify({ voucher_reference: 'absent' }) }
  const resolveAbsent = () => fetchOperation(service.restAddress, absent)
  const [owner] = world.owners
  const client = new VoucherGateway({ url: service.restAddress, token: owner!.secret, maxAttempts: 1 })
  /** Returns the epoch of a page; undefined while pages are refused. */
  const epoch = async () => (await client.identity(owner!.tenantId).catch(() => undefined))?.epoch
  expect(await ready()).toMatchObject({ status: 200 })
  const former = (await epoch()) ?? 0
  expect(former).toBeGreaterThan(0)
  const standby = await startStandby(primary)
  // A restart of the primary is no failover, so the epoch stays the same.
  await expect.poll(epoch, { timeout: 4_000 }).toBe(former)

  // Opens all sessions. A pooler keeps the sessions open, so no check finds that they lead to the standby, which may
  // lag.
  await Promise.all(Array.from({ length: 40 }, resolveAbsent))
  current = standby
  proxy.cut()
  const refused = { status: 503, retryAfter: expect.stringMatching(/^[1-5]$/) }
  expect(await resolveAbsent(), 'while no look-up of the token is due').toEqual(refused)
  const notReady = { status: 503, body: expect.stringContaining('The database is a standby'), isQuick: true }
  // The first answers can report the closed connections instead of the standby.
  await expect.poll(ready, { timeout: 3_000 }).toEqual(notReady)
  // Any server could answer with the right page, but a standby that lags may not know that the token was revoked.
  await expect.poll(() => call('vouchers'), { timeout: 2_000 }).toEqual(refused)
  for (const name of ['vouchers', 'resolution', 'signups']) {
    expect(await call(name), name).toEqual(refused)
  }
  expect(await ready()).toEqual(notReady)

  await standby.use('postgres', sql => sql`select pg_promote()`)
  let first: number | undefined
  await expect.poll(async () => (first ??= await epoch()), { timeout: 4_000 }).toBeDefined()
  // Behind a pooler, the check that runs every second detects the failover.
  if (environment === direct) expect(first).toBeGreaterThan(former)
  else await expect.poll(epoch, { timeout: 4_000 }).toBeGreaterThan(former)
  await expect.poll(ready, { timeout: 2_000 }).toMatchObject({ status: 200 })
  await expect.poll(() => call('resolution'), { timeout: 2_000 }).toMatchObject({ status: 200 })
})
