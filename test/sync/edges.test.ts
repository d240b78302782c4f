/** Transactions of all forms: pages have all that was committed, although steps and pages came before. */
import { beforeEach, expect, test } from 'vitest'
import { createSyncedClients } from './in-sync.ts'
import { insertOnlyRole } from './seed.ts'
import type { Transaction } from './writers.ts'

const synced = await createSyncedClients()
const { knownIds, tenant, voucher, product, variant, category, customer, sql } = synced
const { pass, expectInSync, commit, connect, mark, insert, change } = synced
const [leaf = 0] = knownIds.tenants
const [, other = 0] = knownIds.vouchers
beforeEach(pass)

/** Changes a voucher in a savepoint, which is rolled back. */
const undo = (on: Transaction) =>
  expect(
    on.savepoint(async inner => {
      await change(inner)
      await pass()
      throw new Error('undone')
    }),
  ).rejects.toThrow('undone')

type Work = (on: Transaction) => Promise<unknown>

const works: [string, ...Work[]][] = [
  [
    'wrote a row several times',
    async on => {
      await change(on)
      await pass()
      await change(on)
    },
  ],
  [
    'rolled back a savepoint',
    async on => {
      await undo(on)
      await pass()
      await change(on, other)
    },
  ],
  [
    'began with an insert that conflicts',
    async on => {
      await on`
        insert into purchased_voucher (id, tenant_id, reference) values (${voucher}, ${tenant}, 'conflict')
        on conflict (id) do nothing`
      await pass()
      await change(on)
    },
  ],
  [
    'changed what a product shows',
    async on => {
      await on`update variant set title = ${mark()} where id = ${variant}`
      await on`insert into product_category values (${product}, ${category}) on conflict do nothing`
      await on`update category set title = ${mark()} where id = ${category}`
    },
  ],
  [
    'withdrew the consent of a customer, and one that gave it again',
    ...[false, true].map(opted => async (on: Transaction) => {
      await on`update customer set marketing_opted = ${opted}, surname = ${mark()} where id = ${customer}`
    }),
  ],
  [
    'removed what it had created, and what was there',
    async on => {
      const [made] = await insert(on)
      await on`delete from purchased_voucher where id in (${made?.id}, ${knownIds.vouchers[2] ?? 0})`
      await on`delete from product where id = ${knownIds.products[1] ?? 0}`
    },
  ],
  [
    'moved a tenant with those below it, and created another one',
    async on => {
      const [root, owner = 0] = [knownIds.root, knownIds.owners[1]]
      await on`
        update tenant set parent_id = case parent_id when ${root} then ${owner}::bigint else ${root} end
        where id = ${knownIds.branch}`
      await on`insert into tenant (name, parent_id) values (${mark()}, ${leaf})`
    },
  ],
  ['truncated what products show', on => on`truncate variant, product_category`],
  [
    'locked the rows of a whole table',
    async on => {
      await on`update purchased_voucher set product_title = ${mark()}`
      await on`update tenant set name = name || '.'`
    },
  ],
]

test.each(works)('a transaction that %s', async (_, ...transactions) => {
  for (const work of transactions) {
    await commit(async on => {
      await work(on)
      await pass()
    })
  }
})

test.each(['repeatable read', 'serializable'])('%s transactions that do all of it', async isolation => {
  for (const work of works.flatMap(([, ...transactions]) => transactions)) {
    await sql.begin(`isolation level ${isolation}`, async on => {
      await on`select from tenant limit 1`
      await pass()
      await work(on)
    })
    await pass()
  }
  await expectInSync()
})

test('under a role that may only insert', async () => {
  const seller = connect({ user: insertOnlyRole })
  for (const table of ['purchased_voucher', 'tenant', 'gateway.note']) {
    await expect(seller`select from ${seller(table)}`).rejects.toThrow('permission denied')
  }
  await seller.begin(async transaction => {
    await transaction`insert into purchased_voucher (tenant_id, reference) values (${tenant}, ${mark()})`
    await pass()
  })
  await seller`insert into tenant (name, parent_id) values (${mark()}, ${knownIds.root})`
  await expectInSync()
})
