import { describe, expect, it } from 'vitest'
import type { TenantGrant } from '../../src/domain/token/token.ts'
import { codeOf } from '../support/app.ts'
import { whole } from '../support/builders.ts'
import { globalId, type PageArguments, readPages } from '../support/graphql.ts'
import { startService } from '../support/service.ts'

const { build, client, database } = await startService()
const { read } = client

// A tree: the group has two regions, one of which has two venues. Another tenant is outside.
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

/** Fetches a field of a voucher in two ways: by its tenant's list, and by its global id, which graphql-js runs. */
async function voucherField(secret: string, tenant: number, id: number, selection: string) {
  const data = await read(
    secret,
    `query ($tenant: ID!, $id: ID!, $global: ID!) {
      tenant(id: $tenant) { purchasedVoucher(id: $id) { ${selection} } }
      node(id: $global) { ... on PurchasedVoucher { ${selection} } }
    }`,
    { tenant: String(tenant), id: String(id), global: globalId('PurchasedVoucher', tenant, id) },
  )
  const alone = await read(secret, `{ tenant(id: ${tenant}) { purchasedVoucher(id: ${id}) { ${selection} } } }`)
  const voucher = alone.tenant.purchasedVoucher
  expect(data.node).toEqual(voucher)
  expect(data.tenant.purchasedVoucher).toEqual(voucher)
  return voucher
}

it('vouchers, products and signups have a field for their tenant', async () => {
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

describe('the product of a voucher', () => {
  const product = 'product { databaseId title tenant { name } }'

  it('is the product that was sold, or the product of the variant', async () => {
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

  it('is shown for another tenant only when a grant includes that tenant', async () => {
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
})

describe('the vouchers of a product', async () => {
  const chain = await build.tenant()
  const [shop, corner] = [await build.tenant({ parent_id: chain }), await build.tenant({ parent_id: chain })]
  const [sold, other] = [await build.product(chain), await build.product(chain)]
  for (const [tenant, reference, columns] of [
    [chain, 'CHAIN-1', { product_id: sold }],
    [chain, 'CHAIN-2', { product_id: await build.variant(sold), parent_product_id: sold }],
    [chain, 'CHAIN-3', { product_id: sold, void: true }],
    [chain, 'OTHER-1', { product_id: other }],
    [shop, 'SHOP-1', { product_id: sold }],
    [corner, 'CORNER-1', { product_id: sold }],
  ] as const) {
    await build.voucher(tenant, { reference, ...columns })
  }

  const ofChain = ['CHAIN-1', 'CHAIN-2', 'CHAIN-3']
  const list = (args: string) => `purchasedVouchers${args} {
    count { count precision } nextCursor pageInfo { hasNextPage hasPreviousPage } nodes { reference } }`
  async function referencesOf(secret: string, args = '') {
    const query = `{ tenant(id: ${chain}) { catalogVoucher(id: ${sold}) { ${list(args)} } } }`
    const { count, nodes } = (await read(secret, query)).tenant.catalogVoucher.purchasedVouchers
    expect(count).toEqual({ count: nodes.length, precision: 'EXACT' })
    return nodes.map(({ reference }: { reference: string }) => reference).sort()
  }

  it('include the vouchers that the product’s tenant sold, for the product or one of its variants', async () => {
    const secret = await secretOf(whole(chain))
    expect(await referencesOf(secret)).toEqual(ofChain)
    expect(await referencesOf(secret, '(filter: { status: [VOID] })')).toEqual(['CHAIN-3'])
    expect(await referencesOf(secret, '(filter: { productId: 1 })')).toEqual(ofChain)
  })

  it('include the vouchers of tenants below that a grant includes', async () => {
    const all = '(withDescendants: true)'
    expect(await referencesOf(await secretOf(chain), all)).toEqual(ofChain)
    expect(await referencesOf(await secretOf(chain, shop), all)).toEqual([...ofChain, 'SHOP-1'])
    expect(await referencesOf(await secretOf(whole(chain)), all)).toHaveLength(5)
  })

  it('are paged as other lists', async () => {
    const secret = await secretOf(chain)
    const pages = await readPages(async ({ after }) => {
      const args = `(first: 1, after: ${JSON.stringify(after)}, orderBy: { field: UPDATED_AT, direction: DESC })`
      const query = `{ tenant(id: ${chain}) { catalogVoucher(id: ${sold}) { ${list(args)} } } }`
      return (await read(secret, query)).tenant.catalogVoucher.purchasedVouchers
    }, 1)
    expect(pages.map(({ count }) => count.count)).toEqual([3, 3, 3])
    expect(pages.flatMap(({ nodes }) => nodes)).toEqual(ofChain.toReversed().map(reference => ({ reference })))
  })
})

describe('the parent of a tenant', () => {
  const parents = (secret: string) =>
    read(secret, '{ tenants { nodes { databaseId parentId parent { databaseId name } } } }')

  it('is null when the token does not include it, and the answer does not contain its name', async () => {
    const secret = await secretOf(whole(north), foreign)
    const data = await parents(secret)
    const byId = new Map(data.tenants.nodes.map((node: { databaseId: number }) => [node.databaseId, node]))
    expect(byId.get(north)).toEqual({ databaseId: north, parentId: group, parent: null })
    expect(byId.get(foreign)).toEqual({ databaseId: foreign, parentId: null, parent: null })
    const parent = { databaseId: north, name: 'north' }
    for (const venue of [inn, spa]) expect(byId.get(venue)).toEqual({ databaseId: venue, parentId: north, parent })
    expect(JSON.stringify(data)).not.toContain('Group')
  })

  it('is the parent in its row, up to the root', async () => {
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

  it('are the tenants that a grant includes', async () => {
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
    const pages = await readPages(async ({ first, after }: PageArguments) => {
      const page = await children(secret, parent, `(first: ${first}, after: ${JSON.stringify(after)})`)
      expect(page.totalCount).toBe(7)
      return page
    }, 2)
    expect(pages.flatMap(namesOfNodes)).toEqual(order)
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
    const codeAfter = async (tenant: number, cursor: string) => {
      const query = `{ tenant(id: ${tenant}) { children(after: ${JSON.stringify(cursor)}) { totalCount } } }`
      return codeOf(await client.graphql(secret, query))
    }
    expect(await codeAfter(north, pageInfo.startCursor)).toBeUndefined()
    expect(await codeAfter(group, pageInfo.startCursor)).toBe('BAD_USER_INPUT')
    expect(await codeAfter(north, tenants.pageInfo.endCursor)).toBe('BAD_USER_INPUT')
  })
})
