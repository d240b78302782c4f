/** Changes that a subscription (`create subscription`) applies. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type postgres from '#postgres'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { projected } from '../support/projected.ts'
import { until } from '../support/until.ts'
import { createSyncedClients } from './in-sync.ts'
import { platformTables, type SubscriptionOptions, startPublisher } from './publisher.ts'
import { open } from './seed.ts'

const { database, knownIds, tenant, sql, expectInSync, mark, pass } = await createSyncedClients()
const { address } = database
const [, other = 0] = knownIds.owners
const publisher = await startPublisher()
const platform = open(publisher.address, { max: 3 })
afterAll(async () => {
  await platform.end()
  await publisher.stop()
})

/** Tenants have their own subscription: both sides hold the same ones from the start. */
const tables = platformTables.filter(table => table !== 'tenant')

/** Ids of rows that both sides hold. No other test reads the rows that a test changes. */
type Rows = Awaited<ReturnType<typeof insertRows>>

let ids = 1_000_000

async function insertRows(owner = tenant) {
  ids += 10
  const id = (n: number) => ids + n
  const [kept, moved, deleted] = [id(1), id(2), id(3)]
  await platform.begin(async on => {
    for (const n of [1, 2, 3]) {
      await on`insert into category (id, tenant_id, slug, title) values (${id(n)}, ${owner}, 'c', ${mark()})`
      await on`insert into product (id, tenant_id, slug, title, currency) values (${id(n)}, ${owner}, 'p', 'p', 'GBP')`
      await on`
        insert into purchased_voucher (id, tenant_id, reference) values (${id(n)}, ${owner}, ${mark()})`
      await on`
        insert into customer (id, tenant_id, surname, marketing_opted) values (${id(n)}, ${owner}, ${mark()}, ${n < 3})`
    }
    for (const [n, product] of [kept, kept, kept, kept, deleted].entries()) {
      await on`
        insert into variant (id, product_id, slug, title, currency) values (${id(n)}, ${product}, 'v', ${mark()}, 'GBP')`
    }
    await on`insert into product_category values (${kept}, ${id(1)}), (${kept}, ${id(3)}), (${deleted}, ${id(1)})`
  })
  return {
    ...{ kept, moved, deleted },
    /** Variants of the kept product. */
    ...{ variant: id(0), sibling: id(1), straying: id(2), ending: id(3) },
    /** Categories, the first and the last of them linked to the kept product. */
    ...{ filed: id(1), free: id(2), ended: id(3) },
    /** Vouchers and customers; the last customer has not opted in. */
    ...{ first: id(1), second: id(2), third: id(3) },
  }
}

type Change = (on: postgres.ISql, rows: Rows) => Promise<unknown>

/** Changes at the publisher; one transaction can make all of them in this order. */
const changes: Record<string, Change> = {
  'a variant changes': (on, { variant }) => on`update variant set title = ${mark()} where id = ${variant}`,
  'a variant moves to another product': (on, { straying, moved }) =>
    on`update variant set product_id = ${moved} where id = ${straying}`,
  'a variant is deleted': (on, { ending }) => on`delete from variant where id = ${ending}`,
  'a variant is made': (on, { moved }) =>
    on`insert into variant (id, product_id, slug, title, currency) values (${moved + 5}, ${moved}, 'v', 'v', 'GBP')`,
  'a category is linked': (on, { moved, free }) => on`insert into product_category values (${moved}, ${free})`,
  'a link moves to another product': (on, { moved, deleted, free }) =>
    on`update product_category set product_id = ${deleted} where product_id = ${moved} and category_id = ${free}`,
  'a link moves to another category': (on, { deleted, free, ended }) =>
    on`update product_category set category_id = ${ended} where product_id = ${deleted} and category_id = ${free}`,
  'a link is deleted': (on, { deleted, filed }) =>
    on`delete from product_category where product_id = ${deleted} and category_id = ${filed}`,
  'a category changes': (on, { filed }) => on`update category set title = ${mark()} where id = ${filed}`,
  'a category is deleted, and its links': (on, { ended }) => on`delete from category where id = ${ended}`,
  'a voucher changes': (on, { first }) =>
    on`update purchased_voucher set product_title = ${mark()} where id = ${first}`,
  'a voucher is deleted': (on, { second }) => on`delete from purchased_voucher where id = ${second}`,
  'a product is deleted, with its variants': (on, { deleted }) => on`delete from product where id = ${deleted}`,
  'a customer is deleted': (on, { first }) => on`delete from customer where id = ${first}`,
  'a customer withdraws consent': (on, { second }) =>
    on`update customer set marketing_opted = false, surname = ${mark()} where id = ${second}`,
  'a customer without consent is deleted': (on, { third }) => on`delete from customer where id = ${third}`,
}

/** The removals of all these changes, as `removalsOf` returns them. */
const removedBy = ({ second, deleted, first }: Rows) => [
  { record: 'customer', id: first, reason: 'deleted' },
  { record: 'customer', id: second, reason: 'consent_withdrawn' },
  { record: 'product', id: deleted, reason: 'deleted' },
  { record: 'voucher', id: second, reason: 'deleted' },
]

/** @returns the removals of the rows of one call of `insertRows` */
const removalsOf = async ({ first }: Rows) => [
  ...(await sql`
    select record::text, id::int, reason from gateway.removal
    where tenant_id = ${tenant} and id between ${first} and ${first + 8} order by record::text, id`),
]

async function changeAll(on: postgres.ISql, rows: Rows): Promise<void> {
  for (const change of Object.values(changes)) await change(on, rows)
}

/** Waits until all changes are applied, and expects the copies to equal the tables. */
async function applied(): Promise<void> {
  await publisher.caughtUp()
  await expectInSync()
}

async function applyRows(): Promise<Rows> {
  const rows = await insertRows()
  await applied()
  return rows
}

/** Subscribes during the tests of a block. */
function subscribed(options: SubscriptionOptions = {}): void {
  let name = ''
  beforeAll(async () => {
    name = await publisher.subscribe(address, { tables, copyData: false, ...options })
  })
  afterAll(() => publisher.unsubscribe(name))
}

const count = async (from: string) =>
  (await sql.unsafe<{ n: number }[]>(`select count(*)::int as n from ${from}`))[0]?.n ?? 0

beforeAll(async () => {
  for (const id of [knownIds.root, ...knownIds.owners])
    await platform`insert into tenant (id, name) values (${id}, 'same')`
  await publisher.subscribe(address, { tables: ['tenant'], copyData: false })
})

test('the initial copy, of tables in an order that violates the foreign keys', async () => {
  await insertRows()
  for (const table of [
    'product',
    'product_category',
    'variant',
    'category',
    'purchased_voucher',
    'customer',
  ] as const) {
    const before = await count(table)
    await publisher.unsubscribe(await publisher.subscribe(address, { tables: [table] }))
    expect(await count(table)).toBeGreaterThan(before)
    await expectInSync()
  }
})

describe('a transaction of the publisher', () => {
  subscribed()
  let rows: Rows
  beforeAll(async () => {
    rows = await applyRows()
  })

  test.each(Object.entries(changes))('%s', async (_what, change) => {
    await change(platform, rows)
    await applied()
  })

  test('reports each removal once', async () => {
    expect(await removalsOf(rows)).toEqual(removedBy(rows))
  })
})

// PostgreSQL has parallel workers for it from 16 on.
const [{ streaming }] = await sql<[{ streaming: 'on' | 'parallel' }]>`
  select case when current_setting('server_version_num')::integer < 160000 then 'on' else 'parallel' end as streaming`

describe('with streaming', () => {
  subscribed({ streaming })

  test('a large transaction is applied while a small one commits first and changes the same product', async () => {
    const rows = await applyRows()
    const streamed = async () =>
      (await platform`select sum(stream_count)::int as count from pg_stat_replication_slots`)[0]?.count
    const before = await streamed()
    await platform.begin(async on => {
      await changeAll(on, rows)
      await on`
        insert into purchased_voucher (id, tenant_id, reference, product_title)
        select ${ids * 1000}::bigint + n, ${other}, 'large-' || n, repeat('large', 60)
        from generate_series(1, 500) n`
      // Only flushed changes are sent, and a commit flushes.
      await platform`select pg_logical_emit_message(true, 'flush', '')`
      await until('changes are sent before the commit', async () => (await streamed()) > before)
      if (streaming === 'parallel') {
        const applying = () => sql`
          select from pg_stat_activity where backend_type = 'logical replication parallel worker'
            and datname = current_database() and xact_start is not null`
        await until('they are applied before the commit', async () => (await applying()).length > 0)
      }
      await pass()
      await platform`update variant set title = ${mark()} where id = ${rows.sibling}`
      await applied()
    })
    await applied()
    expect(await removalsOf(rows)).toEqual(removedBy(rows))
  })
})

describe('truncations', () => {
  subscribed()

  test('of tables that their transaction wrote to before are applied, and report each removal', async () => {
    const rows = await applyRows()
    const listed = ['product', 'voucher', 'customer where marketing_opted']
    const counted = await Promise.all(listed.map(each => count(`gateway.${each}`)))
    const removed = await count('gateway.removal')
    await platform.begin(async on => {
      await changeAll(on, rows)
      await on`truncate variant, product_category, product, purchased_voucher, customer`
    })
    await applied()
    for (const table of tables) if (table !== 'category') expect(await count(table), table).toBe(0)
    expect((await count('gateway.removal')) - removed).toBe(counted.reduce((sum, each) => sum + each, 0))
  })
})

test('the figures agree with the records in the end', async () => {
  await projected(database.pool)
  expect(await checkFigures(database.pool)).toEqual({ asOf: expect.any(String), differences: [] })
  expect(await sql`select from gateway.consent_withdrawal limit 1`).toHaveLength(1)
})
