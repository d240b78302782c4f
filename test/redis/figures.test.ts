/** Figures whose operations are counted in Redis, which answers later than a counter in memory. */
import { expect, it } from 'vitest'
import { capture, namesOf } from '../graphql/statements.ts'
import { followed } from '../support/followed.ts'
import { startRedis } from '../support/redis.ts'
import { startService } from '../support/service.ts'

const redis = await startRedis()
const { build, client, database } = await startService({ REDIS_URL: redis.url })
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
  const statements = await capture(database.pool, () => client.read(secret, query))
  expect(namesOf(statements)).toEqual(['figures.read'])
})
