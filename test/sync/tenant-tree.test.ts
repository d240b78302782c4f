import { beforeEach, expect, test } from 'vitest'
import { placeTenants } from '../../src/domain/tenant/tree.ts'
import { createClient } from '../support/app.ts'
import { projected } from '../support/projected.ts'
import { readPass } from './clients.ts'
import { createSyncedClients } from './in-sync.ts'
import { lists, transports } from './lists.ts'

const { app, secret, database, knownIds, sql, pass, expectInSync, mark } = await createSyncedClients()
beforeEach(pass)

async function insertTenant(parent: number | null): Promise<number> {
  const rows = await sql`insert into tenant (name, parent_id) values (${mark()}, ${parent}) returning id::int`
  return rows[0]?.id
}

test('a loop is in no scope of a token above it, and stops nothing', async () => {
  const [one, other] = [await insertTenant(knownIds.root), await insertTenant(knownIds.root)]
  await sql`update tenant set parent_id = ${other} where id = ${one}`
  await sql`update tenant set parent_id = ${one} where id = ${other}`
  const below = await insertTenant(one)
  const client = createClient(app, database.pool)
  for (const id of [one, other, below]) {
    expect((await client.rest(secret, `/tenants/${id}/catalog/vouchers`)).status).toBe(403)
    expect((await client.resolve(secret, id, { voucher_reference: 'none' })).status).toBe(403)
  }
  expect(await placeTenants(database.pool, [below])).toHaveLength(1)
  await pass()
  await sql`update tenant set parent_id = ${knownIds.root} where id = ${one}`
  await expectInSync()
})

test.each(
  Object.entries(transports),
)('the lists of a tenant that moves into the scope of a token are answered as soon as the tenant is listed, over %s', async (_, ask) => {
  const [shop = 0] = knownIds.shops
  const [tenants, , vouchers] = lists
  const listTenants = ask(app, secret, tenants!, knownIds.root)
  const listVouchers = ask(app, secret, vouchers!, shop)
  await sql`update tenant set parent_id = ${knownIds.elsewhere} where id = ${shop}`
  await pass()
  // Until the service has read the new place, which it caches.
  await expect.poll(() => listVouchers(null, null).catch(error => error.code)).toBe('FORBIDDEN')
  const { serverTime } = await listTenants(null, null)
  await sql`update tenant set parent_id = ${knownIds.root} where id = ${shop}`
  await projected(database.pool)
  const listedIds: number[] = []
  // An export has all tenants, and may come in parts.
  await readPass(listTenants, serverTime, ({ id }) => listedIds.push(id))
  expect(listedIds).toContain(shop)
  const sold = await sql`select from purchased_voucher where tenant_id = ${shop}`
  expect((await listVouchers(null, null)).records).toHaveLength(sold.length)
})
