/** An instance whose clock is wrong: the clock of the database decides. */
import { expect, test } from 'vitest'
import { createTestToken, whole } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { clockBy, serve } from '../support/process.ts'
import { until } from '../support/until.ts'

const day = 86_400_000
const { pool, platform, url } = await createDatabase()
await platform`insert into public.tenant (id, name) values (1, 'Shop')`
const tomorrow = await createTestToken(pool, [whole(1)], { expiresAt: new Date(Date.now() + day) })
const yesterday = await createTestToken(pool, [whole(1)], { expiresAt: new Date(Date.now() + day) })
await platform`
  update gateway.token set created_at = now() - interval '2 days', expires_at = now() - interval '1 day' where id = ${yesterday.id}`

test.each([
  ['ahead of', 3 * day],
  ['behind', -3 * day],
])('that is three days %s: tokens are valid as long as everywhere, and the difference is named', async (direction, by) => {
  const service = await serve({ DATABASE_URL: url }, { preload: clockBy(by) })
  const ask = async (secret: string) => {
    const headers = { accept: 'application/json', authorization: `Bearer ${secret}` }
    return (await fetch(`${service.restAddress}/tenants`, { headers })).status
  }
  expect([await ask(tomorrow.secret), await ask(yesterday.secret)]).toEqual([200, 401])
  const readiness = async () => {
    const response = await fetch(new URL('/readyz', service.restAddress))
    return [response.status, (await response.json()).reasons]
  }
  const message = expect.stringContaining(`s ${direction} the database`)
  await expect.poll(readiness).toMatchObject([200, [{ code: 'CLOCK_DIFFERS', level: 'warning', message }]])
  await until('the log names it', () => service.log().includes('CLOCK_DIFFERS'))
  await service.stop('SIGTERM')
})
