import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { Transaction } from './changes.ts'
import { createSyncedClients } from './in-sync.ts'

const { knownIds, sql, pass, expectInSync, end, mark, insert, change, pages } = await createSyncedClients()
const [product = 0] = knownIds.products
const [variant = 0] = knownIds.variants
const [category = 0] = knownIds.categories
const [customer = 0] = knownIds.customers
const [leaf = 0] = knownIds.tenants
afterAll(end)
beforeEach(pass)

describe.each(['repeatable read', 'serializable'])('a %s transaction', isolation => {
  const within = (work: (transaction: Transaction) => Promise<unknown>) =>
    sql.begin(`isolation level ${isolation}`, async transaction => {
      await transaction`select from tenant limit 1`
      await work(transaction)
    })

  test.each<[string, (on: Transaction) => Promise<unknown>]>([
    ['a move of a tenant', on => on`update tenant set parent_id = null where id = ${leaf}`],
    ['a truncation of purchased_voucher', on => on`truncate purchased_voucher`],
    ['a truncation of tenant', on => on`truncate tenant cascade`],
    ['a truncation of customer', on => on`truncate customer`],
    ['a truncation of product', on => on`truncate product cascade`],
  ])('cannot perform %s; the error names READ COMMITTED', async (_, work) => {
    await expect(within(work)).rejects.toMatchObject({
      code: '25001',
      message: expect.stringMatching(new RegExp(`READ COMMITTED: the snapshot of a ${isolation}`, 'i')),
    })
  })

  test('can change a category with kept stamps, because that stamps no product', async () => {
    await within(async on => {
      await on`set local gateway.keep_updated_at = 'on'`
      await on`update category set title = title || '.' where id = ${category}`
      await on`update category set title = rtrim(title, '.') where id = ${category}`
    })
  })

  test.each(['variant', 'product_category'])('can truncate %s, which products show', async table => {
    await within(on => on`truncate ${on(table)}`)
    await expectInSync('products')
  })

  test('can perform all other changes, and clients find them', async () => {
    await within(async on => {
      await insert(on)
      await change(on)
      await on`update product set title = ${mark()} where id = ${product}`
      await on`update variant set title = ${mark()} where id = ${variant}`
      await on`update category set title = ${mark()} where id = ${category}`
      await on`insert into product_category values (${product}, ${category}) on conflict do nothing`
      await on`update customer set surname = ${mark()} where id = ${customer}`
      await on`update tenant set name = ${mark()} where id = ${leaf}`
      await on`insert into tenant (name, parent_id) values (${mark()}, ${leaf})`
      await on`delete from purchased_voucher where id = (select max(id) from purchased_voucher)`
      await pages()
    })
    await expectInSync()
  })
})
