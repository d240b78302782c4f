/**
 * Tests the example reverse proxies of deploy/ in front of the service: the answers to callers, and the address of a
 * caller that the service sees.
 */
import { readFileSync } from 'node:fs'
import { Agent, type RequestOptions, request } from 'node:https'
import { gunzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { serve } from '../support/process.ts'
import { projected } from '../support/projected.ts'
import { until } from '../support/until.ts'
import { certificate, type ProxyKind, startReverseProxy } from './reverse-proxy.ts'

const database = await createDatabase()
const build = createBuilders(database)
const tenantId = await build.tenant()
const { secret } = await build.token([tenantId])
const references = Array.from({ length: 50 }, (_, number) => `PROXY-${10 + number}`)
await Promise.all(references.map(reference => build.voucher(tenantId, { reference })))
await projected(database.platform)
const ports = { service: await freePort(), health: await freePort() }
const service = await serve({
  ...{ DATABASE_URL: database.url, PORT: String(ports.service), HEALTH_PORT: String(ports.health) },
  ...{ TRUST_PROXY: '127.0.0.1', COMPRESSION: 'on', LOG_REQUESTS: 'all', LOG_LEVEL: 'info' },
})

const list = `/api/external/v1/tenants/${tenantId}/sales/purchased-vouchers`

/** The address from which callers connect to the proxy. The proxy connects to the service from 127.0.0.1. */
const caller = '127.0.0.2'
const agent = new Agent({ keepAlive: true, ca: readFileSync(certificate), servername: 'localhost' })
afterAll(() => agent.destroy())

/** Sends a request to a proxy. @param body the JSON text to send */
function sendToProxy(port: number, path: string, options: RequestOptions = {}, body?: string) {
  const headers = {
    ...{ host: 'localhost', accept: 'application/json', authorization: `Bearer ${secret}` },
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    ...options.headers,
  }
  type Answer = { status: number | undefined; headers: NodeJS.Dict<string | string[]>; body: Buffer; reused: boolean }
  return new Promise<Answer>((resolve, reject) => {
    const at = { host: '127.0.0.1', port, path, localAddress: caller, agent }
    const outgoing = request({ ...at, ...options, headers }, answer => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
      answer.on('end', () => {
        const { statusCode: status, headers } = answer
        resolve({ status, headers, body: Buffer.concat(chunks), reused: outgoing.reusedSocket })
      })
    })
    outgoing.on('error', reject).end(body)
  })
}

/** Returns the caller's address in the log line of a request. */
const readLoggedAddress = (requestId: unknown) =>
  until('the request has a line', () => {
    const line = service
      .log()
      .split('\n')
      .find(each => each.includes(`"${requestId}"`))
    return line === undefined ? null : String(JSON.parse(line).address)
  })

const kinds: ProxyKind[] = ['nginx', 'haproxy', 'caddy']

describe.each(kinds)('%s', async kind => {
  const { http, https } = await startReverseProxy(kind, ports)
  test('forwards v1 with only the real address of the caller, while an instance is down', async () => {
    for (const headers of [{}, { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-host': 'evil.example' }]) {
      const answer = await sendToProxy(https, list, { headers })
      expect(answer.status).toBe(200)
      expect(JSON.parse(answer.body.toString()).data).toHaveLength(50)
      expect(answer.headers['strict-transport-security']).toBe('max-age=31536000')
      expect(await readLoggedAddress(answer.headers['x-request-id'])).toBe(caller)
      // The pages show the public address, which the service knows only from the proxy.
      const page = await sendToProxy(https, '/docs/quick-start', { headers: { ...headers, accept: 'text/html' } })
      expect(page.body.toString()).toContain('VOUCHER_GATEWAY_URL=https://localhost')
    }
  })

  test('forwards a compressed export up to its last line', async () => {
    const headers = { accept: 'application/x-ndjson', 'accept-encoding': 'gzip' }
    const answer = await sendToProxy(https, `/api/external/export/v1/tenants/${tenantId}/purchased-vouchers`, {
      headers,
    })
    expect([answer.status, answer.headers['content-encoding']]).toEqual([200, 'gzip'])
    const lines = gunzipSync(answer.body).toString().trim().split('\n')
    expect(lines.flatMap(line => JSON.parse(line).reference ?? []).sort()).toEqual(references)
    expect(lines.at(-1)).toContain('"count":50')
  })

  test('forwards GraphQL, and keeps the connection open', async () => {
    const document = `{ tenant(id: ${tenantId}) { purchasedVouchers(first: 1) { nodes { id } } } }`
    const query = JSON.stringify({ query: document })
    const answers = []
    for (let time = 0; time < 2; time++) answers.push(await sendToProxy(https, '/graphql', { method: 'POST' }, query))
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(JSON.parse(`${answers[1]?.body}`).data.tenant.purchasedVouchers.nodes).toHaveLength(1)
    expect(answers[1]?.reused).toBe(true)
  })

  test('forwards the 413 of the service for a long body, and answers a much longer body with 413 itself', async () => {
    const refused = await sendToProxy(
      https,
      '/graphql',
      { method: 'POST' },
      JSON.stringify({ query: ' '.repeat(200_000) }),
    )
    expect(refused.status).toBe(413)
    expect(JSON.parse(refused.body.toString()).errors[0].message).toBe('The request body is too large.')
    const longer = await sendToProxy(https, '/graphql', { method: 'POST' }, ' '.repeat(2_000_000))
    expect([longer.status, JSON.parse(longer.body.toString())]).toEqual([413, expect.any(Object)])
    expect(longer.headers).toMatchObject({ 'cache-control': 'private, no-store', 'x-request-id': expect.any(String) })
  })

  test('redirects callers without TLS to https', async () => {
    const answer = await fetch(`http://127.0.0.1:${http}/docs?q=1`, { redirect: 'manual' })
    expect(answer.status).toBe(308)
    expect(answer.headers.get('location')).toMatch(/^https:\/\/127\.0\.0\.1(:\d+)?\/docs\?q=1$/)
  })
})

test('each proxy forwards an event stream without a delay, and does not end the stream by a timeout', async () => {
  const open = async (kind: ProxyKind) => {
    const { https } = await startReverseProxy(kind, ports)
    const types = { accept: 'text/event-stream', 'content-type': 'application/json' }
    const headers = { host: 'localhost', authorization: `Bearer ${secret}`, ...types }
    const at = { host: '127.0.0.1', port: https, path: '/graphql', method: 'POST', agent: false, ca: agent.options.ca }
    const received = { kind, text: '', isOpen: true }
    const outgoing = request({ ...at, servername: 'localhost', headers }, answer => {
      answer.on('data', (chunk: Buffer) => {
        received.text += chunk
      })
      answer.on('close', () => {
        received.isOpen = false
      })
    })
    outgoing.on('error', () => {}).end('{"query":"subscription { changes { lists { list } serverTime } }"}')
    await until(`${kind} passes the first payload on`, () => received.text.endsWith('\n\n'), 2_000)
    return received
  }
  const streams = await Promise.all(kinds.map(open))
  await build.product(tenantId)
  await until('each has the change', () => streams.every(({ text }) => text.includes('CATALOG_VOUCHERS')), 2_000)
  const payloads = (text: string) => text.split('event: next').length - 1
  await until('each has two heartbeats', () => streams.every(({ text }) => payloads(text) >= 4), 22_000)
  expect(streams.map(({ kind, isOpen }) => [kind, isOpen])).toEqual(kinds.map(kind => [kind, true]))
})

describe.each(kinds)('%s, while no instance answers', async kind => {
  const { https } = await startReverseProxy(kind, { service: await freePort(), health: await freePort() })

  test.each([
    ['a name', { 'x-request-id': 'order.7_A-1' }, /^order\.7_A-1$/],
    ['a name that is none', { 'x-request-id': 'a b' }, /^[\da-f]{8}-?([\da-f]{4}-?){3}[\da-f]{12}$/],
  ])('answers a request with %s as the service does when it cannot', async (_, headers, requestId) => {
    const answer = await sendToProxy(https, list, { headers })
    const message = 'The service cannot answer just now. Try again in a moment.'
    expect([answer.status, JSON.parse(answer.body.toString())]).toEqual([503, { message }])
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(answer.body.length),
      'cache-control': 'private, no-store',
      'retry-after': expect.stringMatching(/^[1-5]$/),
      'x-request-id': expect.stringMatching(requestId),
      'strict-transport-security': 'max-age=31536000',
    })
  })
})
