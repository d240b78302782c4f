import { expect, it } from 'vitest'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import { createBrowser, root, signIn } from '../admin/support.ts'
import { createApp, createClient, v1 } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { collectLog } from '../support/log.ts'
import { startService } from '../support/service.ts'
import { openSocket } from '../support/sockets.ts'
import { until } from '../support/until.ts'

const { build, database, platform, pool } = await startService()
const tenantId = await build.tenant()
const { id: tokenId, secret } = await build.token([tenantId])
const revoked = await build.token([tenantId])
await revokeToken(pool, tester, revoked.id)
const { secret: narrow } = await build.token([tenantId], { rateLimit: 1 })

async function createLogged(environment: NodeJS.ProcessEnv) {
  const { log, text, lines } = collectLog()
  const client = await createApp(database, { LOG_LEVEL: 'info', ...environment }, log)
  const requests = () => lines().filter(({ msg }) => msg === 'request')
  return { ...client, text, lines, requests }
}

const vouchers = '/api/external/v1/tenants/:tenant/sales/purchased-vouchers'

it('the line of a request has its route, operation, token, tenant, address and duration', async () => {
  const { rest, requests } = await createLogged({ LOG_REQUESTS: 'all' })
  const { headers } = await rest(secret, `/tenants/${tenantId}/sales/purchased-vouchers?cursor=`)
  const any = { time: expect.any(Number), hostname: expect.any(String), durationMs: expect.any(Number) }
  const route = { method: 'GET', route: vouchers, operation: 'ListPurchasedVouchers', status: 200 }
  const caller = { reqId: headers['x-request-id'], tokenId, tenantId, address: '127.0.0.1', operations: 1 }
  expect(requests()).toEqual([{ level: 30, msg: 'request', pid: process.pid, ...any, ...route, ...caller }])
})

it('the line has the GraphQL operation when the document is valid and its name can contain no secret', async () => {
  const { graphql, requests } = await createLogged({ LOG_REQUESTS: 'all' })
  const spends = `{ tenant(id: ${tenantId}) { purchasedVouchers { nodes { id } } catalogVouchers { nodes { id } } } }`
  // The second request uses the cached document.
  for (let time = 0; time < 2; time++) await graphql(secret, `query Nightly_sync2 ${spends}`)
  for (const query of [
    `query vgw_abcdef ${spends}`,
    'query GIFT1234 { viewer { name } }',
    'query NotValid { nothing }',
  ])
    await graphql(secret, query)
  const named = { route: '/graphql', operation: 'Nightly_sync2', operations: 2, tenantId, status: 200 }
  expect(requests().slice(0, 2)).toMatchObject([named, named])
  for (const { operation } of requests().slice(2)) expect(operation).toBeUndefined()
  expect(requests()[4]).toMatchObject({ errors: [{ code: 'GRAPHQL_VALIDATION_FAILED' }] })
})

it('the line of a refused request has the reason of the refusal', async () => {
  const { rest, graphql, ask, requests } = await createLogged({ LOG_REQUESTS: 'errors' })
  await rest(secret, '/tenants')
  await rest(secret, `/tenants/${tenantId}9/sales/purchased-vouchers`)
  await rest(revoked.secret, '/tenants')
  await rest('unknown', `/tenants/${tenantId}/sales/purchased-vouchers`)
  for (let time = 0; time < 2; time++) await rest(narrow, '/tenants')
  await rest(secret, `/tenants/${tenantId}/sales/purchased-vouchers?cursor=secret&updated_since=secret`)
  await graphql(secret, `{ tenant(id: ${tenantId}9) { name } }`)
  await ask({ method: 'GET', url: '/secret/path' })
  const reasons = requests().map(line => [line.status, line.errors?.map(({ reason }) => reason).join(), line.tokenId])
  expect(reasons).toEqual([
    [404, 'No such tenant.', tokenId],
    [401, 'The token is revoked.', revoked.id],
    [401, 'A valid bearer token is required.', undefined],
    [429, 'The rate limit is exceeded. Try again after the window resets.', expect.any(Number)],
    [422, 'The request is not valid. Fields: cursor, updated_since.', tokenId],
    [200, 'No such tenant.', tokenId],
    [404, 'No such path.', undefined],
  ])
})

it('the line of a page has the administrator’s id, and neither an e-mail address nor a secret link', async () => {
  const { app, text, requests } = await createLogged({ LOG_REQUESTS: 'all' })
  const browser = await signIn({ app }, database)
  await browser.get('/admin/tokens?secret')
  await createBrowser(app).get('/admin/setup/secret-link')
  const [administrator] = await platform`select id from gateway.administrator where email = ${root.email}`
  expect(requests().slice(-2)).toMatchObject([
    { route: '/admin/tokens', administratorId: administrator?.id, status: 200 },
    { route: '/admin/setup/:secret', status: expect.any(Number) },
  ])
  expect(text()).not.toMatch(/secret-link|\?secret|root@|quiet water/)
})

it('no line is written for health checks, and with LOG_REQUESTS=off for any request', async () => {
  const { ask, requests } = await createLogged({ LOG_REQUESTS: 'all' })
  for (const url of ['/livez', '/readyz']) await ask({ method: 'GET', url })
  expect(requests()).toEqual([])
  const off = await createLogged({ LOG_REQUESTS: 'off' })
  await off.rest('unknown', '/tenants')
  expect(off.lines()).toEqual([])
})

it('with a sample, a line is written for a share of the successful requests and for all refused ones', async () => {
  const { rest, requests } = await createLogged({ LOG_REQUESTS: 'sample:0.5' })
  for (let time = 0; time < 100; time++) await rest(secret, '/tenants')
  for (let time = 0; time < 20; time++) await rest('unknown', '/tenants')
  const count = (wanted: number) => requests().filter(({ status }) => status === wanted).length
  // The count exceeds these bounds only once in 10^15 runs.
  expect(count(200)).toBeGreaterThan(10)
  expect(count(200)).toBeLessThan(90)
  expect(count(401)).toBe(20)
})

const { app, requests, text } = await createLogged({ LOG_REQUESTS: 'errors' })
const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
const open = () => openSocket(Number(port))
const lineOf = (id: string) => until('the line is written', () => requests().find(({ reqId }) => reqId === id))

it('a line is written for a request whose client disconnects before the answer', async () => {
  const { socket } = open()
  const head = `POST ${v1}/tenants/${tenantId}/redemptions/resolve HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}`
  const rest = 'Accept: application/json\r\nContent-Type: application/json\r\nContent-Length: 100'
  socket.write(`${head}\r\nX-Request-Id: leaves\r\n${rest}\r\n\r\n{`, () => setTimeout(() => socket.destroy(), 1_000))
  const line = await lineOf('leaves')
  expect(line).toMatchObject({ operation: 'ResolveVoucher', aborted: true, tokenId })
  expect(line).not.toHaveProperty('status')
})

it('the line of a request with too large headers has the id of the response, and no text of the headers', async () => {
  const { socket, received, closed } = open()
  socket.end(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'secret'.repeat(4000)}\r\n\r\n`)
  await closed
  const id = /X-Request-Id: (\S+)/.exec(received())?.[1] ?? ''
  const errors = [{ code: 'HPE_HEADER_OVERFLOW' }]
  expect(await lineOf(id)).toMatchObject({ status: 431, address: '127.0.0.1', errors })
  expect(text()).not.toMatch(/secret/i)
})

it('at most 50 lines per second are written for refused requests, and further ones are counted', async () => {
  const { app, requests, lines } = await createLogged({ LOG_REQUESTS: 'errors' })
  // This client runs no step before each request, because a slow machine would then send fewer than 50 requests per
  // second.
  const { rest } = createClient(app)
  const started = Date.now()
  for (let time = 0; time < 200; time++) await rest('unknown', '/tenants')
  await app.close()
  const seconds = Math.ceil((Date.now() - started) / 1000)
  expect(requests().length).toBeLessThanOrEqual(50 * seconds)
  const counted = lines().filter(({ omitted }) => omitted)
  expect(counted.reduce((sum, { omitted = 0 }) => sum + omitted, requests().length)).toBe(200)
  expect(counted[0]?.statuses).toEqual({ 401: counted[0]?.omitted })
})
