import { expect, test } from 'vitest'
import { createTokenSecret } from '../../src/domain/token/secret.ts'
import { type Answer, createApp, remainingOf } from '../support/app.ts'
import { extendDeadlines } from '../support/deadlines.ts'
import { collectLog } from '../support/log.ts'
import { testInstances } from './rate-instances.ts'
import { bearer, createWorld, flawOf, operations, perform } from './support.ts'

extendDeadlines()
// MAX_REQUESTS is high, so that the limit of requests under way does not refuse a burst.
const world = await createWorld({ RATE_LIMIT_PER_MINUTE: '120', MAX_REQUESTS: '1000' })
const { client, build, tenantId, place } = world
const proxied = await createApp(world, { RATE_LIMIT_PER_MINUTE: '120', TRUST_PROXY: '10.0.0.0/8,127.0.0.1' })
const strict = await createApp(world, { RATE_LIMIT_PER_MINUTE: '1' })

const newSecret = async () => (await build.token([tenantId])).secret
const remaining = async (secret: string, remoteAddress: string, headers: Record<string, string> = {}, app = client) =>
  remainingOf(await app.rest(secret, '/tenants', { remoteAddress, headers }))

test('exactly 120 of 300 concurrent requests of all operations pass', async () => {
  const secret = await newSecret()
  const burst = Array.from({ length: 300 }, (_, index) =>
    perform(client, operations[index % operations.length]!, place, bearer(secret)),
  )
  const answers = await Promise.all(burst)
  const left = answers.filter(({ status }) => status === 200).map(remainingOf)
  expect(left.sort((a, b) => b - a)).toEqual(Array.from({ length: 120 }, (_, index) => 119 - index))
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    expect(flawOf(answer, 429)).toBeNull()
    expect(answer.headers).toMatchObject({ 'ratelimit-limit': '120', 'ratelimit-remaining': '0' })
    expect(answer.headers['retry-after']).toBe(answer.headers['ratelimit-reset'])
  }
})

test('every request with a valid token counts against the rate, also when the request fails', async () => {
  const secret = await newSecret()
  const { secret: powerless } = await build.token([tenantId], { permissions: [] })
  const list = operations[1]!
  const counted = [
    [await perform(client, list, place, { ...bearer(secret), accept: undefined }), 422],
    [await perform(client, list, { ...place, tenantId: 999_999 }, bearer(secret)), 404],
    [await perform(client, list, place, bearer(secret), { query: '?cursor=x' }), 422],
    [await perform(client, list, place, bearer(secret), { method: 'DELETE' }), 405],
    [await client.rest(secret, '/nowhere'), 404],
    [await client.rest(secret, '/tenants/%zz/catalog/vouchers'), 404],
  ] as const
  for (const [index, [answer, status]] of counted.entries()) {
    expect(flawOf(answer, status)).toBeNull()
    expect(remainingOf(answer)).toBe(119 - index)
  }
  const forbidden = await perform(client, list, place, bearer(powerless))
  expect([forbidden.status, remainingOf(forbidden)]).toEqual([403, 119])
})

test('each pair of token and address has a separate rate; requests without a valid token do not count', async () => {
  const [one, other] = [await newSecret(), await newSecret()]
  expect(await remaining(one, '1.1.1.1')).toBe(119)
  for (let asked = 0; asked < 5; asked++) await client.rest(`${one}x`, '/tenants', { remoteAddress: '1.1.1.1' })
  expect(await remaining(one, '1.1.1.1')).toBe(118)
  expect(await remaining(other, '1.1.1.1')).toBe(119)
  expect(await remaining(one, '1.1.1.2')).toBe(119)
  expect(await remaining(one, '2001:db8::1')).toBe(119)
  expect(await remaining(one, '::ffff:1.1.1.1')).toBe(117)
})

test.each(
  operations,
)('$name beyond the rate: 401 has priority over 429, and 429 over all other errors', async operation => {
  const secret = await newSecret()
  expect((await perform(strict, operation, place, bearer(secret))).status).toBe(200)
  const worst = { ...place, tenantId: 999_999 }
  const answers = [
    await perform(strict, operation, place, bearer(secret)),
    await perform(strict, operation, worst, { ...bearer(secret), accept: 'text/html' }, { query: '?cursor=x' }),
    await perform(strict, operation, place, bearer(secret), { method: 'PATCH' }),
  ]
  for (const answer of answers) expect(flawOf(answer, 429)).toBeNull()
  expect((await perform(strict, operation, place, bearer(`${secret}x`))).status).toBe(401)
})

/** Services, addresses of sockets, and the remaining rate after a request with each forwarded text. */
test.each([
  ['the socket’s, without a trusted proxy', client, '9.9.9.9', { '1.2.3.4': 119, '1.2.3.5': 118 }],
  ['the socket’s, when it is no trusted proxy', proxied, '9.9.9.9', { '1.2.3.4': 119, '1.2.3.5': 118 }],
  [
    'the last forwarded one that is not a trusted proxy',
    proxied,
    '10.1.2.3',
    { '1.2.3.4': 119, '1.2.3.5': 119, '6.6.6.6, 1.2.3.4': 118, '1.2.3.4, 10.9.9.9': 117 },
  ],
  [
    'the same in each form of it',
    proxied,
    '::ffff:10.1.2.3',
    {
      '2001:db8::7, , ': 119,
      '[2001:0DB8:0:0::7]:443': 118,
      '"[2001:db8::7]:_port"': 117,
      '6.6.6.6, [2001:db8::7]:5123, [::ffff:10.9.9.9]:80': 116,
      '192.0.2.1:5123': 119,
      '[::FFFF:c000:201]': 118,
    },
  ],
  [
    'the proxy’s, when the forwarded text is none',
    proxied,
    '10.1.2.3',
    { '<script>': 119, unknown: 118, '1.2.3.4, _hidden': 117, '1.2.3.4, [::g]': 116, '1.2.3.4, 1': 115 },
  ],
  ['the last proxy’s that is known', proxied, '10.1.2.3', { 'unknown, 10.7.7.7': 119, '_x, [::ffff:a07:707]:1': 118 }],
])('the address is %s', async (_, app, address, forwarded) => {
  const secret = await newSecret()
  for (const [text, left] of Object.entries(forwarded)) {
    expect(await remaining(secret, address, { 'x-forwarded-for': text }, app), text).toBe(left)
  }
})

test.each([
  [{}, '9.9.9.9', 'TRUST_PROXY does not name a proxy'],
  [{ TRUST_PROXY: '10.0.0.0/8' }, '10.1.2.3', 'a trusted proxy forwards no address'],
])('with %j a log line names a proxy that hides its callers', async (environment, remoteAddress, message) => {
  const { log, lines } = collectLog()
  const app = await createApp(world, { LOG_LEVEL: 'warn', LOG_REQUESTS: 'off', ...environment }, log)
  for (let asked = 0; asked < 3; asked++) {
    await app.rest(await newSecret(), '/tenants', { remoteAddress, headers: { 'x-forwarded-for': '1.2.3.4, unknown' } })
  }
  expect(lines()).toMatchObject([{ address: remoteAddress, msg: expect.stringContaining(message) }])
})

test('requests beyond the rate are delayed before they are refused, and do not block other requests', async () => {
  const { rest } = await createApp(world, { MAX_REQUESTS: '10' })
  const { secret } = await build.token([tenantId], { rateLimit: 1 })
  const other = await newSecret()
  await rest(secret, '/tenants')
  const refused: Promise<Answer>[] = []
  let answered = 0
  for (let round = 0; round < 20; round++) {
    refused.push(rest(secret, '/tenants').finally(() => answered++))
    expect((await rest(other, '/tenants')).status).toBe(200)
    if (round === 1) expect(answered, 'while two are held').toBe(0)
  }
  for (const { status } of await Promise.all(refused)) expect(status).toBe(429)
})

test('lookups of unknown tokens are limited per /64 network, however its addresses are written', async () => {
  const secret = await newSecret()
  const statusOf = async (secret: string, remoteAddress: string) =>
    (await client.rest(secret, '/tenants', { remoteAddress })).status
  expect(await statusOf(secret, '2001:db8:8::7:0:0:1')).toBe(200)
  // 100 is the maximum number of unknown tokens that a network may send.
  const addresses = Array.from({ length: 100 }, (_, n) => `2001:db8:8::${(n + 1).toString(16)}:0:0:1`)
  const flood = await Promise.all(addresses.map(address => statusOf(createTokenSecret(), address)))
  expect(new Set(flood)).toEqual(new Set([401]))
  expect(await statusOf(createTokenSecret(), '2001:db8:8:0:ffff::1')).toBe(429)
  // Other networks and tokens that are already cached are not affected.
  expect(await statusOf(createTokenSecret(), '2001:db8:8:1::1')).toBe(401)
  expect(await statusOf(secret, '2001:db8:8::8:0:0:1')).toBe(200)
})

/** `test/redis` tests instances that count in Redis, and `test/faults/workers.test.ts` tests worker processes. */
await testInstances(world, { RATE_STORE: 'postgres' })

test.each([
  ['says so at start when it counts in memory', {}, true],
  ['says nothing when it counts in PostgreSQL', { RATE_STORE: 'postgres' }, false],
])('an instance %s', async (_what, store, says) => {
  const { log, text } = collectLog()
  await createApp(world, { DATABASE_URL: world.url, LOG_LEVEL: 'info', ...store }, log)
  expect(text().includes('several instances need RATE_STORE=postgres')).toBe(says)
})
