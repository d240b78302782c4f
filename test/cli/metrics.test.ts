/** METRICS_PORT: metrics of a real service, by HTTP. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { workerVariable } from '../../src/cli/serve/worker.ts'
import { createBuilders, createTestToken } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { refusalOf, run, serve } from '../support/process.ts'
import { until } from '../support/until.ts'

/** Returns the value of a series, such as `vgw_quota_spent_total`; undefined: it is absent. */
const sample = (text: string, series: string): number | undefined => {
  const line = text.split('\n').find(line => line.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length))
}

/** Returns the process ids of the children of a process. */
const childrenOf = (primary = 0) =>
  execFileSync('pgrep', ['--parent', String(primary)], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map(Number)

/** Whether a child has become a worker. Before, it cannot be stopped without its primary. */
const isWorker = (pid: number) => readFileSync(`/proc/${pid}/environ`, 'utf8').includes(workerVariable)

const requestsOf = (operation: string, status: number) =>
  `http_server_request_duration_seconds_count{operation="${operation}",http_response_status_code="${status}"}`

async function startMeasured(environment: NodeJS.ProcessEnv = {}, args: string[] = []) {
  const database = await createDatabase()
  const port = await freePort()
  const service = await serve({ DATABASE_URL: database.url, METRICS_PORT: String(port), ...environment }, { args })
  const at = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${port}${path}`, { method })
  const scrape = async () => (await at('/metrics')).text()
  return {
    ...{ service, port, at, scrape, build: createBuilders(database) },
    pool: database.pool,
    platform: database.platform,
    /** Scrapes until the facts of the database are read in time, which a busy machine delays. */
    scrapeFacts: () =>
      until('the facts of the database are read', async () => {
        const text = await scrape()
        return sample(text, 'vgw_rejected_keys') === undefined ? undefined : text
      }),
  }
}

test('after known requests the metrics have their operations, statuses, quota and errors, and no text of a caller', async () => {
  const measured = await startMeasured({ RATE_LIMIT_PER_MINUTE: '5' })
  const { service, pool, build, scrape, scrapeFacts, at } = measured
  const tenant = await build.tenant()
  const { secret } = await createTestToken(pool, [tenant])
  const origin = new URL(service.restAddress).origin
  const idle = await scrapeFacts()
  expect(idle).not.toContain('vgw_exports_total{')
  expect(sample(idle, 'vgw_quota_spent_total')).toBe(0)
  expect(sample(idle, 'vgw_tokens_ending')).toBe(0)
  expect(sample(idle, 'vgw_subscription_lag_bytes')).toBeUndefined()

  for (let call = 0; call < 2; call++) expect((await service.list(secret)).status).toBe(200)
  expect((await service.list('vgw_planted')).status).toBe(401)
  const accept = 'application/json'
  const headers = {
    accept,
    authorization: `Bearer ${secret}`,
    'content-type': 'application/json',
    'x-request-id': 'planted',
  }
  const query = 'query planted { tenants(first: 1) { nodes { id } } }'
  const body = JSON.stringify({ query, operationName: 'planted' })
  expect((await fetch(`${origin}/graphql`, { method: 'POST', headers, body })).status).toBe(200)
  expect((await fetch(`${origin}/planted?planted=1`, { headers })).status).toBe(404)
  expect((await fetch(`${service.restAddress}/tenants/planted/catalog/vouchers`, { headers })).status).toBe(404)
  const exported = await fetch(`${origin}/api/external/export/v1/tenants`, {
    headers: { ...headers, accept: 'application/x-ndjson' },
  })
  expect(exported.status, await exported.text()).toBe(200)
  expect((await service.list(secret)).status).toBe(429)

  const text = await until('the last request is counted, and no job uses a connection', async () => {
    const text = await scrapeFacts()
    const isQuiet = sample(text, 'vgw_pool_busy{pool="requests"}') === 0
    return isQuiet && sample(text, requestsOf('ListTenants', 429)) === 1 ? text : undefined
  })
  expect(sample(text, requestsOf('ListTenants', 200))).toBe(2)
  expect(sample(text, requestsOf('ListTenants', 401))).toBe(1)
  expect(sample(text, requestsOf('GraphQL', 200))).toBe(1)
  expect(sample(text, requestsOf('unknown', 404))).toBe(1)
  expect(sample(text, requestsOf('ListCatalogVouchers', 404))).toBe(1)
  expect(sample(text, requestsOf('ExportTenants', 200))).toBe(1)
  expect(sample(text, 'vgw_quota_spent_total')).toBe(5)
  expect(sample(text, 'vgw_quota_refused_total')).toBe(1)
  expect(sample(text, 'vgw_requests_refused_total{reason="UNAUTHENTICATED"}')).toBe(1)
  expect(sample(text, 'vgw_requests_refused_total{reason="NOT_FOUND"}')).toBe(2)
  expect(sample(text, 'vgw_requests_refused_total{reason="RATE_LIMITED"}')).toBe(1)
  expect(sample(text, 'vgw_exports_total{outcome="complete"}')).toBe(1)
  expect(sample(text, 'vgw_exports_running')).toBe(0)
  expect(sample(text, 'vgw_statement_duration_seconds_count{statement="tenant.list"}')).toBeGreaterThan(0)
  expect(sample(text, 'vgw_pool_connections{pool="requests"}')).toBe(10)
  expect(sample(text, 'vgw_step_age_seconds')).toBeGreaterThanOrEqual(0)
  expect(sample(text, 'vgw_rejected_keys')).toBe(0)
  // In Unix time, in seconds.
  expect(sample(text, 'vgw_sync_epoch')).toBeGreaterThan(Date.now() / 1000 - 3600)
  expect(sample(text, 'nodejs_eventloop_lag_seconds')).toBeGreaterThanOrEqual(0)
  for (const theirs of ['planted', secret]) expect(text).not.toContain(theirs)

  await build.tenant()
  await until('a step evaluates its key', async () => (sample(await scrape(), 'vgw_step_keys_sum') ?? 0) > 0)

  // Requests that Node's parser refuses.
  for (const bytes of ['planted\r\n\r\n', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`]) {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1').on('error', () => {})
    socket.end(bytes).resume()
    await once(socket, 'close')
  }
  const unparsed = await scrape()
  expect(sample(unparsed, 'vgw_requests_refused_total{reason="HPE_INVALID_METHOD"}')).toBe(1)
  expect(sample(unparsed, 'vgw_requests_refused_total{reason="HPE_HEADER_OVERFLOW"}')).toBe(1)
  expect(unparsed).not.toContain('planted')

  // The server of the metrics has this page alone, and the public port has none.
  const head = await at('/metrics', 'HEAD')
  expect([head.status, await head.text()]).toEqual([200, ''])
  expect(head.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  for (const [path, method] of [
    ['/', 'GET'],
    ['/metrics', 'POST'],
    ['/livez', 'GET'],
  ] as const) {
    expect((await at(path, method)).status).toBe(404)
  }
  expect((await fetch(`${origin}/metrics`)).status).toBe(404)

  // A scraper that sends nothing does not delay the stop.
  const silent = connect(measured.port, '127.0.0.1').on('error', () => {})
  expect(await service.stop('SIGTERM')).toBe(0)
  silent.destroy()
})

test('statements that wait, refused sign-ins, tokens that end and reasons are there; facts of a slow database are absent', async () => {
  const environment = { DATABASE_POOL: '1', PUBLIC_URL: '' }
  const { service, pool, platform, build, scrape, scrapeFacts } = await startMeasured(environment)
  const tenant = await build.tenant()
  const { secret } = await createTestToken(pool, [tenant])
  await pool`update gateway.token set expires_at = now() + interval '13 days'`
  const calls = Array.from({ length: 20 }, () => service.list(secret))
  for (const { status } of await Promise.all(calls)) expect(status).toBe(200)
  const busy = await scrapeFacts()
  expect(sample(busy, 'vgw_tokens_ending')).toBe(1)
  expect(sample(busy, 'vgw_pool_wait_seconds_count{pool="requests"}')).toBeGreaterThan(0)

  const login = `${new URL(service.restAddress).origin}/admin/login`
  const cookie = (await fetch(login)).headers.get('set-cookie')?.split(';')[0] ?? ''
  const page = await (await fetch(login, { headers: { cookie } })).text()
  const csrf = /name="_csrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const form = new URLSearchParams({ _csrf: csrf, email: 'planted@example.com', password: 'planted' })
  await fetch(login, { method: 'POST', headers: { cookie, origin: new URL(login).origin }, body: form })
  const refusals = 'vgw_sign_ins_refused_total{reason="wrong_password"}'
  await until('it is counted', async () => sample(await scrape(), refusals) === 1)
  expect(await scrape()).not.toContain('planted')

  await platform.begin(async sql => {
    await sql`lock table gateway.rejected in access exclusive mode`
    const text = await scrape()
    expect(text).not.toMatch(/^vgw_step_age_seconds /m)
    expect(sample(text, requestsOf('ListTenants', 200))).toBe(20)
    // The statement has a second, as each scrape: it fails meanwhile.
    await scrape()
    await scrape()
  })
  await until('it reads again', async () => sample(await scrape(), 'vgw_rejected_keys') === 0)
  expect(await scrape()).not.toMatch(/^vgw_pool_busy\S+ -/m)
  await until('there is no reason', async () => !(await scrape()).includes('vgw_reason{'))
  await platform.begin(async sql => {
    // The service does not repair it meanwhile.
    await sql`lock table gateway.rule in share mode`
    await platform`drop trigger capture_row on product`
    await until(
      'the reason is there',
      async () => sample(await scrape(), 'vgw_reason{code="CAPTURE_MISSING",level="error"}') === 1,
    )
  })
  await until('it is repaired', async () => sample(await scrape(), 'vgw_captures_repaired_total') === 1)
  await until('they are there again', async () => sample(await scrape(), 'vgw_rejected_keys') === 0)
})

test('METRICS_PORT reports the sum of all workers, including a killed worker, and does not wait for a suspended worker', async () => {
  const { service, pool, build, scrape, scrapeFacts } = await startMeasured({}, ['--workers', '2'])
  const tenant = await build.tenant()
  const { secret } = await createTestToken(pool, [tenant])
  const pids = new Set<number>()
  const readPids = () => {
    for (const [, pid] of service.printed().matchAll(/"pid":(\d+)[^\n]*listening/g)) pids.add(Number(pid))
    return pids.size
  }
  await until('both workers listen', () => readPids() === 2)
  const ask = async (times: number) => {
    for (let call = 0; call < times; call++) {
      const answer = await fetch(`${service.restAddress}/tenants`, {
        headers: { accept: 'application/json', authorization: `Bearer ${secret}`, connection: 'close' },
      })
      expect(answer.status).toBe(200)
    }
  }
  await ask(20)
  const counted = requestsOf('ListTenants', 200)
  await until('all are counted', async () => sample(await scrape(), counted) === 20)
  // A fact of the database is not added up, and a fact of the processes is.
  const text = await scrapeFacts()
  expect(text.match(/^vgw_step_age_seconds /gm)).toHaveLength(1)
  expect(sample(text, 'vgw_pool_connections{pool="requests"}')).toBe(20)
  expect(sample(text, 'vgw_workers{state="listening"}')).toBe(2)
  expect(sample(text, 'vgw_workers{state="starting"}')).toBe(0)

  const [first = 0, second = 0] = pids
  process.kill(first, 'SIGSTOP')
  expect(sample(await scrape(), counted)).toBe(20)
  process.kill(first, 'SIGKILL')
  // The worker that replaces it is stopped before it listens.
  const findThird = () => childrenOf(service.child.pid).find(pid => !pids.has(pid) && isWorker(pid))
  const third = await until('another worker starts', findThird)
  process.kill(third, 'SIGSTOP')
  expect(sample(await scrape(), 'vgw_workers{state="starting"}')).toBe(1)
  process.kill(third, 'SIGCONT')
  await until('the other worker listens', () => readPids() === 3)
  expect(sample(await scrape(), counted)).toBe(20)
  await ask(10)
  await until('they are added', async () => sample(await scrape(), counted) === 30)
  expect(process.kill(second, 0)).toBe(true)
  expect(await service.stop('SIGTERM')).toBe(0)
})

test('a port that is taken, or another one of the service, is refused', async () => {
  const port = String(await freePort())
  const taken = await run(['serve'], { DATABASE_URL: 'postgres://localhost/x', PORT: port, METRICS_PORT: port })
  expect(refusalOf(taken)).toContain('METRICS_PORT must not be PORT or HEALTH_PORT')
})
