import { expect, test } from 'vitest'
import { createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'

const database = await createDatabase()
const build = createBuilders(database)
const client = await createApp(database)

const tenantId = await build.tenant({ name: 'The "Old" Mill' })
const product = await build.product(tenantId, { price: '12.50', image_urls: ['a', 'b'] })
await build.variant(product, { price: '9.90' })
await build.category(tenantId, [product])
const voucher = await build.voucher(tenantId, { currency: 'GBP', current_balance: '0.07' })
await build.customer(tenantId, { email: 'ada@example.com' })
const { secret } = await build.token([tenantId])
const { secret: vouchersOnly } = await build.token([tenantId], { permissions: ['view_vouchers'] })

const at = { tenant: String(tenantId) }
const asked: Record<
  string,
  { query: string; variables?: Record<string, unknown>; operationName?: string; as?: string }
> = {
  'a page': {
    query: `query ($tenant: ID!, $first: Int = 5) { tenant(id: $tenant) { name purchasedVouchers(first: $first) {
      nodes { id databaseId currentBalance updatedAt } edges { node { reference } } totalCount
      pageInfo { hasNextPage hasPreviousPage } } } }`,
    variables: at,
  },
  'children, aliases and fragments': {
    query: `query ($tenant: ID!, $all: Boolean = true) { t: tenant(id: $tenant) { catalogVouchers { nodes { ...P refs: categories { title } } } } }
      fragment P on CatalogVoucher { __typename price fromPrice imageUrls variants @include(if: $all) { price } summary @skip(if: $all) }`,
    variables: at,
  },
  'a fault in a field beside a good one': {
    query: `query ($tenant: ID!) { tenant(id: $tenant) { a: purchasedVoucher(id: 999999) { id } b: purchasedVoucher(id: ${voucher}) { reference } } }`,
    variables: at,
  },
  'a permission that is lacking': {
    query: 'query ($tenant: ID!) { tenant(id: $tenant) { name marketingSignups { nodes { email } } } }',
    variables: at,
    as: vouchersOnly,
  },
  'several field errors': {
    query: `query ($tenant: ID!) { tenant(id: $tenant) {
      a: purchasedVouchers(first: 1000, after: "x") { totalCount } b: catalogVouchers(updatedSince: "x") { totalCount } } }`,
    variables: at,
  },
  'an interface': {
    query:
      'query ($id: ID!) { node(id: $id) { __typename id ... on PurchasedVoucher { reference } ... on Tenant { name } } }',
    variables: { id: Buffer.from(`PurchasedVoucher:${tenantId}.${voucher}`).toString('base64url') },
  },
  'an interface, in part refused': {
    query: 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename ... on Tenant { name } } }',
    variables: { ids: [`Tenant:${tenantId}`, 'Tenant:999'].map(id => Buffer.from(id).toString('base64url')) },
  },
  'an enum': {
    query:
      'query ($tenant: ID!, $r: [RemovalResource!]) { tenant(id: $tenant) { removals(resources: $r) { nodes { resource } } } }',
    variables: { ...at, r: ['TENANT'] },
  },
  'a resolution': {
    query: `mutation ($tenant: ID!) { resolveVoucher(input: { tenantId: $tenant, voucherReference: "none" }) { status } }`,
    variables: at,
  },
  'one operation of several': {
    query: 'query A { viewer { name } } query B { viewer { permissions } }',
    operationName: 'B',
  },
  'no operation by that name': { query: 'query A { viewer { name } } query B { viewer { name } }', operationName: 'C' },
  'a variable that is missing': { query: 'query ($tenant: ID!) { tenant(id: $tenant) { name } }', variables: {} },
  'a variable of another type': {
    query: 'query ($tenant: ID!, $n: Int) { tenant(id: $tenant) { purchasedVouchers(first: $n) { totalCount } } }',
    variables: { ...at, n: 'many' },
  },
  'an enum value that is none': {
    query:
      'query ($tenant: ID!, $r: [RemovalResource!]) { tenant(id: $tenant) { removals(resources: $r) { totalCount } } }',
    variables: { ...at, r: ['NOTHING'] },
  },
  'a document that is not valid': { query: '{ nothing }' },
  'a document that is none': { query: '{' },
  introspection: { query: '{ __schema { queryType { name } } }' },
}

/** Without what differs from one answer to the next. */
const steady = (text: string) => text.replaceAll(/"(serverTime|nextCursor)":"[^"]*"|"(remaining|resetsIn)":\d+/g, '')

const post = ({ query, variables, operationName, as = secret }: (typeof asked)[string], accept: string) =>
  client.ask({
    method: 'POST',
    url: '/graphql',
    headers: { accept, authorization: `Bearer ${as}`, 'content-type': 'application/json' },
    payload: JSON.stringify({ query, variables, ...(operationName ? { operationName } : {}) }),
  })

for (const accept of ['application/json', 'application/graphql-response+json']) {
  test.each(
    Object.entries(asked),
  )(`%s is answered alike however often it is asked, as ${accept}`, async (_name, request) => {
    const first = await post(request, accept)
    expect(first.text).not.toBe('')
    for (let times = 0; times < 5; times++) {
      const { status, headers, text } = await post(request, accept)
      expect(steady(text)).toBe(steady(first.text))
      expect(status).toBe(first.status)
      expect(headers['content-type']).toBe(first.headers['content-type'])
      expect(Object.keys(headers).sort()).toEqual(Object.keys(first.headers).sort())
    }
  })
}

test('variables are looked at each time: a page that costs too much is refused though its document recurs', async () => {
  const query = `query ($tenant: ID!, $first: Int) { tenant(id: $tenant) { catalogVouchers(first: $first) { nodes {
    id a: variants { id slug title price salePrice currency } b: variants { id slug title price salePrice currency } c: variants { id slug title price salePrice currency }
    d: variants { id slug title price salePrice currency } e: variants { id slug title price salePrice currency } f: variants { id slug title price salePrice currency }
    g: variants { id slug title price salePrice currency } h: variants { id slug title price salePrice currency } i: variants { id slug title price salePrice currency }
    j: variants { id slug title price salePrice currency } k: variants { id slug title price salePrice currency } l: variants { id slug title price salePrice currency }
    m: variants { id slug title price salePrice currency } n: variants { id slug title price salePrice currency } o: variants { id slug title price salePrice currency }
    p: variants { id slug title price salePrice currency } q: variants { id slug title price salePrice currency } r: variants { id slug title price salePrice currency } } } } }`
  for (let times = 0; times < 5; times++) {
    expect((await client.graphql(secret, query, { ...at, first: 1 })).body.errors).toBeUndefined()
  }
  const { body } = await client.graphql(secret, query, { ...at, first: 100 })
  expect(body.errors[0].message).toContain('costs')
})

test('a document that recurs spends the rate as before: each operation in it', async () => {
  const { secret: narrow } = await build.token([tenantId])
  const small = await createApp(database, { RATE_LIMIT_PER_MINUTE: '15' })
  const query =
    'query ($tenant: ID!) { tenant(id: $tenant) { a: purchasedVouchers { totalCount } b: catalogVouchers { totalCount } } }'
  const left: (string | undefined)[] = []
  for (let times = 0; times < 6; times++) {
    left.push((await small.graphql(narrow, query, at)).headers['ratelimit-remaining'])
  }
  expect(left).toEqual(['13', '11', '9', '7', '5', '3'])
})
