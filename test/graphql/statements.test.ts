import { expect, it } from 'vitest'
import { startService } from '../support/service.ts'
import { capture, namesOf } from './statements.ts'

const { build, client, pool } = await startService()
const tenantId = await build.tenant()
const below = await build.tenant({ parent_id: tenantId })
const { secret } = await build.token([tenantId, below])
const products: number[] = []
for (let made = 0; made < 50; made++) products.push(await build.product(tenantId))
for (const product of products) {
  await build.variant(product, { price: 10, sort_order: 2 })
  await build.variant(product, { price: 5, sale_price: 4, sort_order: 1 })
}
await build.category(tenantId, products)
await build.customer(tenantId)
await build.category(tenantId, products.slice(10))
for (const product_id of [...products.slice(0, 10), await build.product(below)]) {
  await build.voucher(tenantId, { product_id })
}

const all = `databaseId title fromPrice fromSalePrice categories { id title } variants { id price }`
const allStatements = ['category.of_products', 'product.list', 'variant.of_products']
const ofTenant = (selection: string) => `{ tenant(id: ${tenantId}) { ${selection} } }`
const ofPage = (selection: string) => ofTenant(`catalogVouchers { ${selection} }`)
const ofVouchers = (selection: string) => ofTenant(`purchasedVouchers(first: 100) { nodes { ${selection} } }`)
const ofProduct = 'product { title fromPrice categories { title } tenant { parent { name } } }'
const children = `children(first: 2) { totalCount nodes { name parent { name } } } last: children(last: 1) { nodes { name } }`
const half = `catalogVouchers(first: 25) { nodes { ${all} } }`
const voided = 'purchasedVouchers(filter: { status: [VOID] }) { a: count { count } b: count { count } ...more }'
const removals = 'removals(first: 1, updatedSince: "2026-01-01T00:00:00Z") { epoch removalsCompleteSince }'

it.each<[string, string, string[]]>([
  ['a page of 50 products with a title', ofPage('nodes { title }'), ['product.list']],
  ['prices', ofPage('nodes { fromPrice fromSalePrice }'), ['product.list', 'variant.of_products']],
  ['all of a product, as nodes and edges', ofPage(`nodes { ${all} } edges { cursor node { ${all} } }`), allStatements],
  [
    'the children of two lists of products',
    ofTenant(`a: ${half} b: ${half}`),
    ['category.of_products', 'product.list_of_tenants', 'variant.of_products'],
  ],
  ['a tenant of vouchers by its id', ofVouchers('reference tenant { id databaseId }'), ['voucher.list']],
  [
    'what the products of vouchers show',
    ofVouchers(ofProduct),
    ['category.of_products', 'product.find_by_ids', 'tenant.find_many', 'variant.of_products', 'voucher.list'],
  ],
  [
    'the children of tenants, one statement for each end',
    `{ tenants { nodes { ${children} } } }`,
    ['tenant.children', 'tenant.children', 'tenant.count_children', 'tenant.find_many', 'tenant.list'],
  ],
  [
    'a count of a filtered list, however often it is selected',
    `query ${ofTenant(voided)} fragment more on PurchasedVoucherConnection { c: count { count } }`,
    ['voucher.search_count', 'voucher.search_range', 'voucher.search_sizes', 'voucher.search_sizes'],
  ],
  ['vouchers with a count', ofTenant('purchasedVouchers { totalCount }'), ['voucher.count', 'voucher.list']],
  ['signups', ofTenant('marketingSignups { totalCount }'), ['customer.count', 'customer.list', 'export.record']],
  ['tenants without a count', '{ tenants { nodes { name } pageInfo { hasNextPage } } }', ['tenant.list']],
  [
    'the sync state of several lists',
    ofTenant(`a: ${removals} b: ${removals} c: ${removals}`),
    ['removal.list_of_tenants', 'sync_state.read'],
  ],
  [
    'the tenants of several fields',
    `{ a: tenant(id: ${tenantId}) { name } b: tenant(id: ${tenantId}) { type } viewer { tenants { tenant { name } } } }`,
    ['tenant.find_many'],
  ],
])('reads in the fewest statements: %s', async (_, query, names) => {
  expect(namesOf(await capture(pool, () => client.read(secret, query)))).toEqual(names)
})
