/** Changes that a subscription (`create subscription`) applies. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type postgres from '#postgres'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { followed } from '../support/followed.ts'
import { until } from '../support/until.ts'
import { createSyncedClients } from './in-sync.ts'
import { platformTables, type SubscriptionOptions, startPublisher } from './publisher.ts'
import { open } from './seed.ts'

const { database, knownIds, tenant, product, variant, sql, expectInSync, commit, connect, mark, pages } =
  await createSyncedClients()
const { address } = database
const [owner = 0, other = 0] = knownIds.owners
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
        insert into purchased_voucher (id, tenant_id, reference, updated_at)
        values (${id(n)}, ${owner}, ${mark()}, '2001-02-03')`
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
  'a voucher changes, with a stamp of long ago': (on, { first }) =>
    on`update purchased_voucher set product_title = ${mark()}, updated_at = '2001-02-04' where id = ${first}`,
  'a voucher is deleted': (on, { second }) => on`delete from purchased_voucher where id = ${second}`,
  'a product is deleted, with its variants': (on, { deleted }) => on`delete from product where id = ${deleted}`,
  'a customer is deleted': (on, { first }) => on`delete from customer where id = ${first}`,
  'a customer withdraws consent': (on, { second }) =>
    on`update customer set marketing_opted = false, surname = ${mark()} where id = ${second}`,
  'a customer without consent is deleted': (on, { third }) => on`delete from customer where id = ${third}`,
}

/** The removals of all these changes, as `removalsOf` returns them. */
const removedBy = ({ second, deleted, first, third }: Rows) => [
  { resource: 'catalog_voucher', tenant_id: tenant, record_id: deleted, reason: 'deleted' },
  // No client sees this change, but the figures follow it.
  { resource: 'customer', tenant_id: tenant, record_id: third, reason: 'deleted' },
  { resource: 'marketing_signup', tenant_id: tenant, record_id: first, reason: 'deleted' },
  { resource: 'marketing_signup', tenant_id: tenant, record_id: second, reason: 'consent_withdrawn' },
  { resource: 'purchased_voucher', tenant_id: tenant, record_id: second, reason: 'deleted' },
]

/** @returns the removals of the rows of one call of `insertRows` */
const removalsOf = async ({ first }: Rows) => [
  ...(await sql`
    select resource, tenant_id::int, record_id::int, reason from gateway.removal
    where record_id between ${first} and ${first + 8} order by resource, record_id`),
]

async function changeAll(on: postgres.ISql, rows: Rows): Promise<void> {
  for (const change of Object.values(changes)) await change(on, rows)
}

/** Waits until all changes are applied, and expects the copies to equal the tables. */
async function applied(): Promise<void> {
  await publisher.caughtUp()
  await expectInSync()
}

/** Inserts rows at the publisher, and waits until they are applied. */
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

const stampOf = async (table: 'product' | 'tenant', id: number) =>
  (await sql`select updated_at::text from ${sql(table)} where id = ${id}`)[0]?.updated_at

const count = async (from: string, where = 'true') =>
  (await sql.unsafe<{ n: number }[]>(`select count(*)::int as n from ${from} where ${where}`))[0]?.n ?? 0

const countPending = () => count('gateway.stamp_queue')

let ofTenants = ''

beforeAll(async () => {
  for (const id of [knownIds.root, ...knownIds.owners])
    await platform`insert into tenant (id, name) values (${id}, 'same')`
  ofTenants = await publisher.subscribe(address, { tables: ['tenant'], copyData: false })
})

describe('the initial copy, table by table, in an order that violates the foreign keys', () => {
  beforeAll(() => insertRows())

  const disordered = ['product', 'product_category', 'variant', 'category', 'purchased_voucher', 'customer'] as const
  test.each(disordered)('%s', async table => {
    const before = await count(table)
    await publisher.unsubscribe(await publisher.subscribe(address, { tables: [table] }))
    expect(await count(table)).toBeGreaterThan(before)
    await expectInSync()
  })
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

  test('that deletes a tenant below another reports the removal', async () => {
    await platform`insert into tenant (id, name, parent_id) values (${ids}, ${mark()}, ${tenant})`
    await applied()
    await platform`delete from tenant where id = ${ids}`
    await applied()
    const removed = sql`select resource, reason from gateway.removal where record_id = ${ids} and tenant_id = ${tenant}`
    expect(await removed).toEqual([{ resource: 'tenant', reason: 'deleted' }])
  })

  test('that rolls back a savepoint reports nothing of it', async () => {
    const again = await applyRows()
    await platform.begin(async on => {
      const undone = on.savepoint(async inner => {
        await changeAll(inner, again)
        throw new Error('undone')
      })
      await expect(undone).rejects.toThrow('undone')
      await changes['a variant changes']?.(on, again)
    })
    await applied()
    expect(await removalsOf(again)).toEqual([])
  })
})

describe('without the stamps of the publisher', () => {
  subscribed({ stamps: false })

  test('all changes in one transaction are applied', async () => {
    const rows = await applyRows()
    await platform.begin(on => changeAll(on, rows))
    await applied()
    expect(await removalsOf(rows)).toEqual(removedBy(rows))
  })
})

describe.each(['on', 'parallel'] as const)('with streaming = %s', streaming => {
  subscribed({ streaming })

  test('a large transaction is applied beside a small one that commits first and changes the same product', async () => {
    const rows = await applyRows()
    const streamed = async () =>
      (await platform`select sum(stream_count)::int as count from pg_stat_replication_slots`)[0]?.count
    const before = await streamed()
    await platform.begin(async on => {
      await changeAll(on, rows)
      await on`
        insert into purchased_voucher (id, tenant_id, reference, product_title)
        select ${ids * 1000}::bigint + n, ${other}, 'large-' || ${streaming} || n, repeat('large', 60)
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
      await pages()
      await platform`update variant set title = ${mark()} where id = ${rows.sibling}`
      await applied()
    })
    await applied()
    expect(await removalsOf(rows)).toEqual(removedBy(rows))
  })
})

describe('with two_phase', () => {
  subscribed({ twoPhase: true })

  test('a prepared transaction is applied beside one that commits first and changes the same products', async () => {
    const rows = await applyRows()
    await platform.begin(async on => {
      await changeAll(on, rows)
      await on.prepare('subscribed')
    })
    await publisher.caughtUp()
    expect(await sql`select from pg_prepared_xacts where database = current_database()`).toHaveLength(1)
    await pages()
    await platform`update variant set title = ${mark()} where id = ${rows.sibling}`
    await platform`update product set title = ${mark()} where id in (${rows.kept}, ${rows.moved})`
    await publisher.caughtUp()
    await pages()
    await platform`commit prepared 'subscribed'`
    await applied()
    expect(await removalsOf(rows)).toEqual(removedBy(rows))
  })
})

describe('without the links', () => {
  subscribed({ tables: tables.filter(table => table !== 'product_category') })

  test('a category that is deleted while its links stay stamps the products', async () => {
    const rows = await applyRows()
    await sql`insert into product_category values (${rows.kept}, ${rows.filed})`
    await expectInSync()
    await platform`delete from category where id = ${rows.filed}`
    await applied()
  })
})

describe('beside a session that', () => {
  subscribed()
  let rows: Rows
  beforeAll(async () => {
    rows = await applyRows()
  })

  test('changes a category of the subscriber, a link to it is applied', async () => {
    await commit(async on => {
      await on`update category set title = ${mark()} where id = ${rows.free}`
      await changes['a category is linked']?.(platform, rows)
      await publisher.caughtUp()
      await pages()
    })
  })

  test('locks a product, many variants of it are applied, and queued once', async () => {
    await commit(async on => {
      await on`select from product where id = ${rows.kept} for update`
      await platform`
        insert into variant (id, product_id, slug, title, currency)
        select ${ids * 1000}::bigint + n, ${rows.kept}, 'v', 'many', 'GBP' from generate_series(1, 1000) n`
      await publisher.caughtUp()
      await pages()
      expect(await countPending()).toBe(1)
    })
    await platform`delete from variant where title = 'many'`
    await applied()
  })
})

describe('a subscription of a role that keeps the stamps', () => {
  const role = `keeper_${randomBytes(4).toString('hex')}`
  let name = ''
  beforeAll(async () => {
    await sql.unsafe(`create role ${role} superuser login; alter role ${role} set gateway.keep_updated_at = 'on'`)
    name = await publisher.subscribe({ ...address, user: role }, { tables, copyData: false })
  })
  afterAll(async () => {
    await publisher.unsubscribe(name)
    await sql.unsafe(`drop role ${role}`)
  })

  test('keeps the stamps of the publisher, does not stamp products, and reports removals', async () => {
    // Uses a tenant whose lists no client reads: a client would miss stamps of the past.
    const rows = await insertRows(other)
    await publisher.caughtUp()
    const before = await stampOf('product', rows.kept)
    await changes['a variant changes']?.(platform, rows)
    await changes['a voucher changes, with a stamp of long ago']?.(platform, rows)
    await changes['a voucher is deleted']?.(platform, rows)
    await publisher.caughtUp()
    expect([await stampOf('product', rows.kept), await countPending()]).toEqual([before, 0])
    const [voucher] = await sql`select updated_at::date::text as stamp from purchased_voucher where id = ${rows.first}`
    expect(voucher).toEqual({ stamp: '2001-02-04' })
    expect(await removalsOf(rows)).toHaveLength(1)
  })
})

describe('a transaction of an applier, at its commit and without the service,', () => {
  /** Returns whether a change gives a row a new stamp in its own transaction. */
  async function isStamped(
    change: (on: postgres.ISql) => Promise<unknown>,
    table: string,
    id: number,
  ): Promise<boolean> {
    const stamp = (on: postgres.ISql) => on.unsafe(`select updated_at::text from ${table} where id = ${id}`)
    return sql.begin(async on => {
      await on`set local session_replication_role = replica`
      const [before] = await stamp(on)
      await change(on)
      await on`set constraints all immediate`
      const [after] = await stamp(on)
      return before?.updated_at !== after?.updated_at
    })
  }

  test('stamps the product of a variant', async () => {
    const change = (on: postgres.ISql) => on`update variant set title = ${mark()} where id = ${variant}`
    expect(await isStamped(change, 'product', product)).toBe(true)
    await expectInSync('products')
  })

  test('stamps the products of a category', async () => {
    const [link] = await sql<{ product: number; category: number }[]>`
      select product_id::int as product, category_id::int as category from product_category limit 1`
    const change = (on: postgres.ISql) => on`update category set title = ${mark()} where id = ${link?.category ?? 0}`
    expect(await isStamped(change, 'product', link?.product ?? 0)).toBe(true)
    await expectInSync('products')
  })

  test('stamps the tenants below a tenant', async () => {
    const [above, below] = [7_000_001, 7_000_002]
    await sql`
      insert into tenant (id, name, parent_id) values (${above}, 'above', ${knownIds.root}), (${below}, 'below', ${above})`
    const change = (on: postgres.ISql) => on`update tenant set parent_id = ${owner} where id = ${above}`
    expect(await isStamped(change, 'tenant', below)).toBe(true)
    await expectInSync('tenants')
  })
})

test('tenants below one that an applier moves are stamped once, after the locked one among them is free', async () => {
  const [above, locked, free] = [7_000_011, 7_000_012, 7_000_013]
  await sql`
    insert into tenant (id, name, parent_id)
    values (${above}, 'above', ${knownIds.root}), (${locked}, 'locked', ${above}), (${free}, 'free', ${above})`
  const stamp = () => stampOf('tenant', free)
  const before = await stamp()
  await connect().begin(async on => {
    await on`select from tenant where id = ${locked} for update`
    await sql.begin(async transaction => {
      await transaction`set local session_replication_role = replica`
      await transaction`update tenant set parent_id = ${owner} where id = ${above}`
    })
    for (let pass = 0; pass < 3; pass++) await sql`select gateway.process_stamp_queue(0)`
    expect(await stamp()).toBe(before)
    expect(await countPending()).toBe(1)
  })
  await expectInSync('tenants')
  expect(await stamp()).not.toBe(before)
  expect(await countPending()).toBe(0)
})

describe('a truncation', () => {
  subscribed()

  test.each(['variant', 'product_category', 'product', 'purchased_voucher', 'customer'] as const)('%s', async table => {
    await applyRows()
    const [{ resource } = { resource: null }] = await sql`select resource from gateway.list where name = ${table}`
    const listed = resource ? await count(table, table === 'customer' ? 'marketing_opted' : 'true') : 0
    const removed = await count('gateway.removal', `resource = '${resource}'`)
    await platform`truncate ${platform(table)} cascade`
    await applied()
    expect(await count(table)).toBe(0)
    expect((await count('gateway.removal', `resource = '${resource}'`)) - removed).toBe(listed)
  })

  test('of a table that its transaction wrote to before is applied', async () => {
    const rows = await applyRows()
    await platform.begin(async on => {
      await changeAll(on, rows)
      await on`truncate purchased_voucher`
    })
    await applied()
    expect(await count('purchased_voucher')).toBe(0)
  })
})

describe('tenants with two_phase', () => {
  let id = 8_000_000
  let name = ''

  beforeAll(async () => {
    await publisher.unsubscribe(ofTenants)
    name = await publisher.subscribe(address, { tables: ['tenant'], copyData: false, twoPhase: true })
  })
  afterAll(() => publisher.unsubscribe(name))

  async function insertTenant(on: postgres.ISql, parent: number | null): Promise<number> {
    id += 1
    await on`insert into tenant (id, name, parent_id) values (${id}, ${mark()}, ${parent})`
    return id
  }

  type Step = (on: postgres.ISql, top: number, below: number) => Promise<unknown>

  const insertBelow: Step = (on, top) => insertTenant(on, top)
  const moveTop: Step = (on, top) => on`update tenant set parent_id = ${knownIds.root} where id = ${top}`
  const changeBelow: Step = (on, _, below) => on`update tenant set name = ${mark()} where id = ${below}`

  test.each<[string, Step, Step]>([
    ['one is inserted below another, which then moves', insertBelow, moveTop],
    ['one is moved, and another is then inserted below it', moveTop, insertBelow],
    ['one is moved, and another below it is then changed', moveTop, changeBelow],
  ])('%s', async (_, prepared, meanwhile) => {
    const top = await insertTenant(platform, null)
    const below = await insertTenant(platform, top)
    await publisher.caughtUp()
    await platform.begin(async on => {
      await prepared(on, top, below)
      await on.prepare('subscribed')
    })
    await publisher.caughtUp()
    await pages()
    await meanwhile(platform, top, below)
    await publisher.caughtUp()
    await pages()
    await platform`commit prepared 'subscribed'`
    await applied()
  })
})

test('the figures agree with the records in the end', async () => {
  await followed(database.pool)
  expect(await checkFigures(database.pool)).toEqual({ asOf: expect.any(String), differences: [] })
  expect(await sql`select from gateway.withdrawal_entry limit 1`).toHaveLength(1)
})
