import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { capture, namesOf } from './statements.ts'

let client: Client
let database: TestDatabase
let secret: string
let tenantId: number

beforeAll(async () => {
  database = await createDatabase()
  client = await createApp(database)
  const build = createBuilders(database)
  tenantId = await build.tenant()
  secret = (await build.token([tenantId])).secret
})

const aliases = (count: number) => `{ ${Array.from({ length: count }, (_, n) => `a${n}:viewer{name}`).join(' ')} }`

/** Each fragment spreads the next one twice, so that spelling it out would take 2^count fields. */
const doubling = (count: number) =>
  Array.from({ length: count }, (_, n) => `fragment F${n} on Viewer { ...F${n + 1} ...F${n + 1} }`).join(' ')

const product = 'fromPrice categories { id title slug } variants { id title slug price }'

describe('a document is refused, before anything of it is executed', () => {
  it.each([
    ['1,000 aliases', () => aliases(1_000)],
    ['31 aliases', () => aliases(31)],
    ['aliases in fragments', () => `{ ${'viewer { ...F } '.repeat(16)} } fragment F on Viewer { a: name b: name }`],
    ['more tokens than 2,000', () => `{ viewer { ${'name '.repeat(2_000)} } }`],
    ['more depth than 10', () => `{ viewer { ${'... on Viewer { '.repeat(12)} name ${'} '.repeat(12)} } }`],
    ['nesting without end', () => `${'{a'.repeat(990)}${'}'.repeat(990)}`],
    ['a list within lists without end', () => `{ nodes(ids: ${'['.repeat(990)}${']'.repeat(990)}) { id } }`],
    [
      'introspection in circles',
      () => `{ __schema { ${'types { fields { type { '.repeat(5)} name ${'} } } '.repeat(5)} } }`,
    ],
    ['a fragment within itself', () => '{ viewer { ...A } } fragment A on Viewer { ...A }'],
    [
      'fragments within each other',
      () => '{ viewer { ...A } } fragment A on Viewer { ...B } fragment B on Viewer { ...A }',
    ],
    ['fragments that double', () => `{ viewer { ...F0 } } ${doubling(60)} fragment F60 on Viewer { name }`],
    [
      'more cost than 25,000',
      () =>
        `{ tenant(id: ${tenantId}) { ${['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n'].map(name => `${name}: catalogVouchers(first: 100) { nodes { ${product} } }`).join(' ')} } }`,
    ],
  ])('%s', async (_, query) => {
    const started = performance.now()
    const statements = await capture(database.pool, async () => {
      const { status, body } = await client.graphql(secret, query())
      expect(status).toBe(400)
      expect(body.data).toBeUndefined()
      expect(body.errors.length).toBeGreaterThan(0)
      expect(body.errors[0].extensions.code).toMatch(
        /^(BAD_USER_INPUT|GRAPHQL_PARSE_FAILED|GRAPHQL_VALIDATION_FAILED)$/,
      )
    })
    expect(namesOf(statements)).toEqual([])
    expect(performance.now() - started).toBeLessThan(1_000)
  })

  it('20,000 aliases, which are too many bytes', async () => {
    const { status, body } = await client.graphql(secret, aliases(20_000))
    expect(status).toBe(413)
    expect(body.errors[0].extensions.code).toBe('TOO_LARGE')
  })

  it('a cost that variables make', async () => {
    const query = `query ($n: Int, $ids: [ID!]!) { nodes(ids: $ids) { id ... on Tenant { catalogVouchers(first: $n) { nodes { ${product} } } } } }`
    const { status, body } = await client.graphql(secret, query, { n: 100, ids: Array<string>(100).fill('x') })
    expect(status).toBe(400)
    expect(body.errors[0].message).toMatch(/^The query costs \d+; at most 25000 is allowed\./)
  })
})

describe('a document within the limits is answered', () => {
  it.each([
    ['30 aliases', () => aliases(30)],
    [
      '100 products with all there is',
      () =>
        `{ tenant(id: ${tenantId}) { catalogVouchers(first: 100) { nodes { ${product} } edges { cursor node { ${product} } } totalCount } } }`,
    ],
    [
      'all lists of a tenant',
      () =>
        `{ tenants { nodes { name catalogVouchers(first: 5) { nodes { ${product} } } purchasedVouchers(first: 5) { nodes { reference } } } } }`,
    ],
  ])('%s', async (_, query) => {
    const { status, body } = await client.graphql(secret, query())
    expect(body.errors).toBeUndefined()
    expect(status).toBe(200)
  })
})

describe('a request is refused', () => {
  const ask = (options: Parameters<Client['ask']>[0]) =>
    client.ask({
      method: 'POST',
      url: '/graphql',
      ...options,
      headers: {
        authorization: `Bearer ${secret}`,
        accept: 'application/json',
        'content-type': 'application/json',
        ...options.headers,
      },
    })
  const viewer = { query: '{ viewer { name } }' }

  it('that is a batch', async () => {
    const { status, body } = await ask({ payload: JSON.stringify([viewer, viewer]) })
    expect(status).toBe(400)
    expect(body.errors[0].message).toBe('Batching is not supported.')
  })

  it('that is longer than 256 KiB', async () => {
    const { status, body } = await ask({ payload: { ...viewer, variables: { x: 'x'.repeat(256 * 1024) } } })
    expect(status).toBe(413)
    expect(body.errors[0].extensions.code).toBe('TOO_LARGE')
  })

  it('that mutates by GET', async () => {
    const query = `mutation { resolveVoucher(input: { tenantId: ${tenantId}, voucherReference: "x" }) { status } }`
    const { status, headers } = await ask({
      method: 'GET',
      url: `/graphql?query=${encodeURIComponent(query)}`,
      headers: { 'content-type': undefined },
    })
    expect(status).toBe(405)
    expect(headers.allow).toContain('POST')
  })

  it('that is a form, as a page of another origin could send it', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain']) {
      const { status, body } = await ask({ payload: 'query={viewer{name}}', headers: { 'content-type': type } })
      expect(status).toBe(422)
      expect(body.errors[0].extensions.code).toBe('BAD_USER_INPUT')
    }
  })

  it.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const)('that is a %s', async method => {
    const { status, headers, body } = await ask({ method, headers: { 'content-type': undefined } })
    expect(status).toBe(405)
    expect(headers.allow).toBe('GET, POST')
    expect(body.errors[0].extensions.code).toBe('METHOD_NOT_ALLOWED')
  })
})
