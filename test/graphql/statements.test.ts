import { expect, it } from 'vitest'
import { followed } from '../support/followed.ts'
import { startService } from '../support/service.ts'
import { capture, countCalls, namesOf, unlessKept } from './statements.ts'

const { build, client, database } = await startService()
const tenantId = await build.tenant()
const { secret } = await build.token([tenantId])
const products: number[] = []
for (let made = 0; made < 50; made++) products.push(await build.product(tenantId))
for (const product of products) {
  await build.variant(product, { price: 10, sort_order: 2 })
  await build.variant(product, { price: 5, sale_price: 4, sort_order: 1 })
}
await build.category(tenantId, products)
await build.category(tenantId, products.slice(10))
await followed(database.pool)

/** Returns the names of the statements of a query, which must have no errors. */
const namesFor = async (query: string) => namesOf(await capture(database.pool, () => client.read(secret, query)))

const statementsOf = (selection: string) => namesFor(`{ tenant(id: ${tenantId}) { ${selection} } }`)

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
  expect(await namesFor(query)).toEqual([
    'follower.read',
    'voucher.search_count',
    'voucher.search_range',
    'voucher.search_sizes',
    'voucher.search_sizes',
  ])
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
  expect(await namesFor(`{ tenants { nodes { ${list} } } }`)).toEqual([
    'removal.list',
    'sync_state.read',
    'tenant.list',
  ])
  expect(await statementsOf(`a: ${list} b: ${list} c: ${list}`)).toEqual(['removal.list_of_tenants', 'sync_state.read'])
})

it('counts tenants only when totalCount is selected', async () => {
  expect(await namesFor('{ tenants { nodes { name } } }')).toEqual(['tenant.list'])
  expect(await namesFor('{ tenants { totalCount } }')).toEqual(['tenant.count', 'tenant.list'])
})

it('reads the tenants of several fields in one statement', async () => {
  const fields = `a: tenant(id: ${tenantId}) { name } b: tenant(id: ${tenantId}) { type }`
  expect(await namesFor(`{ ${fields} viewer { tenants { tenant { name } } } }`)).toEqual(['tenant.find_many'])
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
