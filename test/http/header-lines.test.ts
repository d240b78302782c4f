import { once } from 'node:events'
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { createWorld } from '../rest/support.ts'
import { type Client, createApp, v1 } from '../support/app.ts'
import { openSocket } from '../support/sockets.ts'

const world = await createWorld()
const behindProxy = await createApp(world, { TRUST_PROXY: '127.0.0.1', RATE_LIMIT_PER_MINUTE: '120' })
const portOf = async ({ app }: Client) => Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
const [port, trustedPort] = [await portOf(world.client), await portOf(behindProxy)]
const validHeaders = { accept: 'application/json', authorization: `Bearer ${world.secret}` }

/** Numbers of header lines below and above the numbers at which Node drops lines by default. */
const counts = [0, 999, 1001, 2001, 3500]

/**
 * Sends distinct header lines with less than 16 KiB in total. `X-Forwarded-For` is the last line, where proxies add it.
 */
async function forward(port: number, path: string, count: number, headers: Record<string, string> = {}) {
  const lines = Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index.toString(36)}`, '']))
  const sent = { host: `localhost:${port}`, ...headers, ...lines, 'x-forwarded-for': '203.0.113.7' }
  const [answer] = await once(request({ host: '127.0.0.1', port, path, headers: sent }).end(), 'response')
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) text += chunk
  return { status: answer.statusCode, remaining: Number(answer.headers['ratelimit-remaining']), text }
}

test.each(counts)('behind a proxy, /admin is not available without PUBLIC_URL, after %i header lines', async count => {
  const text = expect.stringContaining('PUBLIC_URL')
  expect(await forward(port, '/admin/login', count)).toMatchObject({ status: 403, text })
})

test('behind a proxy, a caller has the same rate limit for any number of header lines', async () => {
  for (const [index, count] of counts.entries()) {
    const { status, remaining } = await forward(trustedPort, `${v1}/tenants`, count, validHeaders)
    expect([count, status, remaining]).toEqual([count, 200, 119 - index])
  }
})

/** Sends header lines as they are, and returns the status. */
async function statusOf(head: string): Promise<number> {
  const { socket, received, closed } = openSocket(port)
  socket.write(`GET ${v1}/tenants HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${head}\r\n`)
  await closed
  return Number(received().split(' ')[1])
}

const required = `Accept: application/json\r\nAuthorization: Bearer ${world.secret}\r\n`

test.each([
  ['the same name without a value', 'a:\r\n'],
  ['a list', 'Via: x\r\n'],
  ['cookies', 'Cookie: a=b\r\n'],
  ['a header that must not repeat', 'Age: 1\r\n'],
])('the token is read even in the last of many header lines: %s', async (_, line) => {
  for (const count of [999, 1024, 1_400]) expect(await statusOf(line.repeat(count) + required)).toBe(200)
})

test('headers of more than 16 KiB are rejected, both in many lines and in one line', async () => {
  expect(await statusOf(`ab:${'c'.repeat(8)}\r\n`.repeat(1_800) + required)).toBe(431)
  expect(await statusOf('abc:\r\n'.repeat(6_000) + required)).toBe(431)
  expect(await statusOf(`a: ${'b'.repeat(16_384)}\r\n${required}`)).toBe(431)
})
