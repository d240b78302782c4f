import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createProxyServer } from 'http-proxy-3'
import { describe, expect, test } from 'vitest'
import { createWorld } from '../rest/support.ts'
import { createApp, v1 } from '../support/app.ts'
import { afterFile } from '../support/cleanups.ts'
import { listen } from '../support/free-port.ts'
import { openSocket } from '../support/sockets.ts'

const world = await createWorld()
const behindProxy = await createApp(world, { TRUST_PROXY: '127.0.0.1', RATE_LIMIT_PER_MINUTE: '120' })
const known = { accept: 'application/json', authorization: `Bearer ${world.secret}` }

/** Starts a reverse proxy that forwards all header lines and adds `X-Forwarded-For` after them. */
async function startProxy({ app }: typeof behindProxy): Promise<number> {
  const target = await app.listen({ host: '127.0.0.1', port: 0 })
  const proxy = createProxyServer({ target, xfwd: true })
  const server = createServer({ maxHeaderSize: 32 * 1024 }, (incoming, response) => {
    void proxy.web(incoming, response)
  })
  server.maxHeadersCount = 0
  afterFile(() => server.closeAllConnections())
  return listen(server)
}

const alonePort = await startProxy(world.client)
const trustedPort = await startProxy(behindProxy)

/** Returns distinct header lines, which together stay below the limit of 16 KiB. */
const lines = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index.toString(36)}`, '']))

interface Answer {
  status: number | undefined
  remaining: number
  text: string
}

/** Sends the headers in the given order, after `Host`. */
async function get(port: number, path: string, headers: Record<string, string>): Promise<Answer> {
  const sent = request({ host: '127.0.0.1', port, path, headers: { host: `localhost:${port}`, ...headers } }).end()
  const [answer] = await once(sent, 'response')
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) text += chunk
  return { status: answer.statusCode, remaining: Number(answer.headers['ratelimit-remaining']), text }
}

/** Counts below and above those at which Node drops header lines by default. */
const counts = [0, 990, 999, 1000, 1001, 1024, 2000, 2001, 3500]

describe('behind a proxy that adds its headers last', () => {
  test.each(counts)('/admin is not available without PUBLIC_URL, after %i header lines', async count => {
    for (const path of ['/admin/login', '/admin', '/admin/tokens', '/admin/setup/x']) {
      const { status, text } = await get(alonePort, path, lines(count))
      expect([path, status]).toEqual([path, 403])
      expect(text).toContain('PUBLIC_URL')
    }
  })

  test('a caller has one request budget for any number of header lines', async () => {
    const remaining: number[] = []
    for (const count of counts) {
      const headers = { ...known, ...lines(count), 'x-forwarded-for': '203.0.113.7' }
      const answer = await get(trustedPort, `${v1}/tenants`, headers)
      expect(answer.status, `${count} lines: ${answer.text}`).toBe(200)
      remaining.push(answer.remaining)
    }
    expect(remaining).toEqual(counts.map((_, index) => 119 - index))
  })
})

describe('without a proxy', () => {
  const { port } = world.client.app.server.address() as AddressInfo

  /** Sends raw header lines and returns the status. */
  async function statusOf(head: string): Promise<number> {
    const { socket, received, closed } = openSocket(port)
    socket.write(`GET ${v1}/tenants HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${head}\r\n`)
    await closed
    return Number(received().split(' ')[1])
  }

  const required = `Accept: application/json\r\nAuthorization: Bearer ${world.secret}\r\n`

  test.each([
    ['the same name without a value', 'a:\r\n'],
    ['the same name with a value', 'a: b\r\n'],
    ['a list', 'Via: x\r\n'],
    ['cookies', 'Cookie: a=b\r\n'],
    ['a header that must not repeat', 'Age: 1\r\n'],
  ])('reads the token in the last of many header lines: %s', async (_, line) => {
    for (const count of [999, 1024, 1_400]) expect(await statusOf(line.repeat(count) + required)).toBe(200)
  })

  test('headers beyond 16 KiB are rejected, in many lines or in one', async () => {
    expect(await statusOf(`ab:${'c'.repeat(8)}\r\n`.repeat(1_800) + required)).toBe(431)
    expect(await statusOf('abc:\r\n'.repeat(6_000) + required)).toBe(431)
    expect(await statusOf(`a: ${'b'.repeat(16_384)}\r\n${required}`)).toBe(431)
  })
})
