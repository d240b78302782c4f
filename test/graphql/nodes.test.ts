import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createApp } from '../support/app.ts'
import { type Builders, createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'

const globalId = (type: string, ...key: number[]) => Buffer.from(`${type}:${key.join('.')}`).toString('base64url')

let build: Builders
let client: Client
let secret: string
let [own, foreign, below] = [0, 0, 0]
let records: { type: string; field: string; id: number; globalId: string }[]

beforeAll(async () => {
  const database = await createDatabase()
  client = await createApp(database)
  build = createBuilders(database)
  own = await build.tenant()
  below = await build.tenant({ parent_id: own })
  foreign = await build.tenant()
  secret = (await build.token([own])).secret
  records = []
  for (const [type, field, make] of [
    ['CatalogVoucher', 'catalogVoucher', build.product],
    ['PurchasedVoucher', 'purchasedVoucher', build.voucher],
    ['MarketingSignup', 'marketingSignup', build.customer],
  ] as const) {
    const id = await make(own)
    records.push({ type, field, id, globalId: globalId(type, own, id) })
  }
})

const node = async (id: string) =>
  (await client.graphql(secret, 'query ($id: ID!) { node(id: $id) { __typename id } }', { id })).body

describe('node', () => {
  it('fetches each type by the id of the record', async () => {
    for (const { type, field, id, globalId } of records) {
      const query = `query ($id: ID!) { tenant(id: ${own}) { ${field}(id: $id) { __typename id databaseId } } }`
      for (const given of [String(id), globalId]) {
        const { body } = await client.graphql(secret, query, { id: given })
        expect(body.data).toEqual({ tenant: { [field]: { __typename: type, id: globalId, databaseId: id } } })
      }
      expect((await node(globalId)).data).toEqual({ node: { __typename: type, id: globalId } })
    }
    const tenant = globalId('Tenant', own)
    expect((await node(tenant)).data).toEqual({ node: { __typename: 'Tenant', id: tenant } })
    const { body } = await client.graphql(secret, `{ tenant(id: "${tenant}") { databaseId } }`)
    expect(body.data).toEqual({ tenant: { databaseId: own } })
  })

  it('returns the same error for a foreign record as for an absent one', async () => {
    const answers = new Set<string>()
    const answerOf = async (id: string) => {
      const { data, errors } = await node(id)
      return JSON.stringify({ data, errors })
    }
    const absent = 9_007_199_254_740_991
    for (const [type, make] of [
      ['CatalogVoucher', build.product],
      ['PurchasedVoucher', build.voucher],
      ['MarketingSignup', build.customer],
    ] as const) {
      const theirs = await make(foreign)
      const lower = await make(below)
      for (const key of [
        [foreign, theirs],
        [below, lower],
        [own, theirs],
        [own, absent],
        [absent, absent],
      ]) {
        answers.add(await answerOf(globalId(type, ...key)))
      }
    }
    for (const tenant of [foreign, below, absent]) answers.add(await answerOf(globalId('Tenant', tenant)))
    expect([...answers]).toHaveLength(1)
    expect(JSON.parse([...answers][0]!)).toMatchObject({
      data: { node: null },
      errors: [{ message: 'No such record.', path: ['node'], extensions: { code: 'NOT_FOUND' } }],
    })
  })

  it.each([
    '',
    'x',
    '0',
    '1',
    '%%%',
    'ü',
    '\0',
    '__proto__',
    Buffer.from('Tenant').toString('base64url'),
    Buffer.from('Tenant:').toString('base64url'),
    Buffer.from('Tenant:1:1').toString('base64url'),
    Buffer.from('Tenant:1e0').toString('base64url'),
    Buffer.from('CatalogVoucher:1').toString('base64url'),
    Buffer.from('CatalogVoucher:1.1.1').toString('base64url'),
    Buffer.from("CatalogVoucher:1.1' or 1=1").toString('base64url'),
    Buffer.from('Category:1').toString('base64url'),
    Buffer.from('constructor:1').toString('base64url'),
    'A'.repeat(50_000),
  ])('finds nothing under %j', async id => {
    expect((await node(id)).errors[0]).toMatchObject({ extensions: { code: 'NOT_FOUND' } })
  })

  it('finds no record by an id of another type or tenant', async () => {
    const [product, voucher] = records
    const fieldOf = async (id: string) => {
      const query = `query ($id: ID!) { tenant(id: ${own}) { name catalogVoucher(id: $id) { id } } }`
      return (await client.graphql(secret, query, { id })).body
    }
    for (const id of [voucher!.globalId, globalId('CatalogVoucher', foreign, product!.id), '-1', '1.0', 'x']) {
      expect(await fieldOf(id)).toMatchObject({
        data: { tenant: { name: expect.any(String), catalogVoucher: null } },
        errors: [{ message: 'No such catalog voucher.', extensions: { code: 'NOT_FOUND' } }],
      })
    }
  })

  it('does not show a customer who no longer consents', async () => {
    const id = await build.customer(own, { marketing_opted: false })
    expect((await node(globalId('MarketingSignup', own, id))).errors[0].extensions.code).toBe('NOT_FOUND')
  })
})

describe('nodes', () => {
  const nodes = async (ids: string[]) =>
    (await client.graphql(secret, 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })).body

  it('returns records in the order of their ids, with an error for each that fails', async () => {
    const limited = await build.token([own], { permissions: ['view_vouchers'] })
    const [product, voucher, signup] = records
    const ids = [
      'x',
      product!.globalId,
      voucher!.globalId,
      signup!.globalId,
      product!.globalId,
      globalId('Tenant', foreign),
    ]
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }'
    const { body } = await client.graphql(limited.secret, query, { ids })
    expect(body.data.nodes).toEqual([null, { id: product!.globalId }, null, null, { id: product!.globalId }, null])
    const codes = body.errors.map(({ path, extensions }: { path: [string, number]; extensions: { code: string } }) => [
      path[1],
      extensions.code,
    ])
    expect(Object.fromEntries(codes)).toEqual({ 0: 'NOT_FOUND', 2: 'FORBIDDEN', 3: 'FORBIDDEN', 5: 'NOT_FOUND' })
  })

  it('accepts up to 100 ids', async () => {
    const { globalId } = records[0]!
    expect((await nodes([])).data).toEqual({ nodes: [] })
    expect((await nodes(Array<string>(100).fill(globalId))).data.nodes).toHaveLength(100)
    expect(await nodes(Array<string>(101).fill(globalId))).toMatchObject({
      errors: [
        {
          message: 'The variable $ids has 101 items; at most 100 are allowed.',
          extensions: { code: 'BAD_USER_INPUT' },
        },
      ],
    })
  })
})
