/** Reads the metrics of a real service by HTTP, at METRICS_PORT. */
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { createEndpoint, pauseEndpoint } from '../../src/domain/event/endpoint.ts'
import { createBuilders, createTestToken, tester } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { serve } from '../support/process.ts'
import { until } from '../support/until.ts'
import { createVisitor } from '../support/visitor.ts'
import { breakConnection, startReceiver } from '../webhook/receiver.ts'

/**
 * Returns the value of a series, such as `vgw_quota_spent_total`; undefined when the text does not contain the series.
 */
const readSeries = (text: string, series: string): number | undefined => {
  const line = text.split('\n').find(line => line.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length))
}

const requestSeriesOf = (operation: string, status: number) =>
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
    /**
     * Scrapes until the metrics include facts of the database. On a busy machine the first reads may exceed their time
     * limit.
     */
    scrapeFacts: () =>
      until('the facts of the database are read', async () => {
        const text = await scrape()
        return readSeries(text, 'vgw_rejected_keys') === undefined ? undefined : text
      }),
  }
}

test('the metrics count requests by operation and status, quota and errors, and contain no text of a caller', async () => {
  const measured = await startMeasured({ RATE_LIMIT_PER_MINUTE: '5' })
  const { service, pool, build, scrapeFacts, at } = measured
  const tenant = await build.tenant()
  const { secret } = await createTestToken(pool, [tenant])
  const { origin } = service
  const idle = await scrapeFacts()
  expect(readSeries(idle, 'vgw_quota_spent_total')).toBe(0)
  expect(readSeries(idle, 'vgw_tokens_ending')).toBe(0)

  for (let call = 0; call < 2; call++) expect((await service.list(secret)).status).toBe(200)
  expect((await service.list('vgw_planted')).status).toBe(401)
  const json = { accept: 'application/json', 'content-type': 'application/json' }
  const headers = { ...json, authorization: `Bearer ${secret}`, 'x-request-id': 'planted' }
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
    const isQuiet = readSeries(text, 'vgw_pool_busy{pool="requests"}') === 0
    return isQuiet && readSeries(text, requestSeriesOf('ListTenants', 429)) === 1 ? text : undefined
  })
  const expected = {
    [requestSeriesOf('ListTenants', 200)]: 2,
    [requestSeriesOf('ListTenants', 401)]: 1,
    [requestSeriesOf('GraphQL', 200)]: 1,
    [requestSeriesOf('unknown', 404)]: 1,
    [requestSeriesOf('ListCatalogVouchers', 404)]: 1,
    [requestSeriesOf('ExportTenants', 200)]: 1,
    ...{ vgw_quota_spent_total: 5, vgw_quota_refused_total: 1, vgw_exports_running: 0, vgw_rejected_keys: 0 },
    'vgw_requests_refused_total{reason="UNAUTHENTICATED"}': 1,
    'vgw_requests_refused_total{reason="NOT_FOUND"}': 2,
    'vgw_requests_refused_total{reason="RATE_LIMITED"}': 1,
    'vgw_exports_total{outcome="complete"}': 1,
    'vgw_pool_connections{pool="requests"}': 10,
  }
  expect(Object.fromEntries(Object.keys(expected).map(series => [series, readSeries(text, series)]))).toEqual(expected)
  expect(readSeries(text, 'vgw_statement_duration_seconds_count{statement="tenant.list"}')).toBeGreaterThan(0)
  expect(readSeries(text, 'vgw_step_age_seconds')).toBeGreaterThanOrEqual(0)
  // The epoch is a Unix time in seconds.
  expect(readSeries(text, 'vgw_sync_epoch')).toBeGreaterThan(Date.now() / 1000 - 3600)
  for (const theirs of ['planted', secret]) expect(text).not.toContain(theirs)

  // The metrics server has only the page /metrics, and the public port does not have this page.
  const head = await at('/metrics', 'HEAD')
  expect([head.status, await head.text()]).toEqual([200, ''])
  expect(head.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  for (const path of ['/', '/livez']) expect((await at(path)).status).toBe(404)
  expect((await at('/metrics', 'POST')).status).toBe(404)
  expect((await fetch(`${origin}/metrics`)).status).toBe(404)

  // A scraper that connects and sends nothing must not delay the stop.
  const silent = connect(measured.port, '127.0.0.1').on('error', () => {})
  expect(await service.stop('SIGTERM')).toBe(0)
  silent.destroy()
})

test('the metrics count waits for connections, refused sign-ins, expiring tokens and reasons, and omit facts of the database when the database is slow', async () => {
  const environment = { DATABASE_POOL: '1', PUBLIC_URL: '' }
  const { service, pool, platform, build, scrape, scrapeFacts } = await startMeasured(environment)
  const tenant = await build.tenant()
  const { secret } = await createTestToken(pool, [tenant])
  await pool`update gateway.token set expires_at = now() + interval '13 days'`
  const calls = Array.from({ length: 20 }, () => service.list(secret))
  for (const { status } of await Promise.all(calls)) expect(status).toBe(200)
  const busy = await scrapeFacts()
  expect(readSeries(busy, 'vgw_tokens_ending')).toBe(1)
  expect(readSeries(busy, 'vgw_pool_wait_seconds_count{pool="requests"}')).toBeGreaterThan(0)

  await createVisitor(service.origin).submit('/admin/login', { email: 'planted@example.com', password: 'planted' })
  const refusals = 'vgw_sign_ins_refused_total{reason="wrong_password"}'
  await until('it is counted', async () => readSeries(await scrape(), refusals) === 1)
  expect(await scrape()).not.toContain('planted')

  await platform.begin(async sql => {
    await sql`lock table gateway.rejected in access exclusive mode`
    const text = await scrape()
    expect(text).not.toMatch(/^vgw_step_age_seconds /m)
    expect(readSeries(text, requestSeriesOf('ListTenants', 200))).toBe(20)
  })
  await until('it reads again', async () => readSeries(await scrape(), 'vgw_rejected_keys') === 0)
  await until('there is no reason', async () => !(await scrape()).includes('vgw_reason{'))
  await platform.begin(async sql => {
    // The lock prevents the service from repairing the trigger before the metric is read.
    await sql`lock table gateway.rule in share mode`
    await platform`drop trigger capture_row on product`
    const missing = 'vgw_reason{code="CAPTURE_MISSING",level="error"}'
    await until('the reason is there', async () => readSeries(await scrape(), missing) === 1)
  })
  await until('it is repaired', async () => readSeries(await scrape(), 'vgw_captures_repaired_total') === 1)
})

test('the metrics count webhooks by state and deliveries by result, and the lag is the age of the oldest event', async () => {
  const { NODE_EXTRA_CA_CERTS } = process.env
  const { pool, platform, build, scrapeFacts } = await startMeasured({
    ...{ WEBHOOK_NETWORKS: '127.0.0.0/8', NODE_EXTRA_CA_CERTS },
  })
  const tenant = await build.tenant()
  const { id: tokenId } = await createTestToken(pool, [tenant])
  const receiver = await startReceiver()
  const other = await startReceiver()
  other.respond = breakConnection
  await createEndpoint(pool, tester, tokenId, receiver.url)
  await createEndpoint(pool, tester, tokenId, other.url)
  const paused = await createEndpoint(pool, tester, tokenId, 'https://partner.example.com/')
  await pauseEndpoint(pool, tester, paused.id)
  expect(readSeries(await scrapeFacts(), 'vgw_webhooks{state="active",reason=""}')).toBe(2)
  await build.voucher(tenant)
  const tries = (text: string, result: string) =>
    readSeries(text, `vgw_webhook_deliveries_total{result="${result}"}`) ?? 0
  const text = await until('a delivery and a failure', async () => {
    const text = await scrapeFacts()
    const isFailing = readSeries(text, 'vgw_webhooks{state="failing",reason=""}') === 1
    return isFailing && tries(text, 'delivered') > 0 && tries(text, 'failed') > 0 ? text : undefined
  })
  expect(readSeries(text, 'vgw_webhook_delivery_seconds_count')).toBe(tries(text, 'delivered'))
  expect(readSeries(text, 'vgw_webhooks{state="paused",reason="administrator"}')).toBe(1)
  await until('the event waits', async () => (readSeries(await scrapeFacts(), 'vgw_webhook_lag_seconds') ?? 0) > 1)
  await platform`update gateway.webhook_endpoint set paused_at = now(), pause_reason = 'failing' where paused_at is null`
  const isPaused = (text: string) => readSeries(text, 'vgw_webhooks{state="paused",reason="failing"}') === 2
  await until('no event of a paused webhook waits', async () => {
    const text = await scrapeFacts()
    return isPaused(text) && readSeries(text, 'vgw_webhook_lag_seconds') === 0
  })
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
  // Each request opens a new connection, so that both workers get requests.
  const headers = { accept: 'application/json', authorization: `Bearer ${secret}`, connection: 'close' }
  const ask = async (times: number) => {
    for (let call = 0; call < times; call++)
      expect((await fetch(`${service.restAddress}/tenants`, { headers })).status).toBe(200)
  }
  await ask(20)
  const counted = requestSeriesOf('ListTenants', 200)
  await until('all are counted', async () => readSeries(await scrape(), counted) === 20)
  // Facts of the processes are added up over the workers, and facts of the database are not.
  const text = await scrapeFacts()
  expect(text.match(/^vgw_step_age_seconds /gm)).toHaveLength(1)
  expect(readSeries(text, 'vgw_pool_connections{pool="requests"}')).toBe(20)
  expect(readSeries(text, 'vgw_workers{state="listening"}')).toBe(2)

  const [first = 0, second = 0] = pids
  process.kill(first, 'SIGSTOP')
  expect(readSeries(await scrape(), counted)).toBe(20)
  process.kill(first, 'SIGKILL')
  await until('another worker listens', () => readPids() === 3)
  expect(readSeries(await scrape(), counted)).toBe(20)
  await ask(10)
  await until('they are added', async () => readSeries(await scrape(), counted) === 30)
  expect(process.kill(second, 0)).toBe(true)
  expect(await service.stop('SIGTERM')).toBe(0)
})
