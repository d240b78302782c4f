import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { createExportLimits } from '../../src/domain/record/export-limits.ts'
import { bearer, flawOf } from '../rest/support.ts'
import { createApp } from '../support/app.ts'
import { startService } from '../support/service.ts'
import { exportList, exportPath, type OpenExport, openExport, readLines, setChunkSize } from './support.ts'

const settings = { EXPORTS_PER_HOUR: '3' }
const { build, client, database, platform, pool } = await startService(settings)
const tenantId = await build.tenant()
const path = `/tenants/${tenantId}/purchased-vouchers`
// The chunks are small, because with usual chunks the service would read the whole list for a reader that has stopped.
setChunkSize(200)
// The list has more bytes than the kernel buffers for a connection.
await platform`
  insert into purchased_voucher (tenant_id, reference, product_title)
  select ${tenantId}, 'R-' || n, repeat('title ', 1600) from generate_series(1, 2000) n`
const clients = [client, await createApp(database, settings)] as const
const origin = await clients[0].app.listen({ port: 0, host: '127.0.0.1' })
const newSecret = async () => (await build.token([tenantId])).secret
/** Exports the short list of tenants. @returns the status of the answer */
const exportTenants = async (secret: string, client = clients[0]) =>
  (await exportList(client, secret, '/tenants')).status

test('a token can run one export at a time over all instances, and the next export can start as soon as the first has ended', async () => {
  const secret = await newSecret()
  const open = await openExport(origin, secret, path)
  open.body.pause()
  for (const client of clients) {
    const refused = await exportList(client, secret, '/tenants')
    expect(flawOf(refused, 429)).toBeNull()
    expect(refused.headers['retry-after']).toMatch(/^([1-9]|10)$/)
  }
  expect(await exportTenants(await newSecret())).toBe(200)
  open.body.resume()
  expect(await open.ended).toBe('whole')
  // Rejected starts do not count, so two of three starts are left.
  for (const client of clients) expect(await exportTenants(secret, client)).toBe(200)
})

test('a token can export again when the lease of a killed instance has expired', async () => {
  const { id, secret } = await build.token([tenantId])
  const key = `export stream ${id}`
  await pool`
    insert into gateway.rate_window (key, used, resets_at) values (${key}, 1, clock_timestamp() + interval '10 s')`
  expect(await exportTenants(secret)).toBe(429)
  await pool`update gateway.rate_window set resets_at = clock_timestamp() where key = ${key}`
  expect(await exportTenants(secret)).toBe(200)
})

test('a token may start a limited number of exports per hour, counted over all instances and lists', async () => {
  const secret = await newSecret()
  for (const client of clients) expect(await exportTenants(secret, client)).toBe(200)
  expect((await exportList(client, secret, `/tenants/${tenantId}/catalog-vouchers`)).status).toBe(200)
  for (const client of clients) {
    const refused = await exportList(client, secret, '/tenants')
    expect(flawOf(refused, 429)).toBeNull()
    expect(refused.body.message).toContain('3 exports')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_500)
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(3_600)
  }
  // Requests to v1 and exports of other tokens still succeed.
  expect((await client.rest(secret, '/tenants')).status).toBe(200)
  expect(await exportTenants(await newSecret())).toBe(200)
})

test('after a failed start, the token can start the next export at once', async () => {
  const secret = await newSecret()
  await platform.unsafe(`
    create function refuse_start() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
    create trigger refuse_start before insert on gateway.rate_window
      for each row when (new.key like 'export start %') execute function refuse_start()`)
  const failed = await exportTenants(secret)
  await platform`drop function refuse_start cascade`
  expect([failed, await exportTenants(secret)]).toEqual([500, 200])
})

test('a request that is rejected for another reason does not count as a start', async () => {
  const secret = await newSecret()
  const ask = (url: string, headers = {}) =>
    clients[0].ask({ method: 'GET', url: exportPath + url, headers: { ...bearer(secret), ...headers } })
  for (let time = 0; time < 4; time++) {
    expect((await ask('/tenants?cursor=x')).status).toBe(422)
    expect((await ask('/tenants/0/purchased-vouchers')).status).toBe(404)
    expect((await ask('/tenants', { accept: 'text/html' })).status).toBe(422)
  }
  expect(await exportTenants(secret)).toBe(200)
})

test('of two exports on one connection only the first starts, and both end with the connection', async () => {
  const tokens = [await build.token([tenantId]), await build.token([tenantId])]
  const keys = tokens.map(({ id }) => `export stream ${id}`)
  const held = async () => (await pool`select from gateway.rate_window where key in ${pool(keys)}`).length
  const socket = connect(Number(new URL(origin).port), '127.0.0.1').pause()
  for (const { secret } of tokens) {
    socket.write(`GET ${exportPath}${path} HTTP/1.1\r\nhost: here\r\nauthorization: Bearer ${secret}\r\n\r\n`)
  }
  await expect.poll(held).toBe(1)
  socket.destroy()
  await expect.poll(held).toBe(0)
})

test('readers that stop do not block other exports, even when they are more than the concurrent reads', async () => {
  const short = await build.tenant()
  await build.voucher(short)
  const opened: OpenExport[] = []
  while (opened.length < 22) {
    const open = await openExport(origin, await newSecret(), path)
    open.body.pause()
    expect(open.status).toBe(200)
    opened.push(open)
  }
  for (let time = 0; time < 2; time++) {
    const { secret } = await build.token([short])
    expect((await exportList(client, secret, `/tenants/${short}/purchased-vouchers`)).count).toBe(1)
  }
  const [first, ...rest] = opened
  for (const { response } of rest) response.destroy()
  first?.body.resume()
  expect(await first?.ended).toBe('whole')
  expect(readLines(first?.text() ?? '').count).toBe(2000)
})

test('a late renewal does not take a released lease again', async () => {
  const limits = createExportLimits(pool, 10)
  const lease = await limits.start(1)
  const renewal = lease.renew()
  await Promise.all([lease.release(), renewal])
  expect(await lease.renew()).toBe(true)
  const next = await limits.start(1)
  expect([await lease.renew(), await next.renew()]).toEqual([true, true])
  await expect(limits.start(1)).rejects.toThrow('under way')
})
