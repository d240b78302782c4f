/** Several instances on one database behave as one: real processes, with Redis and without. */
import { afterAll, describe, expect, test } from 'vitest'
import { manyLists } from '../rest/rate-instances.ts'
import { remainingOf } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { onTerminal, serve } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'
import { createVisitor } from '../support/visitor.ts'
import { ask, expectExactBurst } from './support/burst.ts'

const database = await createDatabase()
const build = createBuilders(database)
const tenantId = await build.tenant()
const newSecret = async () => (await build.token([tenantId])).secret
const redis = await startRedis()
afterAll(() => redis.kill())

describe.each([
  { store: 'PostgreSQL', environment: { RATE_STORE: 'postgres' } },
  { store: 'Redis', environment: { REDIS_URL: redis.url } },
])('instances that count in $store', ({ environment }) => {
  const settings = { DATABASE_URL: database.url, LOG_LEVEL: 'warn', ...environment }

  test('let exactly 120 of 1,000 calls at once pass, over both transports', async () => {
    const one = await serve(settings)
    const secret = await newSecret()
    // Counted before the second instance starts.
    for (let call = 0; call < 20; call++) expect(remainingOf(await ask(one.restAddress, secret))).toBe(119 - call)
    const other = await serve(settings)
    const addresses = [one.restAddress, other.restAddress]
    expect(remainingOf(await ask(other.restAddress, secret))).toBe(99)

    await expectExactBurst([one, other], newSecret, 1000)

    // Many operations in one request, at both instances.
    const busy = await newSecret()
    for (const [n, address] of [...addresses, ...addresses].entries()) {
      expect(remainingOf(await ask(address, busy, { query: manyLists(25) }))).toBe(120 - 25 * (n + 1))
    }

    // The counts stay when one instance stops, and when all stop.
    expect(await other.stop('SIGTERM')).toBe(0)
    expect(remainingOf(await ask(one.restAddress, busy))).toBe(19)
    expect(await one.stop('SIGTERM')).toBe(0)
    const next = await serve(settings)
    expect(remainingOf(await ask(next.restAddress, busy))).toBe(18)
    expect(await next.stop('SIGTERM')).toBe(0)
  })
})

test('instances that start together print links, and one link creates the first administrator', async () => {
  const { url, pool } = await createDatabase()
  const started = await Promise.all([1, 2].map(() => serve({ DATABASE_URL: url, LOG_LEVEL: 'warn' }, onTerminal)))
  const links = started.map(({ printed }) => /http\S+\/setup\/\S+/.exec(printed())?.[0] ?? '')
  expect(new Set(links).size).toBe(2)
  const password = 'a lot of quiet water'
  const answers = await Promise.all(
    links.map((link, n) =>
      createVisitor(new URL(link).origin).submit(link, { email: `person${n}@example.com`, password, again: password }),
    ),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([303, 404])
  expect(await pool`select from gateway.administrator`).toHaveLength(1)
  for (const service of started) await service.stop('SIGTERM')
})
