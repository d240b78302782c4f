import { expect, test } from 'vitest'
import { type Answer, v1 } from '../support/app.ts'
import { differenceFrom } from '../support/openapi.ts'
import { openSocket } from '../support/sockets.ts'
import { until } from '../support/until.ts'
import { bearer, createWorld, flawOf } from './support.ts'

const { client, secret, tenantId, place } = await createWorld()
const port = Number(new URL(await client.app.listen({ host: '127.0.0.1', port: 0 })).port)

/** Sends bytes as they are, and reads the first answer. */
async function send(bytes: string | Buffer): Promise<Answer> {
  const { socket, received } = openSocket(port)
  socket.write(bytes)
  const parts = () => received().split('\r\n\r\n')
  await until('it is answered', async () => {
    const length = /content-length: (\d+)/i.exec(received())?.[1]
    return length !== undefined && (parts()[1]?.length ?? 0) >= Number(length)
  })
  socket.destroy()
  const [head = '', body = ''] = parts()
  const sent = Buffer.from(body, 'latin1')
  const text = sent.toString()
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(
    lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const status = Number(statusLine.split(' ')[1])
  return { status, headers, bytes: sent, text, body: text ? JSON.parse(text) : undefined }
}

const validHeaders = `Accept: application/json\r\nAuthorization: Bearer ${secret}\r\n`
const chunked = 'Transfer-Encoding: chunked'
const get = (target: string, headers = validHeaders) =>
  send(Buffer.from(`GET ${target} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`, 'latin1'))

test.each([
  ['garbage', 'garbage\r\n\r\n', 400],
  ['another protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
  ['a length and chunks', `POST ${v1}/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n${chunked}\r\n\r\n`, 400],
  ['headers too large', `GET ${v1}/tenants HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
])('malformed HTTP gets a message: %s', async (_, bytes, status) => {
  const answer = await send(Buffer.from(bytes, 'latin1'))
  expect(flawOf(answer, status)).toBeNull()
  expect(differenceFrom({ method: 'GET', url: v1, ...answer })).toBeNull()
  expect(answer.headers.connection).toBe('close')
  expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
})

const wrongHosts = ['a b', 'user@a', 'a/b', 'a:b', 'a?', 'http://a', '[a', '%zz', 'é', 'a:1:2']
const requests: [string, string][] = [
  ['no Host', 'HTTP/1.1\r\n'],
  ['two Hosts, the last beyond a thousand lines', `HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(1_500)}HOST: y\r\n`],
  ['two Hosts of HTTP/1.0', 'HTTP/1.0\r\nHost: x\r\nHost: x\r\n'],
  ...wrongHosts.map((host): [string, string] => [`Host: ${host}`, `HTTP/1.1\r\nHost: ${host}\r\n`]),
  ['chunks of HTTP/1.0', `HTTP/1.0\r\nConnection: keep-alive\r\n${chunked}\r\n\r\n0\r\n`],
  ['compressed chunks', 'HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n'],
  ['HTTP/0.9 without a version', '\r\n'],
  ['HTTP/2.0', 'HTTP/2.0\r\nHost: x\r\n'],
]
test.each(
  requests,
)('HTTP that RFC 9112 does not allow is answered with a message, and the connection is closed: %s', async (_, rest) => {
  for (const target of [`${v1}/tenants`, '/graphql', '/nowhere', 'http://x/']) {
    // A second request behind the malformed one must not be answered.
    const bytes = `GET ${target} ${rest}\r\nGET /livez HTTP/1.0\r\n\r\n`
    const { socket, received, closed } = openSocket(port)
    socket.write(Buffer.from(bytes, 'latin1'))
    await closed
    expect(received().match(/HTTP\/1.1 \d+/g), target).toEqual(['HTTP/1.1 400'])
  }
  const answer = await send(Buffer.from(`GET ${v1}/tenants ${rest}\r\n`, 'latin1'))
  expect(flawOf(answer, 400)).toBeNull()
  expect(differenceFrom({ method: 'GET', url: v1, ...answer })).toBeNull()
})

const targets = ['/livez#a', '/livez?a#b', 'http://x/livez#', 'http:///livez', 'HTTPS://:80/livez', 'http://?a']
test.each([...targets, 'http://user@localhost/livez', 'http://[x]/livez'])('the target %s is refused', async target => {
  expect((await send(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`)).status).toBe(400)
})

test('the host of an absolute target replaces the header Host: /admin answers only at its own address', async () => {
  const { socket, received, closed } = openSocket(port)
  const rest = `Host: localhost:${port}\r\nConnection: close\r\n\r\n`
  socket.write(`GET http://elsewhere.example/admin/login HTTP/1.1\r\n${rest}`)
  await closed
  expect(received()).toMatch(/^HTTP\/1.1 403/)
})

test.each([
  ['HTTP/1.0 without a Host', `GET ${v1}/tenants HTTP/1.0\r\n${validHeaders}\r\n`],
  ['an empty Host', `GET ${v1}/tenants HTTP/1.1\r\nHost:\r\n${validHeaders}\r\n`],
  ['an IPv6 address', `GET ${v1}/tenants HTTP/1.1\r\nHost: [::1]:80\r\n${validHeaders}\r\n`],
  ['an expectation', `GET ${v1}/tenants HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n${validHeaders}\r\n`],
  ['an upgrade', `GET ${v1}/tenants HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n${validHeaders}\r\n`],
  ['an absolute target', `GET http://elsewhere.example${v1}/tenants HTTP/1.1\r\nHost: x\r\n${validHeaders}\r\n`],
])('unusual but valid HTTP is answered: %s', async (_, bytes) => {
  const { status, body } = await send(bytes)
  expect([status, body.data]).toEqual([200, [expect.objectContaining({ tenant_id: tenantId })]])
})

test('a connection stays open, and each answer has its own request id', async () => {
  const [one, two] = [await get(`${v1}/tenants`), await get(`${v1}/tenants`)]
  expect(one.headers.connection).toBe('keep-alive')
  expect(one.headers['x-request-id']).not.toBe(two.headers['x-request-id'])
})

const ids = ['%', '%25zz%zz', '%00', `${place.product}%00`, `${place.product}/`, '9'.repeat(10_000)]
const paths = [
  ...['', '/', '/tenants/', '//tenants', '/TENANTS', '/%zz', '/%', '/%ff', '/tenants%2F1%2Fcatalog%2Fvouchers'],
  ...['/tenants/%C0%AF/catalog/vouchers', '/tenants/%zz/catalog/vouchers?cursor=%zz'],
  ...ids.map(id => `/tenants/${tenantId}/catalog/vouchers/${id}`),
  `/tenants/${tenantId}/../${tenantId}/catalog/vouchers`,
]

test.each(
  paths.map(path => [path.slice(0, 60), path]),
)('the unknown path %s is 404, and 401 without a token', async (_, path) => {
  expect(flawOf(await get(v1 + path), 404)).toBeNull()
  expect(flawOf(await get(v1 + path, ''), 401)).toBeNull()
})

const elsewhere = ['/nowhere', '*', '/%zz', '/api/external/v2/tenants', '/', 'http://h?x']
test.each(elsewhere)('the unknown path %s outside of v1 is 404 with the error format of v1', async target => {
  expect(flawOf(await get(target), 404)).toBeNull()
})

test.each(['POST', 'OPTIONS', 'PROPFIND'])('an unknown path is 404 for the method %s with any body', async method => {
  for (const payload of ['{', 'a'.repeat(100_000)]) {
    for (const url of ['/nowhere', `${v1}/nowhere`]) {
      const headers = { ...bearer(secret), 'content-type': ';;' }
      expect(flawOf(await client.ask({ method: method as 'POST', url, headers, payload }), 404), url).toBeNull()
    }
  }
})

test.each(['a', 'A-z_0.9', '6f1c', 'x'.repeat(128)])('X-Request-Id: %s is kept, also in errors', async id => {
  const headers = `X-Request-Id: ${id}\r\n`
  expect((await get(`${v1}/tenants`, validHeaders + headers)).headers['x-request-id']).toBe(id)
  for (const target of [`${v1}/tenants`, `${v1}/%zz`, '/nowhere']) {
    expect((await get(target, headers)).headers['x-request-id']).toBe(id)
  }
})

const invalid = ['', ' ', 'a b', 'a,b', 'é', '<b>', 'x'.repeat(129), 'a\r\nX-Request-Id: b']
test.each(invalid)('X-Request-Id: %j is replaced', async id => {
  const answer = await get(`${v1}/tenants`, `${validHeaders}X-Request-Id: ${id}\r\n`)
  expect(answer.headers['x-request-id']).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  )
})
