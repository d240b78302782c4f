/** Tests of rate limits over several instances, which count in PostgreSQL or in Redis (`test/redis`). */
import { expect, test } from 'vitest'
import { type Client, createApp, remainingOf } from '../support/app.ts'
import { extendDeadlines } from '../support/deadlines.ts'
import { collectLog } from '../support/log.ts'
import { until } from '../support/until.ts'
import type { World } from './support.ts'

export const oneList = '{ tenants { nodes { name } } }'

export const manyLists = (count: number) =>
  `{ ${Array.from({ length: count }, (_, n) => `f${n}: tenants { totalCount }`).join(' ')} }`

/**
 * Repeats a test when the store answered too late: then each instance counts separately until the store answers again
 * (docs/scaling.md).
 *
 * @param text returns the log of the instances, whose level must be `info`
 */
export async function withStoreInTime(text: () => string, check: () => Promise<void>): Promise<void> {
  const linesWith = (message: string) => text().split(`the store of rates ${message}`).length
  for (let left = 3; ; left--) {
    await until('the store answers', () => linesWith('counts again') === linesWith('does not answer'))
    const before = text().length
    try {
      return await check()
    } catch (error) {
      if (left === 0 || !text().slice(before).includes('the store of rates does not answer')) throw error
    }
  }
}

/**
 * Declares the tests of two instances on one database. @param environment the environment variables that select the
 * store
 */
export async function testInstances(world: World, environment: NodeJS.ProcessEnv): Promise<void> {
  extendDeadlines()
  const newSecret = async () => (await world.build.token([world.tenantId])).secret
  const limits = { RATE_LIMIT_PER_MINUTE: '120', MAX_REQUESTS: '3000' }
  const settings = { DATABASE_URL: world.url, ...limits, LOG_LEVEL: 'info', LOG_REQUESTS: 'off', ...environment }
  const { log, text } = collectLog()
  const clients: Client[] = [await createApp(world, settings, log), await createApp(world, settings, log)]

  test('two instances let exactly 120 of 1,000 concurrent calls pass, over both transports', () =>
    withStoreInTime(text, async () => {
      const secret = await newSecret()
      const answers = await Promise.all(
        Array.from({ length: 1000 }, (_, n) => {
          const client = clients[n % 2]!
          return n % 4 < 2 ? client.rest(secret, '/tenants') : client.graphql(secret, oneList)
        }),
      )
      const passed = answers.filter(({ status }) => status === 200)
      expect(passed.map(remainingOf).sort((a, b) => b - a)).toEqual(Array.from({ length: 120 }, (_, n) => 119 - n))
      for (const { headers } of answers.filter(({ status }) => status !== 200)) {
        expect(headers['ratelimit-remaining']).toBe('0')
        expect(headers['retry-after']).toBe(headers['ratelimit-reset'])
      }
    }))

  test('instances count all operations of a request and serve those within the limit, also after a later start', () =>
    withStoreInTime(text, async () => {
      const busy = await newSecret()
      for (let request = 0; request < 5; request++) {
        expect(remainingOf(await clients[request % 2]!.graphql(busy, manyLists(22)))).toBe(120 - 22 * (request + 1))
      }
      const later = await createApp(world, settings, log)
      const { body } = await later.graphql(busy, manyLists(15))
      expect(Object.values(body.data).filter(field => field !== null)).toHaveLength(10)
      expect((await clients[0]!.rest(busy, '/tenants')).status).toBe(429)
    }))
}
