import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { Answer } from '../support/app.ts'
import { v1 } from '../support/app.ts'
import { differenceFrom } from '../support/openapi.ts'
import { openSocket } from '../support/sockets.ts'
import { until } from '../support/until.ts'
import { bearer, createWorld, flawOf } from './support.ts'

const { client, secret, tenantId, place } = await createWorld()
await client.app.listen({ host: '127.0.0.1', port: 0 })
const { port } = client.app.server.address() as AddressInfo

/** Sends bytes, and reads the first answer. */
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
  return {
    status: Number(statusLine.split(' ')[1]),
    headers,
    bytes: sent,
    text,
    body: text ? JSON.parse(text) : undefined,
  }
}

const known = `Accept: application/json\r\nAuthorization: Bearer ${secret}\r\n`
const chunked = 'Transfer-Encoding: chunked'
const get = (target: string, headers = known) =>
  send(Buffer.from(`GET ${target} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`, 'latin1'))

describe('malformed HTTP', () => {
  test.each([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['a target that is no path', 'GET x HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a raw byte in the target', `GET ${v1}/tenants/\xff HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
    ['a bad version', `GET ${v1}/tenants HTTP/9.9\r\n\r\n`, 400],
    ['another protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['HTTP/2 at once', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['an unknown method', `BREW ${v1}/tenants HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
    ['a NUL in the target', `GET ${v1}/ten\0ants HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
    ['a NUL in a header', `GET ${v1}/tenants HTTP/1.1\r\nHost: x\r\nAccept: \0\r\n\r\n`, 400],
    ['a header without a colon', `GET ${v1}/tenants HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n`, 400],
    ['two lengths', `POST ${v1}/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab`, 400],
    ['a length and chunks', `POST ${v1}/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n${chunked}\r\n\r\n`, 400],
    ['headers too large', `GET ${v1}/tenants HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    ['a target too long', `GET ${v1}/${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
  ])('%s gets a message', async (_, bytes, status) => {
    const answer = await send(Buffer.from(bytes, 'latin1'))
    expect(flawOf(answer, status)).toBeNull()
    expect(differenceFrom({ method: 'GET', url: v1, ...answer })).toBeNull()
    expect(answer.headers.connection).toBe('close')
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('a body that ends in broken chunks gets a message', async () => {
    const head = `POST ${v1}/tenants/${tenantId}/redemptions/resolve HTTP/1.1\r\nHost: x\r\n${known}`
    const answer = await send(`${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`)
    expect(flawOf(answer, answer.status === 422 ? 422 : 400)).toBeNull()
  })
})

describe('unusual but valid HTTP is answered', () => {
  test.each([
    ['without a Host', `GET ${v1}/tenants HTTP/1.1\r\n${known}\r\n`],
    ['HTTP/1.0', `GET ${v1}/tenants HTTP/1.0\r\n${known}\r\n`],
    ['an expectation', `GET ${v1}/tenants HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n${known}\r\n`],
    ['an upgrade', `GET ${v1}/tenants HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n${known}\r\n`],
    ['an absolute target', `GET http://elsewhere.example${v1}/tenants HTTP/1.1\r\nHost: x\r\n${known}\r\n`],
  ])('%s', async (_, bytes) => {
    const { status, body } = await send(bytes)
    expect([status, body.data]).toEqual([200, [expect.objectContaining({ tenant_id: tenantId })]])
  })

  test('the connection stays open, and each answer has its own request id', async () => {
    const [one, two] = [await get(`${v1}/tenants`), await get(`${v1}/tenants`)]
    expect(one.headers.connection).toBe('keep-alive')
    expect(one.headers['x-request-id']).not.toBe(two.headers['x-request-id'])
  })
})

describe('an unknown path', () => {
  const ids = ['%', '%25zz%zz', '%00', `${place.product}%00`, `${place.product}/`, '9'.repeat(10_000)]
  const paths = [
    ...['', '/', '/tenant', '/tenants/', '//tenants', '/TENANTS', '/%zz', '/%', '/%ff'],
    ...['/tenants/%zz/catalog/vouchers', '/tenants/%zz/catalog/vouchers?cursor=%zz'],
    ...['/tenants/%C0%AF/catalog/vouchers', '/tenants/%ff%fe/sales/purchased-vouchers/1'],
    '/tenants%2F1%2Fcatalog%2Fvouchers',
    ...ids.map(id => `/tenants/${tenantId}/catalog/vouchers/${id}`),
    `/tenants/${'x'.repeat(10_000)}/catalog/vouchers`,
    `/tenants/${tenantId}/../${tenantId}/catalog/vouchers`,
    `/tenants/${tenantId};x/catalog/vouchers`,
  ]

  test.each(
    paths.map(path => [path.slice(0, 60), path]),
  )('%s is 404 with a valid token, and 401 without', async (_, path) => {
    expect(flawOf(await get(v1 + path), 404)).toBeNull()
    expect(flawOf(await get(v1 + path, ''), 401)).toBeNull()
  })

  const elsewhere = ['/nowhere', '*', '/%zz', '/%ff', '/api/external/v2/tenants']
  test.each(elsewhere)('%s outside of v1 is 404 with a message', async target => {
    expect(flawOf(await get(target), 404)).toBeNull()
    expect(flawOf(await get(target, ''), 404)).toBeNull()
  })

  test.each(['/', 'http://h', 'http://h?x'])('%s is 404 with a message for a caller of v1', async target => {
    expect(flawOf(await get(target), 404)).toBeNull()
  })

  const methods = ['POST', 'PUT', 'DELETE', 'OPTIONS', 'QUERY', 'PROPFIND'] as const
  test.each(methods)('is 404 by %s, whatever the body', async method => {
    const bodies = [undefined, '{', 'a'.repeat(100_000)]
    for (const payload of bodies) {
      for (const type of ['application/json', 'text/html', ';;', undefined]) {
        const headers = { ...bearer(secret), ...(type && { 'content-type': type }) }
        for (const url of ['/nowhere', `${v1}/nowhere`]) {
          const answer = await client.ask({ method: method as 'POST', url, headers, ...(payload && { payload }) })
          expect(flawOf(answer, 404), `${url} ${type} ${payload?.slice(0, 9)}`).toBeNull()
        }
      }
    }
  })
})

describe('X-Request-Id', () => {
  test.each(['a', 'A-z_0.9', '6f1c', 'x'.repeat(128)])('%s is kept, also in errors', async id => {
    const headers = `X-Request-Id: ${id}\r\n`
    expect((await get(`${v1}/tenants`, known + headers)).headers['x-request-id']).toBe(id)
    for (const target of [`${v1}/tenants`, `${v1}/%zz`, '/nowhere']) {
      expect((await get(target, headers)).headers['x-request-id']).toBe(id)
    }
  })

  const invalid = ['', ' ', 'a b', 'a,b', 'é', '<b>', 'x'.repeat(129), 'a\r\nX-Request-Id: b']
  test.each(invalid)('%j is replaced', async id => {
    const answer = await get(`${v1}/tenants`, `${known}X-Request-Id: ${id}\r\n`)
    expect(answer.headers['x-request-id']).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    )
  })
})
