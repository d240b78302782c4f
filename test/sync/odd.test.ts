import { afterAll, beforeEach, test } from 'vitest'
import { createStep } from './step.ts'

const { ground, sql, pass, inStep, end, mark, pages } = await createStep()
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
