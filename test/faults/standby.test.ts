/** The address of the database leads to a standby, as during a failover: the service says so until it is promoted. */
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
// A session at PgBouncer outlives the one at the server, so its check when it was opened does not help.
const pooled = { DATABASE_URL: pooler.url(world.database), DATABASE_STARTUP_PARAMETERS: 'off' }

test.each([
  { way: 'directly', environment: direct },
  { way: 'through PgBouncer', environment: pooled },
])('/readyz is 503 on a standby $way, and 200 once it is promoted', async ({ environment }) => {
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
  /** Reads the epoch of a page; undefined while pages are refused. */
  const epoch = async () => (await client.identity(owner!.tenantId).catch(() => undefined))?.epoch
  expect(await ready()).toMatchObject({ status: 200 })
  const former = (await epoch()) ?? 0
  expect(former).toBeGreaterThan(0)
  const standby = await startStandby(primary)
  // A restart of the primary is no failover.
  await expect.poll(epoch, { timeout: 4_000 }).toBe(former)

  // Opens all sessions. A pooler keeps them open, so no check sees that they lead to the standby, which may lag.
  await Promise.all(Array.from({ length: 40 }, resolveAbsent))
  current = standby
  proxy.cut()
  const refused = { status: 503, retryAfter: expect.stringMatching(/^[1-5]$/) }
  expect(await resolveAbsent(), 'while no look-up of the token is due').toEqual(refused)
  const notReady = { status: 503, body: expect.stringContaining('The database is a standby'), isQuick: true }
  // The first answers can be about the connections that were cut.
  await expect.poll(ready, { timeout: 3_000 }).toEqual(notReady)
  // Pages are right from any server, but a late one may not know that the token was revoked.
  await expect.poll(() => call('vouchers'), { timeout: 2_000 }).toEqual(refused)
  for (const name of ['vouchers', 'resolution', 'signups']) {
    expect(await call(name), name).toEqual(refused)
  }
  expect(await ready()).toEqual(notReady)

  await standby.use('postgres', sql => sql`select pg_promote()`)
  let first: number | undefined
  await expect.poll(async () => (first ??= await epoch()), { timeout: 4_000 }).toBeDefined()
  // Behind a pooler the check that runs every second sees the change.
  if (environment === direct) expect(first).toBeGreaterThan(former)
  else await expect.poll(epoch, { timeout: 4_000 }).toBeGreaterThan(former)
  await expect.poll(ready, { timeout: 2_000 }).toMatchObject({ status: 200 })
  await expect.poll(() => call('resolution'), { timeout: 2_000 }).toMatchObject({ status: 200 })
})
