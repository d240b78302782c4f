import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import { afterAll, expect, test } from 'vitest'
import { OverloadError } from '../../src/http/errors.ts'
import { limitRequests } from '../../src/http/limits/admission.ts'
import { enforceDeadline } from '../../src/http/limits/deadline.ts'
import { createWorld } from '../rest/support.ts'
import { createApp, v1 } from '../support/app.ts'
import { untilLockWaits } from '../support/locks.ts'
import { collectLog } from '../support/log.ts'
import { openSocket } from '../support/sockets.ts'
import { until } from '../support/until.ts'

const world = await createWorld()
const { platform, secret, tenantId } = world
const { log, lines } = collectLog()
const client = await createApp(world, { MAX_REQUESTS: '20', LOG_LEVEL: 'info', LOG_REQUESTS: 'all' }, log)

const products = (headers = {}) => client.rest(secret, `/tenants/${tenantId}/catalog/vouchers`, { headers })
const tenants = () => client.rest(secret, '/tenants')
const query = `{ tenant(id: "${tenantId}") { catalogVouchers { nodes { title } } } }`

/** Sends as many requests as an operation may have under way. While they wait for a table lock, `work` sends others. */
const whileFull = <Others>(send: () => Promise<{ status: number }>, work: () => Promise<Others>) =>
  platform.begin(async sql => {
    await sql`lock table gateway.product`
    const waiting = Array.from({ length: 15 }, send)
    await untilLockWaits(platform)
    return { waiting, others: await work() }
  })

test('beyond the maximum under way, requests of an operation are 503, and other operations are answered', async () => {
  const { waiting: full, others } = await whileFull(products, async () => ({
    refused: await Promise.all([
      ...Array.from({ length: 50 }, () => products()),
      products({ 'x-request-id': 'refused' }),
    ]),
    // Requests of other operations may wait for a connection, but are not refused.
    waiting: [tenants(), client.graphql(secret, '{ viewer { name } }')],
    health: await client.ask({ method: 'GET', url: '/livez' }),
  }))
  const { refused, waiting, health } = others
  // `Retry-After` differs, so that callers that are refused together do not retry together.
  expect(new Set(refused.map(({ headers }) => headers['retry-after'])).size).toBeGreaterThan(1)
  for (const { status, headers, body } of refused) {
    expect(status).toBe(503)
    expect(headers['retry-after']).toMatch(/^[1-5]$/)
    expect(headers['x-request-id']).toMatch(/^\S+$/)
    expect(headers['cache-control']).toBe('private, no-store')
    expect(Object.keys(body)).toEqual(['message'])
    // A request that is refused before the lookup of its token does not count against the rate limit.
    expect(headers['ratelimit-remaining']).toBeUndefined()
  }
  expect(health.status).toBe(200)
  const later = [...(await Promise.all([...waiting, ...full])), await products()]
  expect(new Set(later.map(({ status }) => status))).toEqual(new Set([200]))
  const reason = 'The service has too many requests just now. Try again in a moment.'
  expect(lines().filter(({ reqId }) => reqId === 'refused')).toMatchObject([
    { msg: 'request', method: 'GET', status: 503, errors: [{ code: 'UNAVAILABLE', reason }] },
  ])
})

test('when GraphQL has its maximum of requests under way, further ones are 503, and pages are answered', async () => {
  const { waiting, others } = await whileFull(
    () => client.graphql(secret, query),
    () => Promise.all([client.graphql(secret, '{ viewer { name } }'), client.ask({ url: '/assets/admin.css' })]),
  )
  const [refused, page] = others
  expect(refused.status).toBe(503)
  expect(refused.headers['retry-after']).toMatch(/^[1-5]$/)
  expect(refused.body.errors[0].extensions.code).toBe('UNAVAILABLE')
  expect(page.status).toBe(200)
  await Promise.all(waiting)
})

test('a caller that disconnects makes room for another request, and its own request does not begin', async () => {
  const { port } = new URL(await client.app.listen({ host: '127.0.0.1', port: 0 }))
  const headers = { authorization: `Bearer ${secret}`, accept: 'application/json' }
  const path = `http://127.0.0.1:${port}${v1}/tenants`
  for (let round = 0; round < 3; round++) {
    const gone = Array.from({ length: 30 }, () =>
      fetch(path, { headers, signal: AbortSignal.timeout(2) }).catch(() => null),
    )
    await Promise.all(gone)
  }
  const areAnswered = async () =>
    (await Promise.all(Array.from({ length: 10 }, tenants))).every(({ status }) => status === 200)
  await until('ten requests are answered at once', areAnswered, 5_000)
  // Refused requests and disconnected callers are not logged as an outage.
  expect(lines().map(({ msg }) => msg)).not.toContain('cannot answer')
})

/** The maximum number of requests that an operation can have under way. */
const limit = 9

/** Starts a server with limits. @param deadline the time limit of bodies and of answers, in milliseconds */
async function startLimited(deadline: number, work: () => Promise<unknown> = () => sleep(50)) {
  const app = Fastify({ forceCloseConnections: true })
  afterAll(() => app.close())
  app.setErrorHandler((error, _request, reply) => reply.code(error instanceof OverloadError ? 503 : 408).send({}))
  enforceDeadline(app, { answer: deadline, body: deadline })
  app.decorate('holdRefusal', send => send())
  limitRequests(app, (4 / 3) * limit)
  const seen = { waiting: 0, complete: 0, active: 0, most: 0 }
  app.addHook('preParsing', (_request, _reply, payload, done) => {
    seen.waiting++
    payload.once('end', () => seen.complete++)
    done(null, payload)
  })
  app.post('/', async () => {
    seen.most = Math.max(seen.most, ++seen.active)
    await work()
    seen.active--
    return 'done'
  })
  const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
  /** Sends requests without the last byte of their bodies. */
  const begin = (count: number) =>
    Array.from({ length: count }, () => {
      const { socket } = openSocket(port)
      socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{')
      const received = once(socket, 'data').then(([text]) => Number(String(text).slice(9, 12)))
      return { socket, received }
    })
  return { seen, begin }
}

test('up to the limit, requests are answered when all bodies arrive together with their heads', async () => {
  let release = () => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  const { seen, begin } = await startLimited(10_000, () => held)
  const sent = begin(30)
  for (const { socket } of sent) socket.write('}')
  const statuses: number[] = []
  for (const { received } of sent) void received.then(status => statuses.push(status))
  await until('all others are refused', async () => statuses.length === sent.length - limit, 5_000)
  release()
  await Promise.all(sent.map(({ received }) => received))
  expect(statuses.filter(status => status === 200)).toHaveLength(limit)
  // The other requests were refused before the lookup of their tokens.
  expect(seen.waiting).toBe(limit)
})

test('requests beyond the limit are refused when too many bodies end at the same time', async () => {
  const { seen, begin } = await startLimited(10_000)
  const sent = begin(30)
  await until('all heads have arrived', async () => seen.waiting === sent.length, 5_000)
  for (const { socket } of sent) socket.write('}')
  const statuses = await Promise.all(sent.map(({ received }) => received))
  expect(seen.most).toBe(limit)
  expect(statuses.filter(status => status === 200)).toHaveLength(limit)
  expect(statuses.filter(status => status === 503)).toHaveLength(sent.length - limit)
})

test('requests that end after their 408 do not count against the limit any more', async () => {
  const { seen, begin } = await startLimited(1_000)
  const late = begin(2 * limit)
  expect(new Set(await Promise.all(late.map(({ received }) => received)))).toEqual(new Set([408]))
  for (const { socket } of late) socket.write('}')
  await until('all bodies have arrived', async () => seen.complete === late.length, 5_000)
  const next = begin(limit)
  for (const { socket } of next) socket.write('}')
  expect(new Set(await Promise.all(next.map(({ received }) => received)))).toEqual(new Set([200]))
})
