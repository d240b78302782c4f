import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { ISql } from '#postgres'
import { connect } from '../../src/db/connect.ts'
import { untilLockWaits } from '../support/locks.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const { build, client, database } = await startService()
const { platform, loader } = database
const tenant = await build.tenant()
const other = await build.tenant()
const { secret } = await build.token([tenant, other])

/** A second writer, whose transaction runs beside the first one. */
const second = connect(database.address, { max: 1, statementTimeoutMs: 20_000 })
afterAll(() => second.end({ timeout: 1 }))

const refused = {
  code: '23514',
  message: expect.stringMatching(/^product \d+ of tenant \d+ cannot be in category \d+ of tenant \d+$/),
}
const stale = { code: '40001' }

let product: number
let own: number
let foreign: number

beforeEach(async () => {
  product = await build.product(tenant)
  own = await build.category(tenant, [], { title: 'Own' })
  foreign = await build.category(other, [], { title: 'Foreign' })
})

/** Returns the titles of a product's categories, which its record and the list agree on, over both transports. */
async function titlesOf(id: number, at = tenant): Promise<string[]> {
  const path = `/tenants/${at}/catalog/vouchers`
  const one = await client.rest(secret, `${path}/${id}`)
  const readListed = async () => {
    const { body } = await client.rest(secret, `${path}?include=categories`)
    return body.data.find((record: { id: number }) => record.id === id)
  }
  // While the service stamps queued records, the list ends before the product.
  const listed = await until('the list has the product', readListed)
  const { tenant } = await client.read(
    secret,
    `{ tenant(id: ${at}) { catalogVoucher(id: ${id}) { categories { title } } } }`,
  )
  const [titles, ...others] = [
    one.body.data.category_refs,
    listed.category_refs,
    listed.categories,
    tenant.catalogVoucher.categories,
  ].map(categories => categories.map(({ title }: { title: string }) => title))
  for (const other of others) expect(other).toEqual(titles)
  return titles
}

type Table = 'product' | 'category'
const link = (sql: ISql, category: number) =>
  sql`insert into product_category (product_id, category_id) values (${product}, ${category})`
const move = (sql: ISql, table: Table) =>
  sql`update ${sql(table)} set tenant_id = ${other} where id = ${table === 'product' ? product : own}`

describe('PostgreSQL rejects a link to a category of another tenant', () => {
  const toForeign = () => platform`update product_category set category_id = ${foreign} where product_id = ${product}`
  const elsewhere = async () => {
    const theirs = await build.product(other)
    await platform`update product_category set product_id = ${theirs} where product_id = ${product}`
  }
  const several = () => platform`
    insert into product_category select ${product}::bigint, id from category where id in (${own}, ${foreign})`
  const unlessThere = () => platform`
    insert into product_category values (${product}, ${foreign}) on conflict do nothing`
  const withProduct = () => platform`
    with made as (
      insert into product (tenant_id, slug, title, currency) values (${tenant}, 's', 't', 'GBP') returning id
    ) insert into product_category select id, ${foreign} from made`

  it.each<[string, () => Promise<unknown>, isLinked?: 'linked']>([
    ['when it is inserted', () => link(platform, foreign)],
    ['when a loader that keeps its stamps inserts it', () => link(loader, foreign)],
    ['when it is one of several links', several],
    ['when an insert ignores conflicts', unlessThere],
    ['when its product is inserted in the same statement', withProduct],
    ['when a link is changed to such a category', toForeign, 'linked'],
    ['when a link is changed to a product of another tenant', elsewhere, 'linked'],
    ['when its product moves', () => move(platform, 'product'), 'linked'],
    ['when its category moves', () => move(platform, 'category'), 'linked'],
    ['when a loader moves its category', () => move(loader, 'category'), 'linked'],
  ])('%s', async (_when, write, isLinked) => {
    if (isLinked) await link(platform, own)
    await expect(write()).rejects.toMatchObject(refused)
    expect(await titlesOf(product)).not.toContain('Foreign')
  })
})

describe('PostgreSQL allows', () => {
  it('moving a product or a category that has no links', async () => {
    await move(platform, 'product')
    await move(platform, 'category')
    await link(platform, own)
    expect(await titlesOf(product, other)).toEqual(['Own'])
  })

  it.each([
    [['category', 'product']],
    [['product', 'category']],
  ] as const)('moving a product and its category in one transaction, in the order %j', async tables => {
    await link(platform, own)
    await platform.begin(async sql => {
      for (const table of tables) await move(sql, table)
    })
    expect(await titlesOf(product, other)).toEqual(['Own'])
  })

  it('moving a product and deleting its link in one transaction', async () => {
    await link(platform, own)
    await platform.begin(async sql => {
      await move(sql, 'product')
      await sql`delete from product_category where product_id = ${product}`
    })
    expect(await titlesOf(product, other)).toEqual([])
  })

  it('inserts by a role that has no other right', async () => {
    await platform.unsafe('create role linker; grant insert on product_category to linker')
    const linkAs = (category: number) =>
      platform.begin(async sql => {
        await sql`set local role linker`
        await link(sql, category)
      })
    try {
      await linkAs(own)
      await expect(linkAs(foreign)).rejects.toMatchObject(refused)
    } finally {
      await platform.unsafe('drop owned by linker; drop role linker')
    }
  })
})

describe('two concurrent transactions', () => {
  /** Runs the second while the first is open, and commits the first when the second waits for it. */
  async function race(first: Write, then: Write): Promise<PromiseSettledResult<unknown>[]> {
    let waiting: Promise<unknown> = Promise.resolve()
    const opened = platform.begin(`isolation level ${first.isolation}`, async sql => {
      await first.write(sql)
      waiting = second.begin(`isolation level ${then.isolation}`, async other => {
        // The snapshot is taken before the first one commits.
        await other`select from category limit 1`
        await then.write(other)
      })
      waiting.catch(() => {})
      await untilLockWaits(loader)
    })
    return Promise.allSettled([opened, opened.then(() => waiting)])
  }

  interface Write {
    isolation: string
    write: (sql: ISql) => PromiseLike<unknown>
  }

  const linking = (isolation: string): Write => ({ isolation, write: sql => link(sql, own) })
  const moving = (table: Table, isolation: string): Write => ({ isolation, write: sql => move(sql, table) })
  const committed = 'read committed'
  const repeatable = 'repeatable read'

  it.each([
    ['product', committed, refused],
    ['category', committed, refused],
    ['product', repeatable, { code: '25001' }],
    ['category', repeatable, { code: '25001' }],
  ] as const)('moving a %s under %s waits for a link to commit, and is rejected', async (table, isolation, reason) => {
    const [linked, moved] = await race(linking(committed), moving(table, isolation))
    expect(linked).toMatchObject({ status: 'fulfilled' })
    // A link stamps its product: an older snapshot is refused first.
    const wanted = table === 'product' && isolation === repeatable ? stale : reason
    expect(moved).toMatchObject({ status: 'rejected', reason: wanted })
    expect(await titlesOf(product)).toEqual(['Own'])
  })

  it.each([
    ['product', committed, refused],
    ['category', committed, refused],
    ['product', repeatable, stale],
    ['category', repeatable, stale],
  ] as const)('a link waits for a %s that is moved, and is rejected under %s', async (table, isolation, reason) => {
    const [moved, linked] = await race(moving(table, committed), linking(isolation))
    expect(moved).toMatchObject({ status: 'fulfilled' })
    expect(linked).toMatchObject({ status: 'rejected', reason })
  })
})

describe('an applier of logical replication', () => {
  /** Applies a change, and waits until the service has stamped its products: while it does, a page can lack them. */
  const apply = async (write: (sql: ISql) => PromiseLike<unknown>) => {
    await platform.begin(async sql => {
      await sql`set local session_replication_role = replica`
      await write(sql)
    })
    await expect.poll(() => platform`select from gateway.stamp_queue`).toHaveLength(0)
  }

  it('can insert a link to a category of another tenant, which no page shows', async () => {
    await link(platform, own)
    await apply(sql => link(sql, foreign))
    expect(await titlesOf(product)).toEqual(['Own'])
  })

  it.each(['product', 'category'] as const)('can move a %s, and pages no longer show its links', async table => {
    await link(platform, own)
    await apply(sql => move(sql, table))
    expect(await titlesOf(product, table === 'product' ? other : tenant)).toEqual([])
  })
})
