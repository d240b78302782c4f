import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import type { Reason } from '../../src/reasons.ts'
import { buildServer } from '../../src/server.ts'
import { createClient } from '../support/app.ts'
import { afterFile } from '../support/cleanups.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { createDatabase } from '../support/database.ts'
import { collectLog } from '../support/log.ts'
import { projected } from '../support/projected.ts'
import { startProxy } from '../support/proxy.ts'
import { openSocket } from '../support/sockets.ts'
import { until } from '../support/until.ts'

const { address, platform, pool } = await createDatabase()

/** A proxy in front of the database, for the health checks. */
const proxy = await startProxy(() => join(address.host, `.s.PGSQL.${address.port}`))
afterFile(proxy.stop)
const health = connect(
  { ...address, host: '127.0.0.1', port: proxy.port },
  { max: 1, statementTimeoutMs: 1_000, answerTimeoutMs: 1_000, connectTimeoutMs: 1_000, role: serviceRole },
)
const config = readConfig({ LOG_LEVEL: 'silent' })
const { log, lines } = collectLog()
const app = await buildServer({ config: readConfig({ LOG_REQUESTS: 'off' }), pool, health, log })
const { ask } = createClient(app)
afterFile(() => app.close())
const ready = () => ask({ method: 'GET', url: '/readyz' })
/** Requests /readyz until the answer has the state of the steps. A busy machine may not read the state in time. */
const readyWithState = () =>
  until('the state of the steps is read', async () => {
    const answer = await ready()
    return answer.body.records ? answer : undefined
  })
const isReady = async () => (await ready()).status === 200
/** Requests /readyz until the answer has exactly these reasons. @returns the answer, whose status is 200 */
const readyWith = async (...codes: string[]) => {
  const codesOf = ({ body }: Awaited<ReturnType<typeof ready>>) => body.reasons.map(({ code }: Reason) => code)
  const check = async () => {
    const answer = await ready()
    return codesOf(answer).join() === codes.join() ? answer : undefined
  }
  // The background check runs every ten seconds.
  const answer = await until(`the reasons are ${codes}`, check, 20_000)
  expect(answer.status).toBe(200)
  return answer
}
/** Returns the log messages about a reason. */
const loggedMessages = (code: string) =>
  lines().flatMap(({ msg, reasons }) => (reasons?.some(reason => reason.code === code) ? [msg] : []))

test('/readyz shows the state of the steps, and of their problems only the first fill makes it 503', async () => {
  await projected(pool)
  const counts = { secondsBehind: 0, waiting: 0, verifiedThrough: null, differed: 0, rejected: 0, rejectedKeys: [] }
  expect((await readyWithState()).body.records).toEqual({ secondsSinceStep: expect.any(Number), ...counts })
  await platform.begin(async sql => {
    // The lock prevents steps during the transaction.
    await sql`lock table gateway.step_lock in exclusive mode`
    await platform`insert into tenant (name, time_zone) values ('Old Mill', 'Nowhere/Land')`
    await platform`insert into gateway.broken_mapping (record, reason) values ('voucher', 'no column')`
    const message = 'The mapping of the type voucher does not fit its source: no column.'
    expect(await readyWithState()).toMatchObject({
      status: 200,
      body: { reasons: [{ code: 'MAPPING_BROKEN', level: 'error', message }], records: { waiting: 1 } },
    })
    await platform`update gateway.step set is_complete = false`
    const checks = { database: 'ok', migrations: 'ok', fill: 'failing' }
    expect(await readyWithState()).toMatchObject({
      status: 503,
      body: { checks, reasons: [{ code: 'FIRST_FILL' }, { code: 'MAPPING_BROKEN' }], records: { secondsBehind: null } },
    })
    await platform`update gateway.step set is_complete = true`
  })
  await projected(pool)
  expect((await readyWithState()).body).toMatchObject({ reasons: [], records: { waiting: 0, rejected: 1 } })
})

test('/readyz lists ten rejected keys: text keys as hashes, and reasons without values of their rows', async () => {
  const uuid = '0192d3a5-6c8e-7f00-8000-0123456789ab'
  await platform`
    insert into gateway.rejected (record, key, reason)
    select 'voucher'::gateway.record_type, n::text, 'value "SECRET" is out of range for type integer' from generate_series(10, 17) n
    union all select 'voucher'::gateway.record_type, key, 'reference is empty' from unnest(${`{0-CÖDE,${uuid},9-LAST}`}::text::text[]) key`
  const { rejected, rejectedKeys } = (await readyWithState()).body.records
  expect([rejected, rejectedKeys.length]).toEqual([12, 10])
  // docs/records.md tells operators to compute the hash in this way.
  const hash = `sha256:${createHash('sha256').update('0-CÖDE').digest('hex').slice(0, 8)}`
  expect(rejectedKeys.slice(1, 4)).toEqual([
    { record: 'voucher', key: hash, reason: 'reference is empty' },
    { record: 'voucher', key: uuid, reason: 'reference is empty' },
    { record: 'voucher', key: '10', reason: 'value "…" is out of range for type integer' },
  ])
  await platform`delete from gateway.rejected`
})

test('/readyz is 200 while changes of a source are not captured, until the service repairs the capture', async () => {
  await platform`with shop as (insert into tenant (name) values ('New Mill') returning id)
    insert into product (tenant_id, slug, title, currency) select id, 'tea', 'Tea', 'EUR' from shop`
  await platform.begin(async sql => {
    // Simulates a restore without triggers, while a session still writes.
    await platform
      .unsafe(`alter table product disable trigger all;
        update product set title = 'Green tea';
        alter table product enable trigger all`)
      .simple()
    await sql`lock table product in row exclusive mode`
    const { body } = await readyWith('CAPTURE_MISSING')
    expect(body.reasons[0]).toMatchObject({
      message: expect.stringMatching(/^Changes of table public.product /),
      action: expect.stringMatching(/: call gateway.capture\('public.product'\);$/),
    })
    expect(loggedMessages('CAPTURE_MISSING')).toEqual(['a reason begins'])
    // The failed attempt to repair the capture does not block a later writer.
    await platform`update product set title = 'White tea'`
  })
  await readyWith()
  expect(loggedMessages('CAPTURE_MISSING')).toEqual(['a reason begins', 'a reason has ended'])
  await projected(pool)
  expect(await pool`select title from gateway.product`).toEqual([{ title: 'White tea' }])
})

test.each([
  ['a request needs', 'select on gateway.customer'],
  ['the steps need', 'update on gateway.step_lock'],
  ['its own checks need', 'select on gateway.step, gateway.migration, gateway.rule, gateway.rejected'],
  ['a statement calls', 'execute on function gateway.report_server_change()'],
])('/readyz is 200 while a right is missing that %s, with the statements that help', async (_, right) => {
  await platform.unsafe(`revoke ${right} from voucher_gateway`)
  const { status, body } = await until('it is named', async () => {
    const answer = await ready()
    return answer.body.reasons.length > 0 ? answer : undefined
  })
  expect([status, body.checks]).toEqual([200, { database: 'ok', migrations: 'ok', fill: 'ok' }])
  for (const { code, action } of body.reasons) {
    expect(code).toBe('GRANT_MISSING')
    await platform.unsafe(/: (grant .*;)$/.exec(action)?.[1] ?? '')
  }
  await readyWith()
})

test('/readyz is 200 while all connections of the requests are busy', async () => {
  const busy = Array.from({ length: 10 }, () => pool`select pg_sleep(3)`.execute())
  await until('it is 200', isReady, 2_000)
  await Promise.all(busy)
})

test('/readyz is 503 when the database becomes read-only, also for existing sessions', async () => {
  const name = platform(address.database)
  await platform`alter database ${name} set default_transaction_read_only = on`
  const { status, body } = await ready()
  expect(status).toBe(503)
  expect(body.reasons).toMatchObject([{ code: 'DATABASE_READ_ONLY' }])
  await platform.begin('read write', sql => sql`alter database ${name} reset default_transaction_read_only`)
  await until('it is 200', isReady, 4_000)
})

test('/readyz is 200 while the state of the steps cannot be read', async () => {
  await platform.begin(async sql => {
    await sql`lock table gateway.rejected`
    const { status, body } = await ready()
    expect([status, body.status, body.records]).toEqual([200, 'ok', undefined])
  })
})

test('/readyz is 503 within about a second when all connections are silent, and 200 when only its own is', async () => {
  const through = await buildServer({ config, pool: health, health })
  const probe = () => createClient(through).ask({ method: 'GET', url: '/readyz' })
  await until('it is 200', async () => (await probe()).status === 200, 4_000)
  proxy.silence()
  for (let time = 0; time < 2; time++) {
    expect((await ready()).status).toBe(200)
    const start = performance.now()
    const { status, body } = await probe()
    expect(status).toBe(503)
    expect(body.reasons).toMatchObject([{ code: 'DATABASE_SILENT' }])
    expect(performance.now() - start).toBeLessThan(1_900)
  }
  proxy.accept()
  await until('it is 200', async () => (await probe()).status === 200, 4_000)
  await through.close()
})

test('connections to HEALTH_PORT that send nothing or half a request do not delay the stop', async () => {
  const own = await buildServer({ config: readConfig({ HEALTH_PORT: '1', LOG_LEVEL: 'silent' }), pool })
  const { port } = new URL(await own.health!.listen({ host: '127.0.0.1', port: 0 }))
  const open = ['', 'GET /readyz HTTP/1.1\r\nHost: '].map(text => {
    const { socket } = openSocket(Number(port))
    socket.write(text)
    return socket
  })
  const count = () =>
    new Promise<number>(resolve => own.health!.server.getConnections((_, connections) => resolve(connections)))
  await until('both are accepted', async () => (await count()) === open.length, 5_000)
  const start = performance.now()
  await own.close()
  expect(performance.now() - start).toBeLessThan(3_000)
  for (const socket of open) socket.destroy()
})

test('with HEALTH_PORT, only that port answers the checks, with the usual headers of all responses', async () => {
  const { log, lines } = collectLog()
  const own = await buildServer({ config: readConfig({ HEALTH_PORT: '1', LOG_REQUESTS: 'off' }), pool, log })
  afterFile(() => own.close())
  for (const url of ['/livez', '/readyz']) {
    expect((await createClient(own).ask({ method: 'GET', url })).status).toBe(404)
    const answer = await createClient(own.health!).ask({ method: 'GET', url })
    expect(answer.status).toBe(200)
    expect(answer.headers['cache-control']).toBe('private, no-store')
    expect(answer.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
  }
  // Neither the answer nor the log contains a part of the request.
  const stray = await createClient(own.health!).ask({ method: 'GET', url: '/%ZZ?token=planted' })
  expect(stray.status).toBe(404)
  expect(stray.body).toEqual({ message: 'No such path.' })
  expect(lines()).toEqual([])
})
