import { expect, it } from 'vitest'
import type { RecordSql } from '../../src/db/sql.ts'
import type { TenantGrant } from '../../src/domain/token/token.ts'
import { defineChildLoader } from '../../src/graphql/children.ts'
import type { Reader } from '../../src/graphql/loaders.ts'
import { codeOf } from '../support/app.ts'
import { whole } from '../support/builders.ts'
import { globalId, type PageArguments, readPages } from '../support/graphql.ts'
import { startService } from '../support/service.ts'

const { build, client, platform, pool } = await startService()
const { read } = client

// The tree of tenants: a group has two regions, and one region has two venues. Another tenant is outside the tree.
const group = await build.tenant({ name: 'Group' })
const north = await build.tenant({ name: 'north', parent_id: group })
const south = await build.tenant({ name: 'South', parent_id: group })
const inn = await build.tenant({ name: 'Inn', parent_id: north })
const spa = await build.tenant({ name: 'Spa', parent_id: north })
const foreign = await build.tenant({ name: 'Foreign' })
const products = new Map<number, number>()
for (const tenant of [group, north, south, inn, spa, foreign]) {
  products.set(tenant, await build.product(tenant, { title: `Tea of ${tenant}` }))
}

const secretOf = async (...tenants: (number | TenantGrant)[]) => (await build.token(tenants)).secret
const productOf = (tenant: number) => products.get(tenant)!

/** Reads a field of a voucher through its tenant, and by its global id with `node`, which graphql-js runs. */
async function voucherField(secret: string, tenant: number, id: number, selection: string) {
  const alone = await read(secret, `{ tenant(id: ${tenant}) { purchasedVoucher(id: ${id}) { ${selection} } } }`)
  const global = globalId('PurchasedVoucher', tenant, id)
  const { node } = await read(secret, `{ node(id: "${global}") { ... on PurchasedVoucher { ${selection} } } }`)
  expect(node).toEqual(alone.tenant.purchasedVoucher)
  return node
}

it('vouchers, products and signups have a field for their tenant', async () => {
  await build.voucher(inn)
  await build.customer(inn)
  const lists = ['catalogVouchers', 'purchasedVouchers', 'marketingSignups']
  const links = lists.map(list => `${list} { nodes { tenant { databaseId name } } }`)
  const { tenant } = await read(await secretOf(inn), `{ tenant(id: ${inn}) { ${links.join(' ')} } }`)
  for (const list of lists) expect(tenant[list].nodes).toEqual([{ tenant: { databaseId: inn, name: 'Inn' } }])
})

const product = 'product { databaseId title tenant { name } }'

it('the product of a voucher is the product that was sold, or the product of the variant', async () => {
  const secret = await secretOf(inn)
  const id = productOf(inn)
  const variant = await build.variant(id)
  const expected = { product: { databaseId: id, title: `Tea of ${inn}`, tenant: { name: 'Inn' } } }
  const plain = await build.voucher(inn, { product_id: id, product_title: 'Tea as it was' })
  expect(await voucherField(secret, inn, plain, product)).toEqual(expected)
  const ofVariant = await build.voucher(inn, { product_id: variant, parent_product_id: id })
  expect(await voucherField(secret, inn, ofVariant, product)).toEqual(expected)
})

it('the product of a voucher is null when the voucher has no product, or its product is deleted', async () => {
  const secret = await secretOf(inn)
  const gone = await build.product(inn)
  const unnamed = await build.voucher(inn)
  const orphan = await build.voucher(inn, { product_id: gone, product_title: 'Tea' })
  const selection = 'productTitle product { title }'
  expect(await voucherField(secret, inn, orphan, selection)).toMatchObject({
    product: { title: expect.stringContaining('Product') },
  })
  await platform`delete from product where id = ${gone}`
  expect(await voucherField(secret, inn, orphan, selection)).toEqual({ productTitle: 'Tea', product: null })
  expect(await voucherField(secret, inn, unnamed, selection)).toEqual({ productTitle: null, product: null })
})

it('the product of another tenant is shown only when a grant includes that tenant', async () => {
  const vouchers = new Map<number, number>()
  for (const owner of [group, south, spa, foreign]) {
    vouchers.set(owner, await build.voucher(inn, { product_id: productOf(owner) }))
  }
  const shown = async (...grants: (number | TenantGrant)[]) => {
    const secret = await secretOf(...grants)
    const owners: number[] = []
    for (const [owner, voucher] of vouchers) {
      if ((await voucherField(secret, inn, voucher, product)).product) owners.push(owner)
    }
    return owners
  }
  expect(await shown(whole(inn))).toEqual([])
  expect(await shown(inn, group)).toEqual([group])
  expect(await shown(whole(north), foreign)).toEqual([spa, foreign])
  expect(await shown(whole(group))).toEqual([group, south, spa])
})

const chain = await build.tenant()
const [shop, corner] = [await build.tenant({ parent_id: chain }), await build.tenant({ parent_id: chain })]
const sold = await build.product(chain)
await build.voucher(chain, { reference: 'CHAIN-1', product_id: sold })
await build.voucher(chain, { reference: 'CHAIN-2', product_id: await build.variant(sold), parent_product_id: sold })
await build.voucher(chain, { reference: 'CHAIN-3', product_id: sold, void: true })
await build.voucher(chain, { reference: 'OTHER-1', product_id: await build.product(chain) })
await build.voucher(shop, { reference: 'SHOP-1', product_id: sold })
await build.voucher(corner, { reference: 'CORNER-1', product_id: sold })

const ofChain = ['CHAIN-1', 'CHAIN-2', 'CHAIN-3']
async function referencesOf(secret: string, args = '') {
  const list = `purchasedVouchers${args} { count { count precision } nodes { reference } }`
  const { tenant } = await read(secret, `{ tenant(id: ${chain}) { catalogVoucher(id: ${sold}) { ${list} } } }`)
  const { count, nodes } = tenant.catalogVoucher.purchasedVouchers
  expect(count).toEqual({ count: nodes.length, precision: 'EXACT' })
  return nodes.map(({ reference }: { reference: string }) => reference).sort()
}

it('the vouchers of a product are those that its tenant sold, of the product or one of its variants', async () => {
  const secret = await secretOf(whole(chain))
  expect(await referencesOf(secret)).toEqual(ofChain)
  expect(await referencesOf(secret, '(filter: { status: [VOID] })')).toEqual(['CHAIN-3'])
  expect(await referencesOf(secret, '(filter: { productId: 1 })')).toEqual(ofChain)
})

it('with descendants, the vouchers of a product include those of granted tenants below', async () => {
  const all = '(withDescendants: true)'
  expect(await referencesOf(await secretOf(chain), all)).toEqual(ofChain)
  expect(await referencesOf(await secretOf(chain, shop), all)).toEqual([...ofChain, 'SHOP-1'])
  expect(await referencesOf(await secretOf(whole(chain)), all)).toHaveLength(5)
})

type Named = { name: string; parent?: Named }

it('the parent of a tenant is null when the token does not include it, and the answer does not contain its name', async () => {
  const data = await read(await secretOf(whole(north), foreign), '{ tenants { nodes { name parent { name } } } }')
  const parents = data.tenants.nodes.map(({ name, parent }: Named) => [name, parent?.name])
  expect(Object.fromEntries(parents)).toEqual({ north: undefined, Foreign: undefined, Inn: 'north', Spa: 'north' })
  expect(JSON.stringify(data)).not.toContain('Group')
})

it('the parent of a tenant is the parent in its row, up to the root', async () => {
  const up = `{ tenant(id: ${inn}) { parent { name parent { name parent { name } } } } }`
  const parent = { name: 'north', parent: { name: 'Group', parent: null } }
  expect(await read(await secretOf(whole(group)), up)).toEqual({ tenant: { parent } })
  expect(await read(await secretOf(inn, group), up)).toEqual({ tenant: { parent: null } })
})

const page = 'totalCount nextCursor pageInfo { hasNextPage hasPreviousPage startCursor } nodes { name }'
const children = async (secret: string, tenant: number, args = '') =>
  (await read(secret, `{ tenant(id: ${tenant}) { children${args} { ${page} } } }`)).tenant.children
const namesOfNodes = ({ nodes }: { nodes: { name: string }[] }) => nodes.map(({ name }) => name)

it('the children of a tenant are the tenants directly below it that a grant includes', async () => {
  const shown = async (...grants: (number | TenantGrant)[]) => {
    const found = await children(await secretOf(...grants), north)
    expect(found.totalCount).toBe(found.nodes.length)
    return namesOfNodes(found)
  }
  expect(await shown(north)).toEqual([])
  expect(await shown(north, whole(group))).toEqual(['Inn', 'Spa'])
  expect(await shown(north, whole(spa), foreign)).toEqual(['Spa'])
  expect(namesOfNodes(await children(await secretOf(whole(group)), inn))).toEqual([])
})

it('the children are paged from both ends, also when names are equal except for case', async () => {
  const parent = await build.tenant()
  for (const name of ['b', 'A', 'B', 'a', 'c', 'b', 'Z']) await build.tenant({ name, parent_id: parent })
  const secret = await secretOf(whole(parent))
  const order = ['A', 'a', 'b', 'B', 'b', 'c', 'Z']
  expect(namesOfNodes(await children(secret, parent))).toEqual(order)
  const read = ({ first, after }: PageArguments) =>
    children(secret, parent, `(first: ${first}, after: ${JSON.stringify(after)})`)
  expect((await readPages(read, 2)).flatMap(namesOfNodes)).toEqual(order)
  const last = await children(secret, parent, '(last: 3)')
  expect(namesOfNodes(last)).toEqual(['b', 'c', 'Z'])
  const before = JSON.stringify(last.pageInfo.startCursor)
  expect(namesOfNodes(await children(secret, parent, `(last: 2, before: ${before})`))).toEqual(['b', 'B'])
  expect(namesOfNodes(await children(secret, parent, `(first: 2, before: ${before})`))).toEqual(['A', 'a'])
})

it('the list of children rejects cursors of other lists', async () => {
  const secret = await secretOf(whole(group))
  const { pageInfo } = await children(secret, north)
  const codeAfter = async (tenant: number) => {
    const query = `{ tenant(id: ${tenant}) { children(after: "${pageInfo.startCursor}") { totalCount } } }`
    return codeOf(await client.graphql(secret, query))
  }
  expect([await codeAfter(north), await codeAfter(group)]).toEqual([undefined, 'BAD_USER_INPUT'])
})

type Ids = Record<'product' | 'own' | 'foreign', number>

/**
 * The platform may link products with categories of any tenant, but a product shows only the categories of its own
 * tenant.
 */
it.each<[string, number, string, (ids: Ids) => PromiseLike<unknown>]>([
  ['a link to a category of another tenant is not shown', inn, 'Own', async () => {}],
  [
    'a product that moves shows the categories of its new tenant',
    foreign,
    'Foreign',
    ({ product }) => platform`update product set tenant_id = ${foreign} where id = ${product}`,
  ],
  [
    'a category that moves leaves the products of its former tenant, and joins the products of the new one',
    inn,
    'Foreign',
    ids => platform`
      update category set tenant_id = case id when ${ids.own} then ${foreign}::bigint else ${inn}::bigint end
      where id in (${ids.own}, ${ids.foreign})`,
  ],
])('%s', async (_, at, title, move) => {
  const product = await build.product(inn)
  const own = await build.category(inn, [product], { title: 'Own' })
  await move({ product, own, foreign: await build.category(foreign, [product], { title: 'Foreign' }) })
  const { body } = await client.rest(await secretOf(at), `/tenants/${at}/catalog/vouchers?include=categories`)
  const { categories, category_refs } = body.data.find(({ id }: { id: number }) => id === product)
  expect(categories).toMatchObject([{ title }])
  expect(categories).toEqual(category_refs)
})

it('when a parent moves between two requests, each request gets the children of its own tenant', async () => {
  const reads: number[][] = []
  const loader = defineChildLoader(async (_sql: RecordSql, parents: readonly { id: number; tenantId: number }[]) => {
    reads.push(parents.map(({ id }) => id))
    return parents.map(({ id, tenantId }) => [`child of ${id} at ${tenantId}`])
  })
  // The loader uses only these properties of a request.
  const request = { records: pool, group: pool } satisfies Pick<Reader, 'records' | 'group'>
  const answers = await Promise.all([7, 8].map(tenantId => loader(request).load([{ id: 1, tenantId }])))
  expect(reads).toEqual([[1], [1]])
  expect(answers).toEqual([[['child of 1 at 7']], [['child of 1 at 8']]])
})
