/** Transactions of all forms: pages have all that was committed, although steps and pages came before. */
import { beforeEach, expect, test } from 'vitest'
import { untilLockWaits } from '../support/locks.ts'
import type { Transaction } from './changes.ts'
import { createSyncedClients } from './in-sync.ts'
import { insertOnlyRole } from './seed.ts'

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
        on conflict do nothing`
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

test.each(['commit', 'rollback'])('a prepared transaction, before and after its %s', async end => {
  await sql.begin(async transaction => {
    await insert(transaction)
    await pass()
    await transaction.prepare('edge')
  })
  await expectInSync()
  await sql.unsafe(`${end} prepared 'edge'`)
  await expectInSync()
})

test('a writer that is terminated', async () => {
  const writer = connect()
  const ended = writer.begin(async transaction => {
    await change(transaction)
    const [own] = await transaction<{ pid: number }[]>`select pg_backend_pid() as pid`
    await sql`select pg_terminate_backend(${own?.pid ?? 0}, 5000)`
    await new Promise<never>(() => {})
  })
  await expect(ended).rejects.toThrow()
  await expectInSync()
})

test('no page waits for a writer that has locked rows', () =>
  commit(async on => {
    await on`update purchased_voucher set product_title = ${mark()}`
    await on`update tenant set name = name || '.'`
    await pass()
  }))

test('a transaction in the lists of a thousand tenants', async () => {
  await sql`insert into tenant (name, parent_id) select 'many ' || n, ${knownIds.root}::bigint from generate_series(1, 1000) n`
  await commit(async on => {
    await on`insert into purchased_voucher (tenant_id, reference) select id, ${mark()}::text || '-' || id from tenant`
    await pass()
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
