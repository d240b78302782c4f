import { expect, test } from 'vitest'
import { placeTenants } from '../../src/domain/tenant/tree.ts'
import { whole } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { readPass } from './clients.ts'
import { instanceOf, transports } from './lists.ts'

const { build, client, pool, platform } = await startService()
const root = await build.tenant()
const { secret } = await build.token([whole(root)])

const move = async (id: number, parent: number | null) => {
  await platform`update tenant set parent_id = ${parent} where id = ${id}`
  await projected(pool)
}

test('tenants in a loop are outside the scope of tokens above, and do not stop steps or requests', async () => {
  const [one, other] = [await build.tenant({ parent_id: root }), await build.tenant({ parent_id: root })]
  await move(one, other)
  await move(other, one)
  const below = await build.tenant({ parent_id: one })
  for (const id of [one, other, below]) {
    expect((await client.rest(secret, `/tenants/${id}/catalog/vouchers`)).status).toBe(403)
    expect((await client.resolve(secret, id, { voucher_reference: 'none' })).status).toBe(403)
  }
  expect(await placeTenants(pool, [below])).toHaveLength(1)
  await move(one, root)
  await expect.poll(async () => (await client.rest(secret, `/tenants/${below}/catalog/vouchers`)).status).toBe(200)
})

test.each(
  Object.entries(transports),
)('the lists of a tenant that moves into the scope of a token are answered as soon as the tenant is listed, over %s', async (_, ask) => {
  const shop = await build.tenant({ parent_id: root })
  await build.voucher(shop)
  await projected(pool)
  const listTenants = ask(instanceOf(client.app), secret, 'tenants', root)
  const listVouchers = ask(instanceOf(client.app), secret, 'purchased-vouchers', shop)
  await move(shop, null)
  // Waits until the service has read the new parent, because it caches the tree.
  await expect.poll(() => listVouchers(null, null).catch(error => error.code)).toBe('FORBIDDEN')
  const { serverTime } = await listTenants(null, null)
  await move(shop, root)
  const listedIds: number[] = []
  // An export contains all tenants, and may arrive in parts.
  await readPass(listTenants, serverTime, ({ id }) => listedIds.push(id))
  expect(listedIds).toContain(shop)
  expect((await listVouchers(null, null)).records).toHaveLength(1)
})
