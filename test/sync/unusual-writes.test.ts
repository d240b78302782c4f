import { afterAll, beforeEach, test } from 'vitest'
import { createStep } from './in-sync.ts'
import { open } from './seed.ts'

const { database, ground, tenant, sql, pass, inStep, end, mark, pages } = await createStep()
const { address } = database
const [product = 0] = ground.products
const [variant = 0] = ground.variants
afterAll(end)
beforeEach(pass)

test('what a loader removes that keeps its stamps is told as what others remove', async () => {
  await sql.begin(async transaction => {
    await transaction`set local gateway.keep_updated_at = 'on'`
    await transaction`delete from purchased_voucher where id = ${ground.vouchers[3] ?? 0}`
    await transaction`update customer set marketing_opted = false where id = ${ground.customers[1] ?? 0}`
    await pages()
  })
  await inStep('removals')
})

test('a loader that keeps its stamps may stop keeping them, and then write in vain', async () => {
  await sql.begin(async transaction => {
    await transaction`set local gateway.keep_updated_at = 'on'`
    await transaction`
      insert into purchased_voucher (tenant_id, reference, updated_at)
      values (${ground.owners[1] ?? 0}, ${mark()}, '2001-02-03')`
    await transaction`set local gateway.keep_updated_at = 'off'`
    await transaction`
      insert into variant (id, product_id, slug, title, currency) values (${variant}, ${product}, 'v', 'v', 'GBP')
      on conflict do nothing`
    await pages()
  })
  await inStep('vouchers')
})

test('a transaction that writes in the lists of a thousand tenants', async () => {
  await sql`insert into tenant (name, parent_id) select 'many ' || n, ${ground.root}::bigint from generate_series(1, 1000) n`
  await sql.begin(async transaction => {
    await transaction`
      insert into purchased_voucher (tenant_id, reference) select id, ${mark()}::text || '-' || id from tenant`
    await pages()
  })
  await inStep('vouchers')
})

test('what products show is truncated', async () => {
  await sql`truncate variant`
  await sql`truncate product_category`
  await inStep('products')
})

test('tenants come under one that a token is authorised for, with those below them', async () => {
  const [above] = await sql`insert into tenant (name) values ('from elsewhere') returning id`
  await sql`insert into tenant (name, parent_id) values ('below it', ${above?.id})`
  await pages()
  await sql`update tenant set parent_id = ${ground.root} where id = ${above?.id}`
  await inStep('tenants')
})

test('a product is filed under a category while that is being changed', async () => {
  const [product] = await sql<{ id: string }[]>`
    insert into product (tenant_id, slug, title, currency) values (${tenant}, 'filed', 'Filed', 'GBP') returning id`
  const [category] = await sql<{ id: string }[]>`
    insert into category (tenant_id, slug, title) values (${tenant}, 'late', 'Before') returning id`
  const filer = open(address)
  const changer = open(address)
  let filing: Promise<unknown> = Promise.resolve()
  await changer.begin(async transaction => {
    await transaction`update category set title = 'After' where id = ${category!.id}`
    filing =
      filer`insert into product_category (product_id, category_id) values (${product!.id}, ${category!.id})`.execute()
    // It waits for the change, or is done at once; either way the clients pass before the change can be seen.
    await Promise.race([filing, untilSomebodyWaits()])
    await pass()
  })
  await filing
  await Promise.all([filer.end(), changer.end()])
  await inStep('products')
})

test('a tenant is made below one that is being moved', async () => {
  const [outside] = await sql<{ id: string }[]>`insert into tenant (name) values ('Outside') returning id`
  const maker = open(address)
  const mover = open(address)
  let making: Promise<unknown> = Promise.resolve()
  await mover.begin(async transaction => {
    await transaction`update tenant set parent_id = ${ground.root} where id = ${outside!.id}`
    making = maker`insert into tenant (name, parent_id) values ('Below', ${outside!.id})`.execute()
    await Promise.race([making, untilSomebodyWaits()])
    await pass()
  })
  await making
  await Promise.all([maker.end(), mover.end()])
  await inStep('tenants')
})

/** Until a session of this database waits for a lock. */
async function untilSomebodyWaits(): Promise<void> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; ) {
    const [row] = await sql<{ waits: boolean }[]>`
      select exists (select from pg_stat_activity
                     where datname = current_database() and wait_event_type = 'Lock') as waits`
    if (row?.waits) return
  }
  throw new Error('nobody waits')
}
