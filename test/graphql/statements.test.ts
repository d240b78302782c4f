import { beforeAll, expect, it } from 'vitest'
import { type Client, createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { capture, countCalls, namesOf, unlessKept } from './statements.ts'

let database: TestDatabase
let client: Client
let secret: string
let tenantId: number

beforeAll(async () => {
  database = await createDatabase()
  client = await createApp(database)
  const build = createBuilders(database)
  tenantId = await build.tenant()
  secret = (await build.token([tenantId])).secret
  const products: number[] = []
  for (let made = 0; made < 50; made++) products.push(await build.product(tenantId))
  for (const product of products) {
    await build.variant(product, { price: 10, sort_order: 2 })
    await build.variant(product, { price: 5, sale_price: 4, sort_order: 1 })
  }
  await build.category(tenantId, products)
  await build.category(tenantId, products.slice(10))
})

async function statementsOf(selection: string): Promise<string[]> {
  const statements = await capture(database.pool, async () => {
    const { body } = await client.graphql(secret, `{ tenant(id: ${tenantId}) { ${selection} } }`)
    expect(body.errors).toBeUndefined()
  })
  return namesOf(statements)
}

const all = `databaseId title fromPrice fromSalePrice categories { id title } variants { id price }`

it.each([
  ['a title', 'nodes { title }', ['product.list']],
  ['a price', 'nodes { fromPrice fromSalePrice }', ['product.list', 'variant.of_products']],
  ['categories', 'nodes { categories { title } }', ['category.of_products', 'product.list']],
  ['all', `nodes { ${all} }`, ['category.of_products', 'product.list', 'variant.of_products']],
  [
    'all, as nodes and as edges',
    `nodes { ${all} } edges { cursor node { ${all} } } pageInfo { endCursor hasNextPage } nextCursor serverTime`,
    ['category.of_products', 'product.list', 'variant.of_products'],
  ],
])('reads a page of 50 products with %s in the fewest statements', async (_, selection, names) => {
  expect(await statementsOf(`catalogVouchers { ${selection} }`)).toEqual(names)
})

it('counts a filtered list once, however often the count is selected', async () => {
  const list = 'purchasedVouchers(filter: { status: [VOID] }) { a: count { count } b: count { count } ...more }'
  const query = `query { tenant(id: ${tenantId}) { ${list} } } fragment more on PurchasedVoucherConnection { c: count { count } }`
  const statements = await capture(database.pool, async () => {
    const { body } = await client.graphql(secret, query)
    expect(body.data.tenant.purchasedVouchers).toEqual({ a: { count: 0 }, b: { count: 0 }, c: { count: 0 } })
  })
  expect(namesOf(statements)).toEqual(['follower.read', 'voucher.search', 'voucher.search_count'])
})

it('reads the children of two lists of products in one statement', async () => {
  const list = `catalogVouchers(first: 25) { nodes { ${all} } }`
  expect(await statementsOf(`a: ${list} b: ${list}`)).toEqual([
    'category.of_products',
    'product.list_of_tenants',
    'variant.of_products',
  ])
})

it.each([
  ['catalogVouchers', 'product'],
  ['purchasedVouchers', 'voucher'],
  ['marketingSignups', 'signup'],
])('counts %s only when totalCount is selected', async (field, noun) => {
  expect(await statementsOf(`${field} { nodes { databaseId } pageInfo { hasNextPage } }`)).toEqual([`${noun}.list`])
  expect(await statementsOf(`${field} { totalCount }`)).toEqual([`${noun}.count`, `${noun}.list`])
})

it('reads the sync state once for the removals of many tenants', async () => {
  const list = 'removals(first: 1, updatedSince: "2026-01-01T00:00:00Z") { epoch removalsCompleteSince }'
  const names = async (text: string) => namesOf(await capture(database.pool, () => client.graphql(secret, text)))
  expect(await names(`{ tenants { nodes { ${list} } } }`)).toEqual(['removal.list', 'sync_state.read', 'tenant.list'])
  expect(await statementsOf(`a: ${list} b: ${list} c: ${list}`)).toEqual(['removal.list_of_tenants', 'sync_state.read'])
})

it('counts tenants only when totalCount is selected', async () => {
  const names = async (selection: string) =>
    namesOf(await capture(database.pool, () => client.graphql(secret, `{ tenants { ${selection} } }`)))
  expect(await names('nodes { name }')).toEqual(['tenant.list'])
  expect(await names('totalCount')).toEqual(['tenant.count', 'tenant.list'])
})

it('reads the tenants of several fields in one statement', async () => {
  const statements = await capture(database.pool, () =>
    client.graphql(
      secret,
      `{ a: tenant(id: ${tenantId}) { name } b: tenant(id: ${tenantId}) { type } viewer { tenants { tenant { name } } } }`,
    ),
  )
  expect(namesOf(statements)).toEqual(['tenant.find_many'])
})

it('runs as many statements as the database counts', async () => {
  const calls = await countCalls(database, () =>
    client.graphql(secret, `{ tenant(id: ${tenantId}) { catalogVouchers { nodes { ${all} } } } }`),
  )
  expect(unlessKept(calls)).toEqual({
    'category.of_products': 1,
    'watermark.read': 1,
    'product.list': 1,
    'variant.of_products': 1,
  })
})
