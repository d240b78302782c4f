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

describe('a document is rejected before any part of it is executed', () => {
  it.each([
    ['1,000 aliases', () => aliases(1_000)],
    ['31 aliases', () => aliases(31)],
    ['aliases in fragments', () => `{ ${'viewer { ...F } '.repeat(16)} } fragment F on Viewer { a: name b: name }`],
    ['more than 2,000 tokens', () => `{ viewer { ${'name '.repeat(2_000)} } }`],
    ['a depth of more than 10', () => `{ viewer { ${'... on Viewer { '.repeat(12)} name ${'} '.repeat(12)} } }`],
    ['990 nested fields', () => `${'{a'.repeat(990)}${'}'.repeat(990)}`],
    ['an alias of more than 100 characters', () => `{ ${'a'.repeat(101)}: viewer { name } }`],
    ['a literal list of 101 ids', () => `{ nodes(ids: [${'"x" '.repeat(101)}]) { id } }`],
    [
      'a literal list with more items than its enum has values',
      () => `{ tenant(id: ${tenantId}) { removals(resources: [${'TENANT '.repeat(5)}]) { totalCount } } }`,
    ],
    ['990 nested lists', () => `{ nodes(ids: ${'['.repeat(990)}${']'.repeat(990)}) { id } }`],
    [
      'recursive introspection',
      () => `{ __schema { ${'types { fields { type { '.repeat(5)} name ${'} } } '.repeat(5)} } }`,
    ],
    ['a fragment that spreads itself', () => '{ viewer { ...A } } fragment A on Viewer { ...A }'],
    [
      'fragments that spread each other',
      () => '{ viewer { ...A } } fragment A on Viewer { ...B } fragment B on Viewer { ...A }',
    ],
    ['fragments that double', () => `{ viewer { ...F0 } } ${doubling(60)} fragment F60 on Viewer { name }`],
    [
      'a cost of more than 25,000',
      () =>
        `{ tenant(id: ${tenantId}) { ${['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n'].map(name => `${name}: catalogVouchers(first: 100) { nodes { ${product} } }`).join(' ')} } }`,
    ],
  ])('%s', async (_, query) => {
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
  })

  it('20,000 aliases, which exceed the size of a body', async () => {
    const { status, body } = await client.graphql(secret, aliases(20_000))
    expect(status).toBe(413)
    expect(body.errors[0].extensions.code).toBe('TOO_LARGE')
  })

  it('a cost that is too high because of the variables', async () => {
    const query = `query ($n: Int, $ids: [ID!]!) { nodes(ids: $ids) { id ... on Tenant { catalogVouchers(first: $n) { nodes { ${product} } } } } }`
    const { status, body } = await client.graphql(secret, query, { n: 100, ids: Array<string>(100).fill('x') })
    expect(status).toBe(400)
    expect(body.errors[0].message).toMatch(/^The query costs \d+; at most 25000 is allowed\./)
  })
})

describe('the cost of a document is the cost of the operation that runs', () => {
  const heavy = `{ tenants(first: 100) { nodes { ${[...'abcdefghij'].map(name => `${name}: catalogVouchers(first: 100) { nodes { ${product} } }`).join(' ')} } } }`
  const light = '{ viewer { name } }'
  const ask = async (query: string, operationName: string | null) => {
    const headers = {
      authorization: `Bearer ${secret}`,
      accept: 'application/json',
      'content-type': 'application/json',
    }
    const payload = JSON.stringify({ query, operationName })
    return (await client.ask({ method: 'POST', url: '/graphql', headers, payload })).body
  }

  it.each([
    ['last', `query A ${light} query B ${heavy}`],
    ['first', `query B ${heavy} query A ${light}`],
    ['between others', `query A ${light} query B ${heavy} query C ${light}`],
    ['in a fragment', `query A ${light} query B { ...F } fragment F on Query ${heavy}`],
  ])('in any position: %s', async (_, query) => {
    for (let time = 0; time < 3; time++) {
      const statements = await capture(database.pool, async () => {
        const { errors, data } = await ask(query, 'B')
        expect(errors).toEqual([
          expect.objectContaining({ message: expect.stringMatching(/^The query costs \d+; at most 25000/) }),
        ])
        expect(data).toBeUndefined()
      })
      expect(namesOf(statements)).toEqual([])
      expect((await ask(query, 'A')).data).toEqual({ viewer: { name: expect.any(String) } })
    }
  })

  it('is checked before the document is validated', async () => {
    const { errors } = await ask(`query A ${light} query B ${heavy} query C { nothing }`, 'B')
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining('The query costs') })])
  })

  it('is computed from the variables of each request, also for a cached document', async () => {
    const query = `query ($n: Int) { tenant(id: ${tenantId}) { ${[...'abcdefghijklmn'].map(name => `${name}: catalogVouchers(first: $n) { nodes { ${product} } }`).join(' ')} } }`
    for (let time = 0; time < 3; time++) {
      expect((await client.graphql(secret, query, { n: 1 })).body.errors).toBeUndefined()
      expect((await client.graphql(secret, query, { n: 100 })).body.errors[0].message).toContain('The query costs')
    }
  })
})

describe('invalid variables', () => {
  const enums = `query ($x: [RemovalResource!]) { tenant(id: TENANT) { removals(resources: $x) { totalCount } } }`
  const ids = 'query ($x: [ID!]!) { nodes(ids: $x) { id } }'
  const input = 'mutation ($x: ResolveVoucherInput!) { resolveVoucher(input: $x) { status } }'
  const integer = 'query ($x: Int) { tenants(first: $x) { totalCount } }'
  const ask = async (query: string, x: unknown) =>
    (await client.graphql(secret, query.replace('TENANT', String(tenantId)), { x })).body

  it.each([
    ['ids', ids, 101, 100],
    ['ids', ids, 9_000, 100],
    ['enum values', enums, 5, 4],
    ['enum values', enums, 9_000, 4],
  ])('are rejected when a list has too many items: %s', async (_, query, length, most) => {
    for (const item of [0, 'TENANT', null, []]) {
      const { errors, data } = await ask(query, Array(length).fill(item))
      expect(data).toBeUndefined()
      expect(errors.map((error: { message: string }) => error.message)).toEqual([
        `The variable $x has ${length} items; at most ${most} are allowed.`,
      ])
    }
  })

  it('are rejected when a list in an input object has too many items', async () => {
    const query = `query ($x: PurchasedVoucherFilter) { tenant(id: TENANT) { purchasedVouchers(filter: $x) { nextCursor } } }`
    expect(await ask(query, { currency: 'GBP', status: Array(6).fill('VOID') })).not.toHaveProperty('errors')
    const { errors, data } = await ask(query, { currency: 'GBP', status: Array(7).fill('VOID') })
    expect(data).toBeUndefined()
    expect(errors.map((error: { message: string }) => error.message)).toEqual([
      'The variable $x.status has 7 items; at most 6 are allowed.',
    ])
  })

  it.each([
    ['ids that are objects', ids, Array(100).fill({})],
    ['ids that are lists of numbers', ids, Array(100).fill(Array(100).fill(0))],
    ['unknown fields of an input', input, Object.fromEntries([...Array(5_000).keys()].map(n => [`k${n}`, n]))],
  ])('cause ten errors, and one that says that more were left out: %s', async (_, query, x) => {
    const { errors, data } = await ask(query, x)
    expect(data).toBeUndefined()
    expect(errors).toHaveLength(11)
    expect(errors[10].message).toContain('Too many errors')
  })

  it.each([
    ['{ viewer { nam } }', 'name'],
    ['{ tenant(i: 1) { name } }', 'id'],
    ['{ tenants { edges { node { ...F } } } } fragment F on Tennant { name }', 'Tenant'],
    ['{ tenant(id: 1) { purchasedVouchers(orderBy: { field: VALID_UNTI }) { nodes { id } } } }', 'VALID_UNTIL'],
  ])('of the document suggest the name that was meant: %s', async (query, name) => {
    const { errors } = await ask(query, null)
    expect(errors.map(({ message }: { message: string }) => message).join()).toMatch(
      new RegExp(`Did you mean [^?]*"${name}"`),
    )
  })

  it.each([
    ['letters', 'x'.repeat(90_000)],
    ['suggestions', 'Did you mean '.repeat(7_000)],
    ['suggestions with a question mark', `${'Did you mean '.repeat(7_000)}?`],
    ['surrogate pairs', '😀'.repeat(20_000)],
    ['an object', { ['k'.repeat(40_000)]: 'x'.repeat(40_000) }],
  ])('are quoted in at most 200 characters, in a variable and in the document: %s', async (_, x) => {
    const literal = typeof x === 'string' ? JSON.stringify(x) : `{ ${Object.keys(x)[0]}: "x" }`
    for (const { errors } of [
      await ask(integer, x),
      await ask(enums, x),
      await ask(enums, [x]),
      await ask(input, x),
      await ask(`{ tenants(first: ${literal}) { totalCount } }`, null),
      await ask(`{ tenants(${'x'.repeat(50_000)}: 1) { totalCount } }`, null),
      await ask(`{ ${'x'.repeat(90_000)} }`, null),
      await ask(`{ ${'x'.repeat(90_000)}: viewer { name } }`, null),
      await ask(`query ($${'x'.repeat(90_000)}: Int) { viewer { name } }`, null),
      await ask(`query A { viewer { name } } ${'x'.repeat(90_000)}`, null),
    ]) {
      expect(errors.length).toBeGreaterThan(0)
      for (const { message, path } of errors) {
        expect(message.length).toBeLessThanOrEqual(200)
        expect(path).toBeUndefined()
      }
    }
  })
})

describe('locations of errors', () => {
  const failing = (padding: string) =>
    `${padding}query ($ids: [ID!]!) { ${[...'abcdefghij'].map(name => `${name}: nodes(ids: $ids) { id }`).join(' ')} }`
  const variables = { ids: Array(100).fill('x') }

  it('are given for a short document', async () => {
    const { body } = await client.graphql(secret, failing('\n'.repeat(50)), variables)
    expect(body.errors).toHaveLength(1_000)
    expect(body.errors[0].locations).toEqual([{ line: 51, column: expect.any(Number) }])
  })

  it.each([
    ['lines', '\n'.repeat(40_000)],
    ['carriage returns', '\r'.repeat(40_000)],
    ['spaces', ' '.repeat(90_000)],
    ['comments', '#\n'.repeat(30_000)],
  ])('are left out for a document with many %s, because each is searched from the beginning', async (_, padding) => {
    for (let time = 0; time < 2; time++) {
      const { body } = await client.graphql(secret, failing(padding), variables)
      expect(body.errors).toHaveLength(1_000)
      expect(body.errors[0]).toEqual({
        message: 'No such record.',
        path: ['a', 0],
        extensions: { code: 'NOT_FOUND' },
      })
    }
  })
})

describe('a document within the limits is executed', () => {
  it.each([
    ['30 aliases', () => aliases(30)],
    [
      '100 products with all fields',
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

describe('a request is rejected', () => {
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

  it('when it is a batch', async () => {
    const { status, body } = await ask({ payload: JSON.stringify([viewer, viewer]) })
    expect(status).toBe(400)
    expect(body.errors[0].message).toBe('Batching is not supported.')
  })

  it('when its body is longer than 100 KiB', async () => {
    const payloadOf = (length: number) => {
      const empty = JSON.stringify({ ...viewer, variables: { x: '' } })
      return empty.replace('"x":""', `"x":"${'x'.repeat(length - empty.length)}"`)
    }
    expect((await ask({ payload: payloadOf(100 * 1024) })).status).toBe(200)
    const { status, body } = await ask({ payload: payloadOf(100 * 1024 + 1) })
    expect(status).toBe(413)
    expect(body.errors[0].extensions.code).toBe('TOO_LARGE')
  })

  it('when it is a mutation by GET', async () => {
    const query = `mutation { resolveVoucher(input: { tenantId: ${tenantId}, voucherReference: "x" }) { status } }`
    const { status, headers } = await ask({
      method: 'GET',
      url: `/graphql?query=${encodeURIComponent(query)}`,
      headers: { 'content-type': undefined },
    })
    expect(status).toBe(405)
    expect(headers.allow).toContain('POST')
  })

  it('when it is a form, which a page of another origin could send', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain']) {
      const { status, body } = await ask({ payload: 'query={viewer{name}}', headers: { 'content-type': type } })
      expect(status).toBe(422)
      expect(body.errors[0].extensions.code).toBe('BAD_USER_INPUT')
    }
  })

  it.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const)('when its method is %s', async method => {
    const { status, headers, body } = await ask({ method, headers: { 'content-type': undefined } })
    expect(status).toBe(405)
    expect(headers.allow).toBe('GET, POST')
    expect(body.errors[0].extensions.code).toBe('METHOD_NOT_ALLOWED')
  })
})
