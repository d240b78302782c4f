import { afterAll, expect, test } from 'vitest'
import { createStep } from './in-sync.ts'
import { doors, lists } from './lists.ts'

const { app, secret, ground, sql, end } = await createStep()
afterAll(end)

test.each(
  Object.entries(doors),
)('a tenant that comes into the scope of a token is answered for as soon as it is listed, %s', async (_, ask) => {
  const [shop = 0] = ground.shops
  const [tenants, , vouchers] = lists
  const listTenants = ask(app, secret, tenants!, ground.root)
  const listVouchers = ask(app, secret, vouchers!, shop)
  await sql`update tenant set parent_id = ${ground.elsewhere} where id = ${shop}`
  // Until the service knows that it lies elsewhere; it remembers that for a while.
  await expect.poll(() => listVouchers(null, null).catch(error => error.code)).toBe('FORBIDDEN')
  const { serverTime } = await listTenants(null, null)
  await sql`update tenant set parent_id = ${ground.root} where id = ${shop}`
  const { records } = await listTenants(serverTime, null)
  expect(records.map(({ id }) => id)).toEqual([shop])
  expect((await listVouchers(null, null)).records).toEqual(await vouchers!.truth(sql, shop, ground.root))
})
