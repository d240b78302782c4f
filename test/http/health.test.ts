import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { connect, serviceRole } from '../../src/db/connect.ts'
import { buildServer } from '../../src/server.ts'
import { createClient } from '../support/app.ts'
import { createDatabase } from '../support/database.ts'
import { collectLog } from '../support/log.ts'
import { projected } from '../support/projected.ts'
import { startProxy } from '../support/proxy.ts'
import { openSocket } from '../support/sockets.ts'
import { until } from '../support/until.ts'

const { address, platform, pool } = await createDatabase()

/** A proxy before the database of the health checks. */
const proxy = await startProxy(() => join(address.host, `.s.PGSQL.${address.port}`))
const health = connect(
  { ...address, host: '127.0.0.1', port: proxy.port },
  { max: 1, statementTimeoutMs: 1_000, answerTimeoutMs: 1_000, connectTimeoutMs: 1_000, role: serviceRole },
)
const config = readConfig({ LOG_LEVEL: 'silent' })
const app = await buildServer({ config, pool, health })
const { ask } = createClient(app)
afterAll(async () => {
  await app.close()
  await health.end({ timeout: 1 })
  proxy.stop()
})
const ready = () => ask({ method: 'GET', url: '/readyz' })
/** Asks until the state of the steps is read in time, which a busy machine delays. */
const readyWithState = () =>
  until('the state of the steps is read', async () => {
    const answer = await ready()
    return answer.body.records ? answer : undefined
  })
const isReady = async () => (await ready()).status === 200

describe('/readyz', () => {
  test('has the state of the steps, and is 200 also during the first fill', async () => {
    const records = async () => (await readyWithState()).body.records
    await projected(pool)
    expect(await records()).toEqual({
      ...{ secondsSinceStep: expect.any(Number), secondsBehind: 0, waiting: 0, verifiedThrough: null },
      ...{ differed: 0, rejected: 0, rejectedKeys: [] },
    })
    await platform.begin(async sql => {
      // No step is made during the test.
      await sql`lock table gateway.step_lock in exclusive mode`
      await platform`insert into tenant (name, time_zone) values ('Old Mill', 'Nowhere/Land')`
      await platform`insert into gateway.broken_mapping (record, reason) values ('voucher', 'no column')`
      const message = 'The mapping of the type voucher does not fit its source: no column.'
      expect(await readyWithState()).toMatchObject({
        status: 200,
        body: { reasons: [{ code: 'MAPPING_BROKEN', level: 'error', message }], records: { waiting: 1 } },
      })
      await platform`update gateway.step set is_complete = false`
      const filling = { status: 200, body: { status: 'ok', records: { secondsSinceStep: null, secondsBehind: null } } }
      expect(await readyWithState()).toMatchObject(filling)
      await platform`update gateway.step set is_complete = true`
    })
    await projected(pool)
    expect((await readyWithState()).body).toMatchObject({ reasons: [], records: { waiting: 0, rejected: 1 } })
  })

  test('names ten rejected keys, with reasons that quote no value of their rows', async () => {
    const [{ key } = {}] = await platform`select key from gateway.rejected`
    await platform`
      insert into gateway.rejected (record, key, reason)
      select 'voucher', n, 'value "SECRET" is out of range for type integer' from generate_series(10, 20) n`
    const { rejected, rejectedKeys } = (await readyWithState()).body.records
    expect([rejected, rejectedKeys.length]).toEqual([12, 10])
    expect(rejectedKeys.slice(0, 2)).toEqual([
      { record: 'tenant', key, reason: 'time_zone is no IANA name' },
      { record: 'voucher', key: '10', reason: 'value "…" is out of range for type integer' },
    ])
  })

  test('is 503 with the statement that helps while changes of a source are not captured', async () => {
    await platform`drop trigger capture_row on product`
    const { status, body } = await ready()
    expect([status, body.checks]).toEqual([503, { database: 'ok', migrations: 'ok', capture: 'failing' }])
    expect(body.reasons).toMatchObject([
      { code: 'CAPTURE_MISSING', message: expect.stringMatching(/^Changes of table public.product /) },
    ])
    const [, statement = ''] = /^Run: (call .*;)$/.exec(body.reasons[0].action) ?? []
    await platform.unsafe(statement)
    expect((await ready()).status).toBe(200)
  })

  test('is 200 while all connections of the requests are busy', async () => {
    const busy = Array.from({ length: 10 }, () => pool`select pg_sleep(3)`.execute())
    await until('it is 200', isReady, 2_000)
    await Promise.all(busy)
  })

  test('is 503 with the reason when the database has become read-only, also for sessions that exist', async () => {
    const name = platform(address.database)
    await platform`alter database ${name} set default_transaction_read_only = on`
    const { status, body } = await ready()
    expect(status).toBe(503)
    expect(body.checks.database).toBe('failing')
    expect(body.reasons).toMatchObject([{ code: 'DATABASE_READ_ONLY' }])
    await platform.begin('read write', sql => sql`alter database ${name} reset default_transaction_read_only`)
    await until('it is 200', isReady, 4_000)
  })

  test('is 200 while a full database leaves connections to the requests alone, and 503 with the reason when it leaves none', async () => {
    const full = await createDatabase()
    const name = platform(full.address.database)
    const login = `${full.address.database}_login`
    await platform.unsafe(`create role ${login} login in role voucher_gateway`)
    const limits = { max: 2, statementTimeoutMs: 1_000, role: serviceRole }
    const [requests, own] = [limits, limits].map(each => connect({ ...full.address, user: login }, each))
    const service = await buildServer({ config, pool: requests!, health: own! })
    const probe = () => createClient(service).ask({ method: 'GET', url: '/readyz' })
    await platform`alter database ${name} connection limit 1`
    const { status, body } = await probe()
    expect([status, body.reasons]).toEqual([200, []])
    await platform`alter database ${name} connection limit 0`
    await platform`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${login}`
    // The first answers may be from a session that is about to end, or about its end.
    await expect.poll(probe, { timeout: 4_000 }).toMatchObject({
      status: 503,
      body: { reasons: [{ code: 'DATABASE_FAILED', message: 'The database cannot be used (53300).' }] },
    })
    await platform`alter database ${name} connection limit -1`
    await until('it is 200', async () => (await probe()).status === 200, 4_000)
    await service.close()
    await Promise.all([requests!.end({ timeout: 1 }), own!.end({ timeout: 1 })])
    await platform.unsafe(`drop role ${login}`)
  })

  test('is 200 while the state of the steps cannot be read', async () => {
    await platform.begin(async sql => {
      await sql`lock table gateway.rejected`
      const { status, body } = await ready()
      expect([status, body.status, body.records]).toEqual([200, 'ok', undefined])
    })
  })

  test('is 200 while its own connection alone is silent; when all are, 503 within about a second, and 200 afterwards', async () => {
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
})

test('connections to HEALTH_PORT that send nothing, or half a request, do not delay the stop', async () => {
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

test('with HEALTH_PORT the checks are on that server alone, with the headers of every response', async () => {
  const { log, lines } = collectLog()
  const own = await buildServer({ config: readConfig({ HEALTH_PORT: '1', LOG_REQUESTS: 'off' }), pool, log })
  afterAll(() => own.close())
  for (const url of ['/livez', '/readyz']) {
    expect((await createClient(own).ask({ method: 'GET', url })).status).toBe(404)
    const answer = await createClient(own.health!).ask({ method: 'GET', url })
    expect(answer.status).toBe(200)
    expect(answer.headers['cache-control']).toBe('private, no-store')
    expect(answer.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
  }
  // Neither the answer nor the log contains any part of a request.
  const stray = await createClient(own.health!).ask({ method: 'GET', url: '/%ZZ?token=planted' })
  expect(stray.status).toBe(404)
  expect(stray.body).toEqual({ message: 'No such path.' })
  expect(lines()).toEqual([])
})
