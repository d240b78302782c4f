import { afterAll, beforeEach, test } from 'vitest'
import { untilLockWaits } from '../support/locks.ts'
import { createSyncedClients } from './in-sync.ts'
import { open } from './seed.ts'

const { database, knownIds, tenant, sql, pass, expectInSync, end, mark, pages } = await createSyncedClients()
const { address } = database
const [product = 0] = knownIds.products
const [variant = 0] = knownIds.variants
afterAll(end)
beforeEach(pass)

test('deletions by a loader that keeps its own stamps are reported like others', async () => {
  await sql.begin(async transaction => {
    await transaction`set local gateway.keep_updated_at = 'on'`
    await transaction`delete from purchased_voucher where id = ${knownIds.vouchers[3] ?? 0}`
    await transaction`update customer set marketing_opted = false where id = ${knownIds.customers[1] ?? 0}`
    await pages()
  })
  await expectInSync('removals')
})

test('a loader can stop keeping its stamps, and then insert a row that conflicts', async () => {
  await sql.begin(async transaction => {
    await transaction`set local gateway.keep_updated_at = 'on'`
    await transaction`
      insert into purchased_voucher (tenant_id, reference, updated_at)
      values (${knownIds.owners[1] ?? 0}, ${mark()}, '2001-02-03')`
    await transaction`set local gateway.keep_updated_at = 'off'`
    await transaction`
      insert into variant (id, product_id, slug, title, currency) values (${variant}, ${product}, 'v', 'v', 'GBP')
      on conflict do nothing`
    await pages()
  })
  await expectInSync('vouchers')
})

test('a transaction can write in the lists of a thousand tenants', async () => {
  await sql`insert into tenant (name, parent_id) select 'many ' || n, ${knownIds.root}::bigint from generate_series(1, 1000) n`
  await sql.begin(async transaction => {
    await transaction`
      insert into purchased_voucher (tenant_id, reference) select id, ${mark()}::text || '-' || id from tenant`
    await pages()
  })
  await expectInSync('vouchers')
})

test('a truncation of what products show stamps the products', async () => {
  await sql`truncate variant`
  await sql`truncate product_category`
  await expectInSync('products')
})

test('tenants that move below one that a token is authorised for are listed, with those below them', async () => {
  const [above] = await sql`insert into tenant (name) values ('from elsewhere') returning id`
  await sql`insert into tenant (name, parent_id) values ('below it', ${above?.id})`
  await pages()
  await sql`update tenant set parent_id = ${knownIds.root} where id = ${above?.id}`
  await expectInSync('tenants')
})

test('a product that is linked to a category during its change shows the new title', async () => {
  const [product] = await sql<{ id: string }[]>`
    insert into product (tenant_id, slug, title, currency) values (${tenant}, 'linked', 'Linked', 'GBP') returning id`
  const [category] = await sql<{ id: string }[]>`
    insert into category (tenant_id, slug, title) values (${tenant}, 'late', 'Before') returning id`
  const linker = open(address)
  const changer = open(address)
  let linking: Promise<unknown> = Promise.resolve()
  await changer.begin(async transaction => {
    await transaction`update category set title = 'After' where id = ${category!.id}`
    linking =
      linker`insert into product_category (product_id, category_id) values (${product!.id}, ${category!.id})`.execute()
    // It waits for the change, or is done at once; either way the clients read before the change is visible.
    await Promise.race([linking, untilLockWaits(sql)])
    await pass()
  })
  await linking
  await Promise.all([linker.end(), changer.end()])
  await expectInSync('products')
})

test('a tenant that is created below one during its move is listed', async () => {
  const [outside] = await sql<{ id: string }[]>`insert into tenant (name) values ('Outside') returning id`
  const creator = open(address)
  const mover = open(address)
  let creating: Promise<unknown> = Promise.resolve()
  await mover.begin(async transaction => {
    await transaction`update tenant set parent_id = ${knownIds.root} where id = ${outside!.id}`
    creating = creator`insert into tenant (name, parent_id) values ('Below', ${outside!.id})`.execute()
    await Promise.race([creating, untilLockWaits(sql)])
    await pass()
  })
  await creating
  await Promise.all([creator.end(), mover.end()])
  await expectInSync('tenants')
})
