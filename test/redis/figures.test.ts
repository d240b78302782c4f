/** Figures whose operations are counted in Redis, which answers later than a counter in memory. */
import { expect, it } from 'vitest'
import { capture, namesOf } from '../graphql/statements.ts'
import { createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { followed } from '../support/followed.ts'
import { startRedis } from '../support/redis.ts'

const database = await createDatabase()
const redis = await startRedis()
const client = await createApp(database, { REDIS_URL: redis.url })
const build = createBuilders(database)
const tenantId = await build.tenant()
const { secret } = await build.token([tenantId])
await followed(database.pool)

it('all figures of one field, and of the same arguments, are read by one statement', async () => {
  const january = 'period: { from: "2026-01-01", to: "2026-01-31" }'
  const query = `{ tenant(id: ${tenantId}) {
    a: figures(${january}) { periods { sales { value } } totals { value } consents { given } outstanding { balance }
      expiring { balance } soon: expiring(withinDays: 7) { balance } topProducts { value } }
    b: figures(${january}, by: MONTH) { status { vouchers } }
  } }`
  const statements = await capture(database.pool, async () => {
    expect((await client.graphql(secret, query)).body.errors).toBeUndefined()
  })
  expect(namesOf(statements)).toEqual(['figures.read'])
})
