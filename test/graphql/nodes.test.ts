import { expect, it } from 'vitest'
import { globalId } from '../support/graphql.ts'
import { startService } from '../support/service.ts'

const { build, client } = await startService()
const own = await build.tenant()
const below = await build.tenant({ parent_id: own })
const foreign = await build.tenant()
const { secret } = await build.token([own])

const types = [
  { type: 'CatalogVoucher', field: 'catalogVoucher', make: build.product },
  { type: 'PurchasedVoucher', field: 'purchasedVoucher', make: build.voucher },
  { type: 'MarketingSignup', field: 'marketingSignup', make: build.customer },
]
const records = await Promise.all(
  types.map(async ({ type, field, make }) => {
    const id = await make(own)
    return { type, field, id, global: globalId(type, own, id) }
  }),
)
const [product, voucher, signup] = records.map(({ global }) => global)
const base64 = (text: string) => Buffer.from(text).toString('base64url')

const node = async (id: string) =>
  (await client.graphql(secret, 'query ($id: ID!) { node(id: $id) { __typename id } }', { id })).body

it('node fetches each type by the id of the record', async () => {
  for (const { type, field, id, global } of records) {
    const query = `query ($id: ID!) { tenant(id: ${own}) { ${field}(id: $id) { __typename id databaseId } } }`
    for (const given of [String(id), global]) {
      const data = await client.read(secret, query, { id: given })
      expect(data).toEqual({ tenant: { [field]: { __typename: type, id: global, databaseId: id } } })
    }
    expect((await node(global)).data).toEqual({ node: { __typename: type, id: global } })
  }
  const tenant = globalId('Tenant', own)
  expect((await node(tenant)).data).toEqual({ node: { __typename: 'Tenant', id: tenant } })
  const named = await client.read(secret, `{ tenant(id: "${tenant}") { databaseId } }`)
  expect(named).toEqual({ tenant: { databaseId: own } })
})

it('node returns the same error for a foreign record as for an absent one', async () => {
  const answers = new Set<string>()
  const answerOf = async (id: string) => {
    const { data, errors } = await node(id)
    return JSON.stringify({ data, errors })
  }
  const absent = 9_007_199_254_740_991
  for (const { type, make } of types) {
    const theirs = await make(foreign)
    const ids = [globalId(type, foreign, theirs), globalId(type, own, theirs), globalId(type, own, absent)]
    for (const id of [...ids, globalId(type, below, await make(below))]) answers.add(await answerOf(id))
  }
  for (const tenant of [foreign, below, absent]) answers.add(await answerOf(globalId('Tenant', tenant)))
  expect([...answers]).toHaveLength(1)
  expect(JSON.parse([...answers][0]!)).toMatchObject({
    data: { node: null },
    errors: [{ message: 'No such record.', path: ['node'], extensions: { code: 'NOT_FOUND' } }],
  })
})

it.each([
  ...['', 'x', '1', 'ü', '\0', '__proto__', 'A'.repeat(50_000)],
  ...['Tenant', 'Tenant:1:1', 'Tenant:1e0', 'CatalogVoucher:1', 'CatalogVoucher:1.1.1', 'constructor:1'].map(base64),
])('node finds nothing under %j', async id => {
  expect((await node(id)).errors[0]).toMatchObject({ extensions: { code: 'NOT_FOUND' } })
})

it('a global id with another type or tenant finds no record', async () => {
  for (const id of [voucher!, globalId('CatalogVoucher', foreign, records[0]!.id), '-1', '1.0', 'x']) {
    const query = `query ($id: ID!) { tenant(id: ${own}) { name catalogVoucher(id: $id) { id } } }`
    expect((await client.graphql(secret, query, { id })).body).toMatchObject({
      data: { tenant: { name: expect.any(String), catalogVoucher: null } },
      errors: [{ message: 'No such catalog voucher.', extensions: { code: 'NOT_FOUND' } }],
    })
  }
})

it('nodes returns records in the order of their ids, with an error for each that fails', async () => {
  const limited = await build.token([own], { permissions: ['view_vouchers'] })
  const ids = ['x', product, voucher, signup, product, globalId('Tenant', foreign)]
  const { body } = await client.graphql(limited.secret, 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })
  expect(body.data.nodes).toEqual([null, { id: product }, null, null, { id: product }, null])
  const codes: Record<number, string> = {}
  for (const { path, extensions } of body.errors) codes[path[1]] = extensions.code
  expect(codes).toEqual({ 0: 'NOT_FOUND', 2: 'FORBIDDEN', 3: 'FORBIDDEN', 5: 'NOT_FOUND' })
})
