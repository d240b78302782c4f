import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { Transaction } from './changes.ts'
import { createStep } from './in-sync.ts'
import { insertOnlyRole, open } from './seed.ts'

const { database, ground, tenant, sql, pass, inStep, lostByControl, serverTime, end, mark, insert, change, pages } =
  await createStep()
const { address } = database
const [voucher = 0, other = 0] = ground.vouchers
const [product = 0] = ground.products
const [variant = 0] = ground.variants
const [category = 0] = ground.categories
const [customer = 0] = ground.customers
afterAll(end)
beforeEach(pass)

describe('a transaction that commits after pages were read is told by the next', () => {
  test('which wrote, and took its time; the control loses it', async () => {
    const before = await lostByControl()
    await sql.begin(async transaction => {
      await insert(transaction)
      await change(transaction)
      await pages()
    })
    await inStep()
    expect(await lostByControl()).toBeGreaterThan(before)
  })

  test('which was short', async () => {
    await sql.begin(async transaction => {
      await insert(transaction)
    })
    await inStep()
  })

  test('which wrote a row several times', async () => {
    await sql.begin(async transaction => {
      await change(transaction)
      await pages()
      await change(transaction)
      await pages()
      await change(transaction)
    })
    await inStep()
  })

  test('of which a savepoint was rolled back', async () => {
    await sql.begin(async transaction => {
      const undone = transaction.savepoint(async inner => {
        await change(inner)
        await pages()
        throw new Error('undone')
      })
      await expect(undone).rejects.toThrow('undone')
      await pages()
      await change(transaction, other)
      await pages()
    })
    await inStep()
  })

  test('which set its constraints immediate before, between and in a savepoint that was rolled back', async () => {
    const immediate = (on: Transaction) => on`set constraints all immediate`
    await sql.begin(async transaction => {
      await immediate(transaction)
      await change(transaction)
      await pages()
    })
    await inStep()
    await sql.begin(async transaction => {
      await change(transaction)
      await pages()
      await immediate(transaction)
      await pages()
      await change(transaction, other)
      await pages()
    })
    await inStep()
    await sql.begin(async transaction => {
      await change(transaction)
      const undone = transaction.savepoint(async inner => {
        await immediate(inner)
        throw new Error('undone')
      })
      await expect(undone).rejects.toThrow('undone')
      await pages()
      await change(transaction, other)
      await pages()
    })
    await inStep()
  })

  test('which began with an insert in vain', async () => {
    await sql.begin(async transaction => {
      await transaction`
        insert into purchased_voucher (id, tenant_id, reference) values (${voucher}, ${tenant}, 'vain')
        on conflict do nothing`
      await pages()
      await change(transaction)
      await pages()
    })
    await inStep()
  })

  test('which brought stamps of its own', async () => {
    const seen = await serverTime()
    const brought = mark()
    await sql.begin(async transaction => {
      await transaction`update purchased_voucher set updated_at = '2001-02-03', void = true where id = ${voucher}`
      await transaction`
        insert into purchased_voucher (tenant_id, reference, updated_at) values (${tenant}, ${brought}, '2001-02-03')`
      await pages()
    })
    await inStep()
    const [{ count } = { count: 0 }] = await sql<{ count: number }[]>`
      select count(*)::int as count from purchased_voucher where updated_at < ${seen}::text::timestamptz
      and (id = ${voucher} or reference = ${brought})`
    expect(count).toBe(0)
  })

  test('of a session that applies a replication', async () => {
    await sql.begin(async transaction => {
      await transaction`set local session_replication_role = replica`
      await insert(transaction)
      await change(transaction)
      await transaction`update variant set title = ${mark()} where id = ${variant}`
      await transaction`delete from purchased_voucher where id = ${other}`
      await pages()
    })
    await inStep()
  })

  test('of a role that may only insert', async () => {
    const till = open({ ...address, user: insertOnlyRole })
    await expect(till`select from purchased_voucher`).rejects.toThrow('permission denied')
    await till.begin(async transaction => {
      await transaction`insert into purchased_voucher (tenant_id, reference) values (${tenant}, ${mark()})`
      await pages()
    })
    await till.end()
    await inStep()
  })

  test('which changed what a product shows', async () => {
    await sql.begin(async transaction => {
      await transaction`update variant set title = ${mark()} where id = ${variant}`
      await transaction`insert into product_category values (${product}, ${category}) on conflict do nothing`
      await transaction`update category set title = ${mark()} where id = ${category}`
      await pages()
    })
    await inStep()
  })

  test('in which a customer withdrew consent, and another in which it was given again', async () => {
    const consent = (opted: boolean) =>
      sql.begin(async transaction => {
        await transaction`update customer set marketing_opted = ${opted}, surname = ${mark()} where id = ${customer}`
        await pages()
      })
    await consent(false)
    await inStep()
    await consent(true)
    await inStep()
  })

  test('which removed what it had made, and what was there', async () => {
    await sql.begin(async transaction => {
      const [made] = await insert(transaction)
      await transaction`delete from purchased_voucher where id in (${made?.id}, ${ground.vouchers[2] ?? 0})`
      await transaction`delete from product where id = ${ground.products[1] ?? 0}`
      await pages()
    })
    await inStep()
  })
})
