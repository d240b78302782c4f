/** Transactions of all isolation levels, prepared ones and terminated ones, and their locks. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { Transaction } from './changes.ts'
import { createSyncedClients } from './in-sync.ts'

const synced = await createSyncedClients()
const { knownIds, tenant, product, variant, category, customer, sql } = synced
const { pass, expectInSync, commit, connect, serverTime, mark, insert, change, pages } = synced
const [leaf = 0] = knownIds.tenants
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

test.each(['commit', 'rollback'])('a prepared transaction holds the watermark until its %s', async end => {
  const seen = await serverTime()
  await sql.begin(async transaction => {
    await insert(transaction)
    await pages()
    await transaction.prepare('edge')
  })
  const held = await serverTime()
  await pages()
  expect(await serverTime()).toBe(held)
  await sql.unsafe(`${end} prepared 'edge'`)
  expect((await serverTime()) > held).toBe(true)
  expect(held > seen).toBe(true)
  await expectInSync()
})

test('a writer that is terminated leaves nothing that holds the watermark', async () => {
  const writer = connect()
  const ended = writer.begin(async transaction => {
    await change(transaction)
    await transaction`set constraints all immediate`
    const [own] = await transaction<{ pid: number }[]>`select pg_backend_pid() as pid`
    await sql`select pg_terminate_backend(${own?.pid ?? 0}, 5000)`
    await new Promise<never>(() => {})
  })
  await expect(ended).rejects.toThrow()
  const [clock] = await sql<{ now: string }[]>`select to_json(clock_timestamp() at time zone 'UTC') #>> '{}' as now`
  expect((await serverTime()) > (clock?.now ?? '')).toBe(true)
  await expectInSync()
})

describe('no lock waits', () => {
  test('of a page for a writer that has locked rows', async () => {
    await commit(async on => {
      await on`update purchased_voucher set product_title = ${mark()}`
      await on`update tenant set name = name || '.'`
      await pass()
    })
  })

  test('of a writer for a reader whose transaction is open', async () => {
    const reader = connect()
    const writer = connect({ connection: { lock_timeout: 1000 } })
    await reader.begin(async transaction => {
      await transaction`select gateway.watermark()`
      await transaction`select from purchased_voucher where tenant_id = ${tenant} order by updated_at, id limit 100`
      await writer`update purchased_voucher set product_title = ${mark()}`
      await writer`insert into purchased_voucher (tenant_id, reference) values (${tenant}, ${mark()})`
    })
    await expectInSync()
  })
})
