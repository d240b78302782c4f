import { beforeAll, describe, expect, it } from 'vitest'
import { type Answer, type Client, createApp } from '../support/app.ts'
import { type Builders, createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'

/** The seconds that are left in a window that has just begun. */
const fresh = expect.closeTo(60, -1)

const limit = 12

let build: Builders
let client: Client
let tenantId: number
let productId: number
let secret: string

beforeAll(async () => {
  const database = await createDatabase()
  client = await createApp(database, { RATE_LIMIT_PER_MINUTE: String(limit) })
  build = createBuilders(database)
  tenantId = await build.tenant()
  productId = await build.product(tenantId)
  await build.voucher(tenantId, { reference: 'RATE' })
})

const remaining = (answer: Answer) => Number(answer.headers['ratelimit-remaining'])
const globalId = () => Buffer.from(`CatalogVoucher:${tenantId}.${productId}`).toString('base64url')
const createNewToken = async () => {
  secret = (await build.token([tenantId])).secret
}

describe('operations', () => {
  const product = () => `catalogVoucher(id: ${productId}) { title }`
  const tenant = (selection: string) => `tenant(id: ${tenantId}) { ${selection} }`

  it.each([
    [1, 'the viewer', () => '{ viewer { name tenants { tenant { name } } } }'],
    [1, 'a tenant', () => `{ ${tenant('name type')} }`],
    [1, 'introspection', () => '{ __schema { types { name } } }'],
    [1, 'a document that is not valid', () => '{ nothing }'],
    [1, 'a document that cannot be read', () => '{'],
    [1, 'an empty nodes', () => '{ nodes(ids: []) { id } }'],
    [1, 'one list', () => '{ tenants { nodes { name } edges { cursor } totalCount } }'],
    [1, 'one list and what is beside it', () => `{ viewer { name } ${tenant('name catalogVouchers { totalCount }')} }`],
    [1, 'a list that is rejected', () => `{ ${tenant('catalogVouchers(first: -1) { totalCount }')} }`],
    [
      3,
      'three lists of a tenant',
      () =>
        `{ ${tenant('catalogVouchers { totalCount } purchasedVouchers { totalCount } marketingSignups { totalCount }')} }`,
    ],
    [3, 'aliases of a record', () => `{ ${tenant(`a: ${product()} b: ${product()} c: ${product()}`)} }`],
    [
      4,
      'aliases within aliases',
      () => `{ x: ${tenant(`a: ${product()} b: ${product()}`)} y: ${tenant(`a: ${product()} b: ${product()}`)} }`,
    ],
    [2, 'fragments', () => `{ x: ${tenant('...P')} y: ${tenant('...P')} } fragment P on Tenant { ${product()} }`],
    [1, 'a field named twice, which is one', () => `{ ${tenant(product())} ${tenant(product())} }`],
    [5, 'nodes', () => `{ node(id: "x") { id } nodes(ids: ["${globalId()}", "${globalId()}", "x", "y"]) { id } }`],
    [
      2,
      'resolutions',
      () =>
        `mutation { a: resolveVoucher(input: { tenantId: ${tenantId}, voucherReference: "rate" }) { status } b: resolveVoucher(input: { tenantId: ${tenantId} }) { status } }`,
    ],
  ])('counts %i for %s', async (cost, _, query) => {
    await createNewToken()
    const answer = await client.graphql(secret, query())
    expect(remaining(answer)).toBe(limit - cost)
    expect(answer.headers).toMatchObject({
      'ratelimit-limit': String(limit),
      'ratelimit-reset': expect.stringMatching(/^(60|5\d)$/),
    })
  })

  it('does not count fields that a directive skips', async () => {
    await createNewToken()
    const query = `query ($no: Boolean!) { a: tenants { totalCount } b: tenants @include(if: $no) { totalCount } }`
    expect(remaining(await client.graphql(secret, query, { no: false }))).toBe(limit - 1)
  })

  it('are reported by the viewer as by the headers', async () => {
    await createNewToken()
    await client.graphql(secret, '{ a: tenants { totalCount } b: tenants { totalCount } }')
    const answer = await client.graphql(secret, '{ viewer { rate { limit remaining resetsIn } } }')
    expect(answer.body.data.viewer.rate).toEqual({ limit, remaining: limit - 3, resetsIn: fresh })
    expect(remaining(answer)).toBe(limit - 3)
  })
})

describe('the budget', () => {
  it('is shared by REST and GraphQL', async () => {
    await createNewToken()
    expect(remaining(await client.rest(secret, '/tenants'))).toBe(limit - 1)
    expect(remaining(await client.graphql(secret, '{ a: tenants { totalCount } b: tenants { totalCount } }'))).toBe(
      limit - 3,
    )
    expect(remaining(await client.rest(secret, `/tenants/${tenantId}/catalog/vouchers`))).toBe(limit - 4)
  })

  it('allows exactly its number in a burst over both transports', async () => {
    await createNewToken()
    const answers = await Promise.all(
      Array.from({ length: 5 * limit }, (_, n) =>
        n % 2 ? client.rest(secret, '/tenants') : client.graphql(secret, '{ tenants { nodes { name } } }'),
      ),
    )
    expect(answers.filter(answer => answer.status === 200)).toHaveLength(limit)
    for (const { status, headers, body } of answers.filter(answer => answer.status !== 200)) {
      expect(status).toBe(429)
      expect(headers).toMatchObject({ 'ratelimit-remaining': '0', 'retry-after': expect.stringMatching(/^[1-9]\d?$/) })
      expect(body.message ?? body.errors[0].extensions.code).toMatch(/RATE_LIMITED|rate limit is exceeded/)
    }
  })

  it('allows exactly its number of operations in concurrent queries', async () => {
    await createNewToken()
    const answers = await Promise.all(
      // As many expensive requests as a token may have under way.
      Array.from({ length: 10 }, () =>
        client.graphql(secret, '{ a: tenants { totalCount } b: tenants { totalCount } c: tenants { totalCount } }'),
      ),
    )
    const served = answers.flatMap(({ body }) => Object.values(body.data ?? {})).filter(field => field !== null)
    expect(served).toHaveLength(limit)
  })

  it('resolves the fields within it, and rejects those beyond', async () => {
    await createNewToken()
    const fields = Array.from({ length: limit + 3 }, (_, n) => `f${n}: tenants(first: 1) { nodes { name } }`)
    const { status, body, headers } = await client.graphql(secret, `{ ${fields.join(' ')} }`)
    expect(status).toBe(200)
    expect(Object.values(body.data).filter(field => field !== null)).toHaveLength(limit)
    expect(body.errors).toHaveLength(3)
    for (const { extensions } of body.errors) expect(extensions).toEqual({ code: 'RATE_LIMITED' })
    expect(headers['ratelimit-remaining']).toBe('0')
    expect((await client.graphql(secret, '{ viewer { name } }')).status).toBe(429)
    expect((await client.rest(secret, '/tenants')).status).toBe(429)
  })

  it('belongs to one token at one address', async () => {
    await createNewToken()
    const from = (remoteAddress: string) =>
      client.ask({
        method: 'POST',
        url: '/graphql',
        remoteAddress,
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        payload: { query: '{ viewer { name } }' },
      })
    expect(remaining(await from('192.0.2.1'))).toBe(limit - 1)
    expect(remaining(await from('::ffff:192.0.2.1'))).toBe(limit - 2)
    expect(remaining(await from('192.0.2.2'))).toBe(limit - 1)
    const other = await build.token([tenantId])
    expect(remaining(await client.graphql(other.secret, '{ viewer { name } }'))).toBe(limit - 1)
  })
})

describe('the limit of a token', () => {
  const list = (n: number) => `f${n}: tenants(first: 1) { nodes { name } }`
  const lists = (count: number) => `{ ${Array.from({ length: count }, (_, n) => list(n)).join(' ')} }`

  it.each([
    ['below the default', 3],
    ['above the default', limit + 5],
  ])('applies instead of the default: %s', async (_, rateLimit) => {
    const { secret } = await build.token([tenantId], { rateLimit })
    const { body, headers } = await client.graphql(secret, lists(rateLimit + 2))
    expect(Object.values(body.data).filter(field => field !== null)).toHaveLength(rateLimit)
    expect(body.errors).toHaveLength(2)
    for (const { extensions } of body.errors) expect(extensions).toEqual({ code: 'RATE_LIMITED' })
    expect(headers).toMatchObject({ 'ratelimit-limit': String(rateLimit), 'ratelimit-remaining': '0' })
    for (const answer of [await client.graphql(secret, '{ viewer { name } }'), await client.rest(secret, '/tenants')]) {
      expect(answer.status).toBe(429)
      expect(answer.headers['ratelimit-limit']).toBe(String(rateLimit))
    }
  })

  it('is shared by both transports, reported in headers and by the viewer, and not shared with other tokens', async () => {
    const { secret } = await build.token([tenantId], { rateLimit: 5 })
    expect(remaining(await client.rest(secret, '/tenants'))).toBe(4)
    expect(remaining(await client.graphql(secret, lists(2)))).toBe(2)
    const answer = await client.graphql(secret, '{ viewer { rate { limit remaining resetsIn } } }')
    expect(answer.body.data.viewer.rate).toEqual({ limit: 5, remaining: 1, resetsIn: fresh })
    expect(answer.headers['ratelimit-limit']).toBe('5')
    const other = await build.token([tenantId])
    const others = await client.graphql(other.secret, lists(6))
    expect(others.body.errors).toBeUndefined()
    expect(others.headers['ratelimit-limit']).toBe(String(limit))
  })
})
