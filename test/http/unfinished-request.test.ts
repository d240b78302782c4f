import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { createWorld } from '../rest/support.ts'
import { v1 } from '../support/app.ts'
import { openSocket } from '../support/sockets.ts'

const { build, client, secret, tenantId } = await createWorld()
const foreignId = await build.tenant()
const spent = await build.token([tenantId], { rateLimit: 1 })
await client.rest(spent.secret, '/tenants')
const port = Number(new URL(await client.app.listen({ host: '127.0.0.1', port: 0 })).port)

const json = ['Accept: application/json', 'Content-Type: application/json']
const validHeaders = [...json, `Authorization: Bearer ${secret}`]
const resolve = `${v1}/tenants/${tenantId}/redemptions/resolve`
const form = 'Content-Type: application/x-www-form-urlencoded'

/** Requests that are answered before their bodies are read, and the status of each answer. */
const requests: [string, string, string[], number][] = [
  ['v1 without a token', `POST ${resolve}`, json, 401],
  ['v1 beyond the request rate', `POST ${resolve}`, [...json, `Authorization: Bearer ${spent.secret}`], 429],
  ['v1 by another method', `PUT ${resolve}`, validHeaders, 405],
  ['v1 for a foreign tenant', `GET ${v1}/tenants/${foreignId}/catalog/vouchers`, validHeaders, 403],
  ['v1 that succeeds', `GET ${v1}/tenants`, validHeaders, 200],
  ['GraphQL without a token', 'POST /graphql', json, 401],
  ['GraphQL in a query string', 'GET /graphql?query=%7B__typename%7D', validHeaders, 200],
  ['/admin from another origin', 'POST /admin/login', [form], 403],
  ['a form of /admin without a session', `POST /admin/tokens/new`, [form, `Origin: http://localhost:${port}`], 303],
  ['an unknown path', 'POST /nowhere', json, 404],
  ['a target that is not a path', 'OPTIONS *', [], 404],
  ['/readyz', 'GET /readyz', [], 200],
]

/** Ways to send a slow body: the header, the first bytes, and each further part. */
const framings = {
  length: { header: 'Content-Length: 1000000', begin: '', more: 'x' },
  chunks: { header: 'Transfer-Encoding: chunked', begin: '1\r\n{\r\n', more: '1\r\nx\r\n' },
}

const headOf = (line: string, headers: string[]) =>
  [`${line} HTTP/1.1`, `Host: localhost:${port}`, ...headers, '', ''].join('\r\n')

/** Returns the parts of a response; `complete` is true when the whole body has arrived. */
function parseResponse(received: string) {
  const start = received.indexOf('\r\n\r\n')
  const head = received.slice(0, start)
  const length = /^content-length: (\d+)/im.exec(head)?.[1]
  return {
    status: Number(head.split(' ')[1]),
    connection: /^connection: (\S+)/im.exec(head)?.[1],
    complete: Buffer.byteLength(received.slice(start + 4), 'latin1') === Number(length),
  }
}

/** Sends the first part of a body, and a further part every 50 ms while the connection is open. */
async function sendSlowly(head: string, { begin, more }: (typeof framings)['length']) {
  // With `allowHalfOpen`, the client continues to write after the service has ended its side of the connection.
  const { socket, received, closed } = openSocket(port, { allowHalfOpen: true })
  socket.write(head + begin)
  const sending = setInterval(() => socket.writable && socket.write(more), 50)
  const open = await Promise.race([closed.then(() => false), sleep(10_000, true, { ref: false })])
  clearInterval(sending)
  socket.destroy()
  if (open) throw new Error(`still open after the response: ${received().slice(0, 300)}`)
  return parseResponse(received())
}

// Uses up the rate of the token again, because its rate window may have ended.
beforeAll(() => client.rest(spent.secret, '/tenants'))

const cases = requests.flatMap(([name, line, headers, status]) =>
  Object.entries(framings)
    // A few requests are also sent in chunks, because the framing hardly affects the answer.
    .filter(([framing]) => framing === 'length' || /^(v1 without a token|GraphQL without|a form)/.test(name))
    .map(([framing, body]) => ({ name, framing, line, headers, status, body })),
)

test.concurrent.each(cases)('$name, $framing: answered and closed with an unread body', async ({
  line,
  headers,
  status,
  body,
}) => {
  const response = await sendSlowly(headOf(line, [...headers, body.header]), body)
  expect(response).toEqual({ status, connection: 'close', complete: true })
})

test.concurrent('a request with a too large Content-Length is 413 before its body is read', async () => {
  for (const path of [resolve, '/graphql']) {
    const response = await sendSlowly(
      headOf(`POST ${path}`, [...validHeaders, framings.length.header]),
      framings.length,
    )
    expect(response).toEqual({ status: 413, connection: 'close', complete: true })
  }
})

test.concurrent('the connection of a client that waits for `100 Continue` is closed', async () => {
  const headers = [...json, framings.length.header, 'Expect: 100-continue']
  const { socket, received, closed } = openSocket(port)
  socket.write(headOf(`POST ${resolve}`, headers))
  await closed
  const response = received().slice(received().lastIndexOf('HTTP/1.1'))
  expect(parseResponse(response)).toEqual({ status: 401, connection: 'close', complete: true })
})

test.concurrent.each([resolve, '/graphql'])('half a body at %s is 408, which is an error of the caller', async path => {
  const { socket, received, closed } = openSocket(port)
  socket.write(`${headOf(`POST ${path}`, [...validHeaders, 'Content-Length: 20'])}{`)
  await closed
  expect(received()).toMatch(/^HTTP\/1\.1 408 /)
  expect(received()).toMatch(/^connection: close\r$/im)
  expect(received()).toContain('took too long to arrive')
  expect(received()).not.toMatch(/retry-after/i)
})

test.concurrent('bytes after the body on the closed connection are not parsed as a request', async () => {
  const { secret } = await build.token([tenantId])
  const caller = [...json, `Authorization: Bearer ${secret}`]
  const { socket, closed } = openSocket(port, { allowHalfOpen: true })
  socket.write(headOf(`POST ${resolve}`, [...json, 'Content-Length: 10']))
  await once(socket, 'end')
  socket.end('x'.repeat(10) + headOf(`GET ${v1}/tenants`, caller))
  await closed
  const { headers } = await client.rest(secret, '/tenants')
  expect(headers['ratelimit-remaining']).toBe('99999')
})

// The tests run one after the other, because the service discards data for only two seconds.
test.each([
  ['v1', `POST ${resolve}`, 401],
  ['headers that are too large', `GET ${v1}/tenants`, 431],
])('%s: a client that reads only after it has written everything gets the response', async (_, line, status) => {
  // The body is larger than the socket buffers of both sides.
  const length = 14_000_000
  const head = headOf(line, [...json, ...(status === 431 ? [] : [`Content-Length: ${length}`])])
  const { socket, received, closed } = openSocket(port)
  socket.pause()
  await new Promise<void>((done, failed) => {
    socket.once('error', failed)
    const bytes = [Buffer.from(status === 431 ? `${head.trimEnd()}\r\nX-A: ` : head), Buffer.alloc(length, 'a')]
    socket.write(Buffer.concat(bytes), error => (error ? failed(error) : done()))
  })
  socket.resume()
  await closed
  expect(parseResponse(received())).toEqual({ status, connection: 'close', complete: true })
})

const body = JSON.stringify({ voucher_reference: 'nobody' })
const withBody = (headers: string[]) => [...headers, `Content-Length: ${body.length}`]

test.each([
  ['v1 with an unknown voucher', `POST ${resolve}`, validHeaders, 404] as const,
  ...requests.filter(([name]) => /^(v1|GraphQL) without|another origin/.test(name)),
])('the connection of a complete request stays open: %s', async (_, line, headers, status) => {
  const { socket, received } = openSocket(port)
  const request = headOf(line, withBody([...headers])) + body
  for (const turn of [1, 2]) {
    socket.write(request)
    while (received().split('HTTP/1.1 ').length <= turn) await once(socket, 'data')
  }
  socket.destroy()
  const responses = received().split(/(?=HTTP\/1\.1 )/)
  expect(responses.map(response => Number(response.split(' ')[1]))).toEqual([status, status])
  for (const response of responses) expect(response).not.toMatch(/^connection: close/im)
})
