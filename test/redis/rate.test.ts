/** Tests of instances that count the rate in Redis. */
import { expect, test } from 'vitest'
import { manyLists, oneList, testInstances, withStoreInTime } from '../rest/rate-instances.ts'
import { createWorld } from '../rest/support.ts'
import { createApp } from '../support/app.ts'
import { collectLog } from '../support/log.ts'
import { startRedis } from '../support/redis.ts'

const world = await createWorld()
const redis = await startRedis()

await testInstances(world, { REDIS_URL: redis.url })

async function stepsInRedis(work: () => Promise<unknown>): Promise<number> {
  const count = async () => {
    const { eval: texts = 0, evalsha = 0 } = await redis.countCommands()
    return texts + evalsha
  }
  const before = await count()
  await work()
  return (await count()) - before
}

test('a request sends one command to Redis for its first operation, and one for the following together', async () => {
  const { log, text } = collectLog()
  const client = await createApp(world, { REDIS_URL: redis.url, LOG_LEVEL: 'info', LOG_REQUESTS: 'off' }, log)
  await withStoreInTime(text, async () => {
    const { secret } = await world.build.token([world.tenantId])
    expect(await stepsInRedis(() => client.rest(secret, '/tenants'))).toBe(1)
    expect(await stepsInRedis(() => client.graphql(secret, oneList))).toBe(1)
    expect(await stepsInRedis(() => client.graphql(secret, manyLists(15)))).toBe(2)
  })
})
