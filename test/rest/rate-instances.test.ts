/** The rate over several instances. `test/faults/instances.test.ts` does the same with processes. */
import { describe, expect, test } from 'vitest'
import { type Answer, type Client, createApp } from '../support/app.ts'
import { collectLog } from '../support/log.ts'
import { startRedis } from '../support/redis.ts'
import { createWorld } from './support.ts'

const world = await createWorld()
const { build, tenantId } = world
const redis = await startRedis()
const newSecret = async () => (await build.token([tenantId])).secret

const list = '{ tenants { nodes { name } } }'
const lists = (count: number) =>
  `{ ${Array.from({ length: count }, (_, n) => `f${n}: tenants { totalCount }`).join(' ')} }`
const left = ({ headers }: Answer) => Number(headers['ratelimit-remaining'])

async function stepsInRedis(work: () => Promise<unknown>): Promise<number> {
  const count = async () => {
    const { eval: texts = 0, evalsha = 0 } = await redis.countCommands()
    return texts + evalsha
  }
  const before = await count()
  await work()
  return (await count()) - before
}

/**
 * Repeats what a late answer of the store has spoiled: each instance then counts by itself (docs/scaling.md).
 *
 * @param text returns the log of the instances
 */
async function withStoreInTime(text: () => string, check: () => Promise<void>): Promise<void> {
  for (let left = 3; ; left--) {
    const before = text().length
    try {
      return await check()
    } catch (error) {
      if (left === 0 || !text().slice(before).includes('the store of rates')) throw error
    }
  }
}

describe.each([
  { store: 'the database', environment: {} },
  { store: 'Redis', environment: { REDIS_URL: redis.url } },
])('two instances that count in $store', async ({ environment }) => {
  const settings = { DATABASE_URL: world.url, RATE_LIMIT_PER_MINUTE: '120', LOG_LEVEL: 'warn', ...environment }
  const { log, text } = collectLog()
  const clients: Client[] = [await createApp(world, settings, log), await createApp(world, settings, log)]

  test('what one instance counted before the other started is counted', () =>
    withStoreInTime(text, async () => {
      const early = await newSecret()
      for (let call = 0; call < 3; call++) await clients[0]!.rest(early, '/tenants')
      const later = await createApp(world, settings, log)
      expect(left(await later.rest(early, '/tenants'))).toBe(116)
      expect(left(await clients[0]!.rest(early, '/tenants'))).toBe(115)
    }))

  test('let exactly 120 calls of a burst pass, over both transports', () =>
    withStoreInTime(text, async () => {
      const secret = await newSecret()
      const answers = await Promise.all(
        Array.from({ length: 300 }, (_, n) => {
          const client = clients[n % 2]!
          return n % 4 < 2 ? client.rest(secret, '/tenants') : client.graphql(secret, list)
        }),
      )
      const passed = answers.filter(({ status }) => status === 200)
      expect(passed.map(left).sort((a, b) => b - a)).toEqual(Array.from({ length: 120 }, (_, n) => 119 - n))
      for (const { headers } of answers.filter(({ status }) => status !== 200)) {
        expect(headers['ratelimit-remaining']).toBe('0')
        expect(headers['retry-after']).toBe(headers['ratelimit-reset'])
      }
    }))

  test('count all operations of a request, and serve those within the limit', () =>
    withStoreInTime(text, async () => {
      const busy = await newSecret()
      for (let request = 0; request < 5; request++) {
        expect(left(await clients[request % 2]!.graphql(busy, lists(22)))).toBe(120 - 22 * (request + 1))
      }
      const { body } = await clients[1]!.graphql(busy, lists(15))
      expect(Object.values(body.data).filter(field => field !== null)).toHaveLength(10)
      expect((await clients[0]!.rest(busy, '/tenants')).status).toBe(429)
    }))
})

test('a request takes one step in Redis for its first operation, and one for all others that are resolved together', async () => {
  const { log, text } = collectLog()
  const client = await createApp(world, { REDIS_URL: redis.url, LOG_LEVEL: 'warn' }, log)
  await withStoreInTime(text, async () => {
    const secret = await newSecret()
    expect(await stepsInRedis(() => client.rest(secret, '/tenants'))).toBe(1)
    expect(await stepsInRedis(() => client.graphql(secret, list))).toBe(1)
    expect(await stepsInRedis(() => client.graphql(secret, lists(15)))).toBe(2)
  })
})
