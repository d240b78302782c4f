import { beforeEach, describe, expect, test } from 'vitest'
import { untilLockWaits } from '../support/locks.ts'
import type { Transaction } from './changes.ts'
import { createSyncedClients } from './in-sync.ts'
import { insertOnlyRole } from './seed.ts'

const synced = await createSyncedClients()
const { knownIds, tenant, voucher, product, variant, category, customer, sql } = synced
const { pass, expectInSync, commit, connect, lostByControl, serverTime, mark, insert, change, pages } = synced
const [, other = 0] = knownIds.vouchers
beforeEach(pass)

describe('the pages after a commit list what a transaction wrote before', () => {
  test('that was open for long; the control misses its changes', async () => {
    const before = await lostByControl()
    await commit(async on => {
      await insert(on)
      await change(on)
      await pages()
    })
    expect(await lostByControl()).toBeGreaterThan(before)
  })

  /** Changes a voucher in a savepoint, which is rolled back. */
  const undo = (on: Transaction, work: (inner: Transaction) => Promise<unknown>) =>
    expect(
      on.savepoint(async inner => {
        await work(inner)
        throw new Error('undone')
      }),
    ).rejects.toThrow('undone')
  const immediate = (on: Transaction) => on`set constraints all immediate`

  test.each<[string, ...((on: Transaction) => Promise<unknown>)[]]>([
    [
      'wrote a row several times',
      async on => {
        await change(on)
        await pages()
        await change(on)
        await pages()
        await change(on)
      },
    ],
    [
      'rolled back a savepoint',
      async on => {
        await undo(on, async inner => {
          await change(inner)
          await pages()
        })
        await pages()
        await change(on, other)
        await pages()
      },
    ],
    [
      'set its constraints immediate before, between and in a savepoint that was rolled back',
      async on => {
        await immediate(on)
        await change(on)
        await pages()
      },
      async on => {
        await change(on)
        await pages()
        await immediate(on)
        await pages()
        await change(on, other)
        await pages()
      },
      async on => {
        await change(on)
        await undo(on, immediate)
        await pages()
        await change(on, other)
        await pages()
      },
    ],
    [
      'began with an insert that conflicts',
      async on => {
        await on`
          insert into purchased_voucher (id, tenant_id, reference) values (${voucher}, ${tenant}, 'conflict')
          on conflict do nothing`
        await pages()
        await change(on)
        await pages()
      },
    ],
    [
      'changed what a product shows',
      async on => {
        await on`update variant set title = ${mark()} where id = ${variant}`
        await on`insert into product_category values (${product}, ${category}) on conflict do nothing`
        await on`update category set title = ${mark()} where id = ${category}`
        await pages()
      },
    ],
    [
      'withdrew the consent of a customer, and one that gave it again',
      ...[false, true].map(opted => async (on: Transaction) => {
        await on`update customer set marketing_opted = ${opted}, surname = ${mark()} where id = ${customer}`
        await pages()
      }),
    ],
    [
      'removed what it had created, and what was there',
      async on => {
        const [made] = await insert(on)
        await on`delete from purchased_voucher where id in (${made?.id}, ${knownIds.vouchers[2] ?? 0})`
        await on`delete from product where id = ${knownIds.products[1] ?? 0}`
        await pages()
      },
    ],
  ])('that %s', async (_, ...transactions) => {
    for (const work of transactions) await commit(work)
  })

  test('that gave stamps of its own', async () => {
    const seen = await serverTime()
    const given = mark()
    await commit(async on => {
      await on`update purchased_voucher set updated_at = '2001-02-03', void = true where id = ${voucher}`
      await on`insert into purchased_voucher (tenant_id, reference, updated_at) values (${tenant}, ${given}, '2001-02-03')`
      await pages()
    })
    const early = await sql`
      select from purchased_voucher where updated_at < ${seen}::text::timestamptz and (id = ${voucher} or reference = ${given})`
    expect(early).toHaveLength(0)
  })

  test('under a role that may only insert', async () => {
    const seller = connect({ user: insertOnlyRole })
    for (const table of ['purchased_voucher', 'tenant']) {
      await expect(seller`select from ${seller(table)}`).rejects.toThrow('permission denied')
    }
    await seller.begin(async transaction => {
      await transaction`insert into purchased_voucher (tenant_id, reference) values (${tenant}, ${mark()})`
      await pages()
    })
    await seller`insert into tenant (name, parent_id) values (${mark()}, ${knownIds.root})`
    await expectInSync()
  })
})

test('deletions by a loader that keeps its own stamps are reported like others', async () => {
  await commit(async on => {
    await on`set local gateway.keep_updated_at = 'on'`
    await on`delete from purchased_voucher where id = ${knownIds.vouchers[3] ?? 0}`
    await on`update customer set marketing_opted = false where id = ${knownIds.customers[1] ?? 0}`
    await pages()
  }, 'removals')
})

test('a loader can stop keeping its stamps, and then insert a row that conflicts', async () => {
  await commit(async on => {
    await on`set local gateway.keep_updated_at = 'on'`
    await on`
      insert into purchased_voucher (tenant_id, reference, updated_at)
      values (${knownIds.owners[1] ?? 0}, ${mark()}, '2001-02-03')`
    await on`set local gateway.keep_updated_at = 'off'`
    await on`
      insert into variant (id, product_id, slug, title, currency) values (${variant}, ${product}, 'v', 'v', 'GBP')
      on conflict do nothing`
    await pages()
  }, 'vouchers')
})

test('a transaction can write in the lists of a thousand tenants', async () => {
  await sql`insert into tenant (name, parent_id) select 'many ' || n, ${knownIds.root}::bigint from generate_series(1, 1000) n`
  await commit(async on => {
    await on`insert into purchased_voucher (tenant_id, reference) select id, ${mark()}::text || '-' || id from tenant`
    await pages()
  }, 'vouchers')
})

test('a product that is linked to a category during its change shows the new title', async () => {
  const [product] = await sql<{ id: string }[]>`
    insert into product (tenant_id, slug, title, currency) values (${tenant}, 'linked', 'Linked', 'GBP') returning id`
  const [category] = await sql<{ id: string }[]>`
    insert into category (tenant_id, slug, title) values (${tenant}, 'late', 'Before') returning id`
  const linker = connect()
  let linking: Promise<unknown> = Promise.resolve()
  await connect().begin(async on => {
    await on`update category set title = 'After' where id = ${category!.id}`
    linking =
      linker`insert into product_category (product_id, category_id) values (${product!.id}, ${category!.id})`.execute()
    // It waits for the change, or is done at once; either way the clients read before the change is visible.
    await Promise.race([linking, untilLockWaits(sql)])
    await pass()
  })
  await linking
  await expectInSync('products')
})
