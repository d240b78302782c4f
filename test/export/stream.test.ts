import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { listExports } from '../../src/domain/record/export.ts'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import { requestDeadlines } from '../../src/http/limits/timeouts.ts'
import { buildServer } from '../../src/server.ts'
import { flawOf } from '../rest/support.ts'
import { createApp } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { startService } from '../support/service.ts'
import { tokenRecordsOf } from '../support/token-records.ts'
import { until } from '../support/until.ts'
import { exportList, openExport, readLines, setChunkSize, waitUntilBuffersAreFull } from './support.ts'

const { build, client, database, pool, platform } = await startService({ EXPORTS_PER_HOUR: '1000' })
const tenantId = await build.tenant()
const path = `/tenants/${tenantId}/purchased-vouchers`
/**
 * The number of records. Each has 24 kB that do not compress well, so the export is larger than the kernel's buffers.
 */
const recordCount = 700
const chunkSize = 400
setChunkSize(chunkSize)
await platform`
  insert into purchased_voucher (tenant_id, reference, parent_product_title)
  select ${tenantId}, 'R-' || n, (select string_agg(md5(n || ' ' || part), '') from generate_series(1, 750) part)
  from generate_series(1, ${recordCount}::integer) n`
/** The service of these tests does not check its answers, because the check uses memory, which the tests measure. */
const settings = { LOG_LEVEL: 'silent', RATE_LIMIT_PER_MINUTE: '100000', EXPORTS_PER_HOUR: '1000' }
const app = await buildServer({ config: readConfig(settings), pool })
afterAll(() => app.close())
const origin = await app.listen({ port: 0, host: '127.0.0.1' })
const newSecret = async () => (await build.token([tenantId])).secret

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Opens an export, reads until its first record arrives, and then stops reading. */
async function openStalled(secret: string, headers: Record<string, string> = {}, of = path) {
  const open = await openExport(origin, secret, of, headers)
  while (!open.text().includes('"id"')) await pause(5)
  open.body.pause()
  return open
}

/** Reads the statements of exports that the server is running. */
const readExportStatements = () => platform<{ query: string }[]>`
  select query from pg_stat_activity
  where datname = current_database() and state <> 'idle' and query like '%chunk%' and pid <> pg_backend_pid()`

test('a reader that stops uses no database connection and little memory, and gets each record once when it continues', async () => {
  collectGarbage()
  const before = process.memoryUsage().arrayBuffers
  const open = await openStalled(await newSecret())
  await until('no statement runs', async () => (await readExportStatements()).length === 0)
  await until('the records are dropped', async () => {
    collectGarbage()
    return process.memoryUsage().arrayBuffers - before < 8e6
  })
  // Unlike other requests, an export has no deadline.
  await pause(requestDeadlines.answer + 1_200)
  open.body.resume()
  expect(await open.ended).toBe('whole')
  const { records, count } = readLines(open.text())
  expect(count).toBe(recordCount)
  expect(new Set(records.map(({ id }) => id)).size).toBe(recordCount)
})

const codings = [{}, { 'accept-encoding': 'gzip' }, { 'accept-encoding': 'br' }]
test.each(
  codings,
)('a fault interrupts the response, and the export can continue after its last cursor, with %j', async headers => {
  const secret = await newSecret()
  const open = await openStalled(secret, headers)
  expect(open.headers['content-encoding']).toBe(headers['accept-encoding'])
  await platform`alter table gateway.voucher_fields rename column product_slug to renamed`
  open.body.resume()
  const ended = await open.ended
  await platform`alter table gateway.voucher_fields rename column renamed to product_slug`
  expect(ended).toBe('broken')
  expect(open.text()).not.toContain('"end"')
  const first = readLines(open.text())
  const cursor = first.cursors.at(-1)
  const known = first.records.slice(0, first.cursorPlaces.at(-1))
  const resume = async () => {
    const answer = await exportList(client, secret, `${path}${cursor ? `?cursor=${cursor}` : ''}`)
    return answer.status === 429 ? null : answer
  }
  // The time limit is 8 s, because an unreleased lease would expire after 10 s.
  const rest = await until('the lease is released', resume, 8_000)
  const found = [...(cursor ? known : []), ...rest.records].map(({ id }) => id)
  expect(new Set(found).size).toBe(recordCount)
})

// The test is retried once, because a busy machine can delay the end of the exports.
test('exports of a revoked token end within a second, and slow readers get no more data', { retry: 1 }, async () => {
  // The service checks the token at intervals, so the exports start at different times within an interval.
  const exports = []
  for (const coding of ['identity', 'gzip', 'br']) {
    await pause(450)
    const { id, secret } = await build.token([tenantId])
    const connected = once(app.server, 'connection')
    const open = await openStalled(secret, { 'accept-encoding': coding })
    const [socket] = await connected
    // Node does not notify a paused reader, so the test watches the socket of the service.
    exports.push({ id, open, closed: once(socket, 'close').then(() => performance.now()) })
  }
  const arrived = await Promise.all(exports.map(({ open }) => waitUntilBuffersAreFull(open.response.socket)))
  for (const { id } of exports) await revokeToken(pool, tester, id)
  const revoked = performance.now()
  for (const [index, { id, open, closed }] of exports.entries()) {
    expect((await closed) - revoked).toBeLessThan(1_000)
    const { socket } = open.response
    open.body.resume()
    expect(await open.ended).toBe('broken')
    expect(socket.bytesRead).toBeLessThanOrEqual(arrived[index] ?? 0)
    expect(open.text()).not.toContain('"end"')
    const leases = () => pool`select 1 from gateway.rate_window where key = ${`export stream ${id}`}`
    await until('the lease is released', async () => (await leases()).length === 0)
  }
})

test('an export that waits for the database ends when its token is revoked, and an HTTP/1.0 connection is reset', async () => {
  const { id, secret } = await build.token([tenantId])
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname)
  const ended = new Promise<string>(resolve => {
    socket.once('end', () => resolve('end'))
    socket.once('error', error => resolve('code' in error ? String(error.code) : 'error'))
  })
  await platform.begin(async sql => {
    await sql`lock table gateway.voucher in access exclusive mode`
    socket.write(`GET /api/external/export/v1${path} HTTP/1.0\r\nAuthorization: Bearer ${secret}\r\n\r\n`)
    await until('its first statement waits', async () => (await readExportStatements()).length === 1)
    socket.resume()
    await revokeToken(pool, tester, id)
    expect(await ended).toBe('ECONNRESET')
    expect(await readExportStatements(), 'the statement has not ended it').toHaveLength(1)
  })
})

const signupsPath = `/tenants/${tenantId}/marketing-signups`
await platform`
  insert into customer (tenant_id, marketing_opted, address_1)
  select ${tenantId}, true, (select string_agg(md5(n || ' ' || part), '') from generate_series(1, 750) part)
  from generate_series(1, 600) n`

test('an export sends personal data only after the audit has an entry', async () => {
  const { id, secret } = await build.token([tenantId])
  const open = await openStalled(secret, {}, signupsPath)
  const { exportsOf } = tokenRecordsOf(database)
  expect(await exportsOf(id)).toMatchObject([{ detail: { records: 400 } }])
  open.body.resume()
  await open.ended
  expect(readLines(open.text()).count).toBe(600)
  expect(await exportsOf(id), 'one entry for all chunks').toHaveLength(1)
  expect((await listExports(pool, id, 2)).map(({ records }) => records)).toEqual([600])
})

test('an export sends no personal data when the audit cannot be written', async () => {
  const secret = await newSecret()
  await platform`alter table gateway.audit_entry rename column detail to renamed`
  const open = await openExport(origin, secret, signupsPath)
  const ended = await open.ended
  await platform`alter table gateway.audit_entry rename column renamed to detail`
  expect(ended).toBe('broken')
  expect(readLines(open.text()).records).toEqual([])
})

test('a service that stops ends its exports after a complete chunk', async () => {
  const stopping = await createApp(database, { EXPORTS_PER_HOUR: '1000' })
  const from = await stopping.app.listen({ port: 0, host: '127.0.0.1' })
  const secret = await newSecret()
  const open = await openExport(from, secret, path)
  const drained = stopping.app.drain(0)
  expect(await open.ended).toBe('broken')
  await drained
  const { cursors, cursorPlaces, records } = readLines(open.text())
  expect(open.text()).not.toContain('"end"')
  expect(cursorPlaces.at(-1) ?? 0).toBe(records.length)
  if (cursors.length === 0) return
  const rest = await exportList(client, secret, `${path}?cursor=${cursors.at(-1)}`)
  expect(rest.count).toBe(recordCount - records.length)
})

test('a service that is stopping starts no new export', async () => {
  const stopping = await createApp(database)
  await stopping.app.listen({ port: 0, host: '127.0.0.1' })
  const drained = stopping.app.drain(300)
  const refused = await exportList(stopping, await newSecret(), path)
  expect(flawOf(refused, 503)).toBeNull()
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  await drained
})

test('a service that is stopping does not wait for readers that have stopped, and sends no more data to these readers', async () => {
  const closing = await createApp(database)
  const from = await closing.app.listen({ port: 0, host: '127.0.0.1' })
  const open = await openExport(from, await newSecret(), path)
  open.body.pause()
  const arrived = await waitUntilBuffersAreFull(open.response.socket)
  await closing.app.close()
  open.body.resume()
  expect(await open.ended).toBe('broken')
  expect(open.response.socket.bytesRead).toBeLessThanOrEqual(arrived)
})
