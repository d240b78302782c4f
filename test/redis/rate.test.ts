/** Instances that count the rate in Redis. */
import { expect, test } from 'vitest'
import { capture, namesOf } from '../graphql/statements.ts'
import { manyLists, oneList, testInstances, withStoreInTime } from '../rest/rate-instances.ts'
import { createWorld } from '../rest/support.ts'
import { createApp } from '../support/app.ts'
import { collectLog } from '../support/log.ts'
import { projected } from '../support/projected.ts'
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

test('a request takes one step in Redis for its first operation, and one for all others that are resolved together', async () => {
  const { log, text } = collectLog()
  const client = await createApp(world, { REDIS_URL: redis.url, LOG_LEVEL: 'info', LOG_REQUESTS: 'off' }, log)
  await withStoreInTime(text, async () => {
    const { secret } = await world.build.token([world.tenantId])
    expect(await stepsInRedis(() => client.rest(secret, '/tenants'))).toBe(1)
    expect(await stepsInRedis(() => client.graphql(secret, oneList))).toBe(1)
    expect(await stepsInRedis(() => client.graphql(secret, manyLists(15)))).toBe(2)
  })
})

test('all figures of one field, and of the same arguments, are read by one statement, although Redis answers late', async () => {
  const { build, pool, tenantId } = world
  const client = await createApp(world, { REDIS_URL: redis.url })
  await projected(pool)
  const { secret } = await build.token([tenantId])
  const january = 'period: { from: "2026-01-01", to: "2026-01-31" }'
  const query = `{ tenant(id: ${tenantId}) {
    a: figures(${january}) { periods { sales { value } } totals { value } consents { given } outstanding { balance }
      expiring { balance } soon: expiring(withinDays: 7) { balance } topProducts { value } }
    b: figures(${january}, by: MONTH) { status { vouchers } }
  } }`
  const statements = await capture(pool, () => client.read(secret, query))
  expect(namesOf(statements)).toEqual(['figures.read'])
})
