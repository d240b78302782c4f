import { beforeAll, describe, expect, it } from 'vitest'
import { arrayText } from '../../src/db/connect.ts'
import type { TenantGrant } from '../../src/domain/token/token.ts'
import { type Client, createApp } from '../support/app.ts'
import { type Builders, createBuilders } from '../support/builders.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { followed } from '../support/followed.ts'
import { capture, namesOf } from './statements.ts'

let database: TestDatabase
let build: Builders
let client: Client
/** A tree: the group has two regions, each of which has a venue. */
let group = 0
let north = 0
let south = 0
let inn = 0
let spa = 0
/** A tenant of another tree. */
let foreign = 0
const products = new Map<number, number>()

beforeAll(async () => {
  database = await createDatabase()
  client = await createApp(database)
  build = createBuilders(database)
  group = await build.tenant({ name: 'Group' })
  north = await build.tenant({ name: 'north', parent_id: group })
  south = await build.tenant({ name: 'South', parent_id: group })
  inn = await build.tenant({ name: 'Inn', parent_id: north })
  spa = await build.tenant({ name: 'Spa', parent_id: north })
  foreign = await build.tenant({ name: 'Foreign' })
  for (const tenant of [group, north, south, inn, spa, foreign]) {
    products.set(tenant, await build.product(tenant, { title: `Tea of ${tenant}` }))
  }
})

const whole = (tenantId: number): TenantGrant => ({ tenantId, withDescendants: true })
const secretOf = async (...tenants: (number | TenantGrant)[]) => (await build.token(tenants)).secret
const productOf = (tenant: number) => products.get(tenant)!

/** Sends a query that must have no errors. */
async function read(secret: string, query: string, variables: Record<string, unknown> = {}) {
  const { body } = await client.graphql(secret, query, variables)
  expect(body.errors).toBeUndefined()
  return body.data
}

/** Fetches a field of a voucher by both of its ways: its tenant's list, and its global id, which graphql-js runs. */
async function voucherField(secret: string, tenant: number, id: number, selection: string) {
  const global = Buffer.from(`PurchasedVoucher:${tenant}.${id}`).toString('base64url')
  const data = await read(
    secret,
    `query ($tenant: ID!, $id: ID!, $global: ID!) {
      tenant(id: $tenant) { purchasedVoucher(id: $id) { ${selection} } }
      node(id: $global) { ... on PurchasedVoucher { ${selection} } }
    }`,
    { tenant: String(tenant), id: String(id), global },
  )
  const { purchasedVoucher: voucher } = (
    await read(secret, `{ tenant(id: ${tenant}) { purchasedVoucher(id: ${id}) { ${selection} } } }`)
  ).tenant
  expect(data.node).toEqual(voucher)
  expect(data.tenant.purchasedVoucher).toEqual(voucher)
  return voucher
}

describe('the tenant of a record', () => {
  it('is that of a voucher, of a product and of a signup', async () => {
    const secret = await secretOf(inn)
    await build.voucher(inn)
    await build.customer(inn)
    const link = 'nodes { tenant { id databaseId name timeZone } }'
    const { tenant } = await read(
      secret,
      `{ tenant(id: ${inn}) { id databaseId name timeZone
           catalogVouchers { ${link} } purchasedVouchers { ${link} } marketingSignups { ${link} } } }`,
    )
    const { catalogVouchers, purchasedVouchers, marketingSignups, ...own } = tenant
    for (const list of [catalogVouchers, purchasedVouchers, marketingSignups]) {
      expect(list.nodes.length).toBeGreaterThan(0)
      for (const node of list.nodes) expect(node.tenant).toEqual(own)
    }
  })
})

describe('the product of a voucher', () => {
  const product = 'product { databaseId title tenant { name } }'

  it('is the product that was sold, or that of the variant', async () => {
    const secret = await secretOf(inn)
    const id = productOf(inn)
    const variant = await build.variant(id)
    const expected = { product: { databaseId: id, title: `Tea of ${inn}`, tenant: { name: 'Inn' } } }
    const plain = await build.voucher(inn, { product_id: id, product_title: 'Tea as it was' })
    expect(await voucherField(secret, inn, plain, product)).toEqual(expected)
    const ofVariant = await build.voucher(inn, { product_id: variant, parent_product_id: id })
    expect(await voucherField(secret, inn, ofVariant, product)).toEqual(expected)
  })

  it('is null when the voucher names none, or it is gone', async () => {
    const secret = await secretOf(inn)
    const gone = await build.product(inn)
    const unnamed = await build.voucher(inn)
    const orphan = await build.voucher(inn, { product_id: gone, product_title: 'Tea' })
    const selection = 'productTitle product { title }'
    expect(await voucherField(secret, inn, orphan, selection)).toMatchObject({ product: { title: /Product/ } })
    await database.platform`delete from product where id = ${gone}`
    expect(await voucherField(secret, inn, orphan, selection)).toEqual({ productTitle: 'Tea', product: null })
    expect(await voucherField(secret, inn, unnamed, selection)).toEqual({ productTitle: null, product: null })
  })

  it('is shown of another tenant only when a grant includes that tenant', async () => {
    const vouchers = new Map<number, number>()
    for (const owner of [group, north, south, spa, foreign]) {
      vouchers.set(owner, await build.voucher(inn, { product_id: productOf(owner) }))
    }
    const shown = async (...grants: (number | TenantGrant)[]) => {
      const secret = await secretOf(...grants)
      const owners: number[] = []
      for (const [owner, voucher] of vouchers) {
        const found = (await voucherField(secret, inn, voucher, product)).product
        if (found === null) continue
        expect(found.databaseId).toBe(productOf(owner))
        owners.push(owner)
      }
      return owners
    }
    expect(await shown(inn)).toEqual([])
    expect(await shown(whole(inn))).toEqual([])
    expect(await shown(inn, group)).toEqual([group])
    expect(await shown(whole(north))).toEqual([north, spa])
    expect(await shown(whole(group))).toEqual([group, north, south, spa])
    expect(await shown(whole(north), foreign)).toEqual([north, spa, foreign])
  })

  it('follows the tree as it changes', async () => {
    const region = await build.tenant({ parent_id: group })
    const theirs = await build.product(region)
    const voucher = await build.voucher(inn, { product_id: theirs })
    const secret = await secretOf(whole(group))
    expect(await voucherField(secret, inn, voucher, 'product { databaseId }')).toEqual({
      product: { databaseId: theirs },
    })
    await database.platform`update tenant set parent_id = ${foreign} where id = ${region}`
    await expect.poll(() => voucherField(secret, inn, voucher, 'product { databaseId }')).toEqual({ product: null })
  })

  it('has its categories once, when several vouchers of a page have the same product', async () => {
    const tenant = await build.tenant()
    const sold = await build.product(tenant)
    await build.variant(sold)
    await build.category(tenant, [sold], { title: 'Drinks' })
    for (let made = 0; made < 3; made++) await build.voucher(tenant, { product_id: sold })
    const data = await read(
      await secretOf(tenant),
      `{ tenant(id: ${tenant}) {
           purchasedVouchers { nodes { product { categories { title } variants { databaseId } fromPrice } } } } }`,
    )
    for (const { product } of data.tenant.purchasedVouchers.nodes) {
      expect(product).toMatchObject({ categories: [{ title: 'Drinks' }], variants: [{}] })
    }
  })
})

interface Page {
  count: { count: number; precision: string }
  nextCursor: string | null
  nodes: { reference: string }[]
}

describe('the vouchers of a product', () => {
  const list = (args: string) => `purchasedVouchers${args} { count { count precision } nextCursor nodes { reference } }`
  let [chain, shop, corner] = [0, 0, 0]
  let sold = 0

  beforeAll(async () => {
    chain = await build.tenant()
    shop = await build.tenant({ parent_id: chain })
    corner = await build.tenant({ parent_id: chain })
    sold = await build.product(chain)
    const other = await build.product(chain)
    const variant = await build.variant(sold)
    const make = (tenant: number, reference: string, columns: Parameters<typeof build.voucher>[1]) =>
      build.voucher(tenant, { reference, currency: 'GBP', current_balance: 10, initial_balance: 10, ...columns })
    await make(chain, 'CHAIN-1', { product_id: sold })
    await make(chain, 'CHAIN-2', { product_id: variant, parent_product_id: sold })
    await make(chain, 'CHAIN-3', { product_id: sold, void: true })
    await make(chain, 'OTHER-1', { product_id: other })
    await make(shop, 'SHOP-1', { product_id: sold })
    await make(corner, 'CORNER-1', { product_id: sold })
    await followed(database.pool)
  })

  async function referencesOf(secret: string, args = '') {
    const query = `{ tenant(id: ${chain}) { catalogVoucher(id: ${sold}) { ${list(args)} } } }`
    const { count, nodes } = (await read(secret, query)).tenant.catalogVoucher.purchasedVouchers
    expect(count).toEqual({ count: nodes.length, precision: 'EXACT' })
    return nodes.map(({ reference }: { reference: string }) => reference).sort()
  }

  it('are those that its tenant sold, also of a variant', async () => {
    const secret = await secretOf(whole(chain))
    expect(await referencesOf(secret)).toEqual(['CHAIN-1', 'CHAIN-2', 'CHAIN-3'])
    expect(await referencesOf(secret, '(filter: { status: [VOID] })')).toEqual(['CHAIN-3'])
    expect(await referencesOf(secret, '(filter: { productId: 1 })')).toEqual(['CHAIN-1', 'CHAIN-2', 'CHAIN-3'])
  })

  it('are also those of the tenants below that a grant includes', async () => {
    const all = '(withDescendants: true)'
    expect(await referencesOf(await secretOf(chain), all)).toEqual(['CHAIN-1', 'CHAIN-2', 'CHAIN-3'])
    expect(await referencesOf(await secretOf(chain, shop), all)).toEqual(['CHAIN-1', 'CHAIN-2', 'CHAIN-3', 'SHOP-1'])
    expect(await referencesOf(await secretOf(whole(chain)), all)).toHaveLength(5)
  })

  it('are paged as other lists', async () => {
    const secret = await secretOf(chain)
    const found: string[] = []
    for (let after: string | null = ''; after !== null; ) {
      const args = `(first: 1, after: ${JSON.stringify(after)}, orderBy: { field: UPDATED_AT, direction: DESC })`
      const query = `{ tenant(id: ${chain}) { catalogVoucher(id: ${sold}) { ${list(args)} } } }`
      const page: Page = (await read(secret, query)).tenant.catalogVoucher.purchasedVouchers
      expect(page.count.count).toBe(3)
      found.push(...page.nodes.map(({ reference }) => reference))
      after = page.nextCursor
    }
    expect(found).toEqual(['CHAIN-3', 'CHAIN-2', 'CHAIN-1'])
  })

  it('need the permissions of purchased vouchers, and count as a filtered list', async () => {
    const query = `{ tenant(id: ${chain}) { catalogVoucher(id: ${sold}) { title ${list('')} } } }`
    const catalog = await build.token([chain], { permissions: ['view_vouchers'] })
    const { body } = await client.graphql(catalog.secret, query)
    expect(body.data.tenant.catalogVoucher).toEqual({ title: expect.any(String), purchasedVouchers: null })
    expect(body.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' }, message: /view_orders/ }])

    const secret = await secretOf(chain)
    const remaining = async (text: string) =>
      Number((await client.graphql(secret, text)).headers['ratelimit-remaining'])
    const filtered = `{ tenant(id: ${chain}) { ${list(`(filter: { productId: ${sold} })`)} } }`
    const before = await remaining('{ viewer { name } }')
    const between = await remaining(filtered)
    expect(between - (await remaining(query))).toBe(before - between + 1)
  })
})

describe('the parent of a tenant', () => {
  const parents = (secret: string) =>
    read(secret, '{ tenants { nodes { databaseId parentId parent { databaseId name } } } }')

  it('is null when the token does not include it, and then its name is nowhere in the answer', async () => {
    const secret = await secretOf(whole(north), foreign)
    const data = await parents(secret)
    const byId = new Map(data.tenants.nodes.map((node: { databaseId: number }) => [node.databaseId, node]))
    expect(byId.get(north)).toEqual({ databaseId: north, parentId: group, parent: null })
    expect(byId.get(foreign)).toEqual({ databaseId: foreign, parentId: null, parent: null })
    for (const venue of [inn, spa]) {
      expect(byId.get(venue)).toEqual({
        databaseId: venue,
        parentId: north,
        parent: { databaseId: north, name: 'north' },
      })
    }
    expect(JSON.stringify(data)).not.toContain('Group')
  })

  it('is that of its row, up to the root', async () => {
    const secret = await secretOf(whole(group))
    const up = 'name parent { name parent { name parent { name } } }'
    expect(await read(secret, `{ tenant(id: ${inn}) { ${up} } }`)).toEqual({
      tenant: { name: 'Inn', parent: { name: 'north', parent: { name: 'Group', parent: null } } },
    })
    const partly = await secretOf(inn, group)
    expect(await read(partly, `{ tenant(id: ${inn}) { ${up} } }`)).toEqual({ tenant: { name: 'Inn', parent: null } })
  })
})

describe('the children of a tenant', () => {
  const children = async (secret: string, tenant: number, args = '') =>
    (
      await read(
        secret,
        `{ tenant(id: ${tenant}) { children${args} {
             totalCount nextCursor pageInfo { hasNextPage hasPreviousPage startCursor } nodes { name } } } }`,
      )
    ).tenant.children
  const namesOfNodes = ({ nodes }: { nodes: { name: string }[] }) => nodes.map(({ name }) => name)

  it('are those directly below it, by name in any case', async () => {
    const found = await children(await secretOf(whole(group)), group)
    expect(namesOfNodes(found).slice(0, 2)).toEqual(['north', 'South'])
    expect(found.totalCount).toBe(found.nodes.length)
    expect(namesOfNodes(await children(await secretOf(whole(group)), inn))).toEqual([])
  })

  it('are those that a grant includes', async () => {
    const shown = async (...grants: (number | TenantGrant)[]) => {
      const found = await children(await secretOf(...grants), north)
      expect(found.totalCount).toBe(found.nodes.length)
      return namesOfNodes(found)
    }
    expect(await shown(north)).toEqual([])
    expect(await shown(north, whole(group))).toEqual(['Inn', 'Spa'])
    expect(await shown(north, spa)).toEqual(['Spa'])
    expect(await shown(north, whole(spa), foreign)).toEqual(['Spa'])
    expect(await shown(whole(north))).toEqual(['Inn', 'Spa'])
  })

  it('are paged from both ends, with names that are equal in any case', async () => {
    const parent = await build.tenant()
    for (const name of ['b', 'A', 'B', 'a', 'c', 'b', 'Z']) await build.tenant({ name, parent_id: parent })
    const secret = await secretOf(whole(parent))
    const order = ['A', 'a', 'b', 'B', 'b', 'c', 'Z']
    expect(namesOfNodes(await children(secret, parent))).toEqual(order)
    const forward: string[] = []
    for (let after: string | null = ''; after !== null; ) {
      const page = await children(secret, parent, `(first: 2, after: ${JSON.stringify(after)})`)
      expect(page.totalCount).toBe(7)
      expect(page.pageInfo.hasPreviousPage).toBe(after !== '')
      forward.push(...namesOfNodes(page))
      after = page.nextCursor
    }
    expect(forward).toEqual(order)
    const last = await children(secret, parent, '(last: 3)')
    expect(namesOfNodes(last)).toEqual(['b', 'c', 'Z'])
    const before = JSON.stringify(last.pageInfo.startCursor)
    expect(namesOfNodes(await children(secret, parent, `(last: 2, before: ${before})`))).toEqual(['b', 'B'])
    expect(namesOfNodes(await children(secret, parent, `(first: 2, before: ${before})`))).toEqual(['A', 'a'])
  })

  it('reject the cursors of other lists', async () => {
    const secret = await secretOf(whole(group))
    const { pageInfo } = await children(secret, north)
    const { tenants } = await read(secret, '{ tenants(first: 1) { pageInfo { endCursor } } }')
    const codeOf = async (tenant: number, cursor: string) => {
      const query = `{ tenant(id: ${tenant}) { children(after: ${JSON.stringify(cursor)}) { totalCount } } }`
      return (await client.graphql(secret, query)).body.errors?.[0].extensions.code
    }
    expect(await codeOf(north, pageInfo.startCursor)).toBeUndefined()
    expect(await codeOf(group, pageInfo.startCursor)).toBe('BAD_USER_INPUT')
    expect(await codeOf(north, tenants.pageInfo.endCursor)).toBe('BAD_USER_INPUT')
  })

  it('are read for all tenants of a list in one statement for each end, and each list is one operation', async () => {
    const secret = await secretOf(whole(group))
    const query = `{ tenants { nodes {
      children(first: 2) { totalCount nodes { name parent { name } } } last: children(last: 1) { nodes { name } } } } }`
    const statements = await capture(database.pool, () => read(secret, query))
    expect(namesOf(statements)).toEqual([
      'tenant.children',
      'tenant.children',
      'tenant.count_children',
      'tenant.find_many',
      'tenant.list',
    ])
    const remaining = async (text: string) =>
      Number((await client.graphql(secret, text)).headers['ratelimit-remaining'])
    const count = (await read(secret, '{ tenants { nodes { name } } }')).tenants.nodes.length
    const before = await remaining('{ viewer { name } }')
    expect(before - (await remaining('{ tenants { nodes { name children { nodes { name } } } } }'))).toBe(1 + count)
    const linked = `{ tenant(id: ${inn}) { purchasedVouchers { nodes { tenant { parent { name } } product { title } } } } }`
    const after = await remaining('{ viewer { name } }')
    expect(after - (await remaining(linked))).toBe(1)
  })
})

describe('the statements of a page of 100 vouchers', () => {
  it('are one for all tenants, and one for all products', async () => {
    const tenant = await build.tenant()
    const sold: number[] = []
    for (let made = 0; made < 10; made++) sold.push(await build.product(made % 2 === 0 ? tenant : north))
    await database.loader`
      insert into purchased_voucher (tenant_id, reference, product_id)
      select ${tenant}, 'BATCH-' || n, (${arrayText(sold)}::text::bigint[])[1 + n % 10] from generate_series(1, 100) n`
    const secret = await secretOf(tenant, whole(north))
    const statementsOf = async (selection: string) =>
      namesOf(
        await capture(database.pool, () =>
          read(secret, `{ tenant(id: ${tenant}) { purchasedVouchers(first: 100) { nodes { ${selection} } } } }`),
        ),
      )
    expect(await statementsOf('reference tenant { id databaseId }')).toEqual(['voucher.list'])
    expect(await statementsOf('tenant { name timeZone type }')).toEqual(['tenant.find_many', 'voucher.list'])
    expect(await statementsOf('tenant { name } product { title }')).toEqual([
      'product.find_by_ids',
      'tenant.find_many',
      'voucher.list',
    ])
    expect(await statementsOf('product { title fromPrice categories { title } tenant { parent { name } } }')).toEqual(
      ['category.of_products', 'product.find_by_ids', 'tenant.find_many', 'voucher.list', 'variant.of_products'].sort(),
    )
  })
})
