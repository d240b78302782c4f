import { afterAll, expect, test } from 'vitest'
import { createSyncedClients } from './in-sync.ts'
import { lists, transports } from './lists.ts'

const { app, secret, knownIds, sql, end } = await createSyncedClients()
afterAll(end)

test.each(
  Object.entries(transports),
)('the lists of a tenant that moves into the scope of a token are answered as soon as the tenant is listed, over %s', async (_, ask) => {
  const [shop = 0] = knownIds.shops
  const [tenants, , vouchers] = lists
  const listTenants = ask(app, secret, tenants!, knownIds.root)
  const listVouchers = ask(app, secret, vouchers!, shop)
  await sql`update tenant set parent_id = ${knownIds.elsewhere} where id = ${shop}`
  // Until the service has read the new place, which it caches.
  await expect.poll(() => listVouchers(null, null).catch(error => error.code)).toBe('FORBIDDEN')
  const { serverTime } = await listTenants(null, null)
  await sql`update tenant set parent_id = ${knownIds.root} where id = ${shop}`
  const { records } = await listTenants(serverTime, null)
  // An export from the beginning has all tenants.
  expect(records.map(({ id }) => id)).toContain(shop)
  expect((await listVouchers(null, null)).records).toEqual(await vouchers!.truth(sql, shop, knownIds.root))
})
