import { getIntrospectionQuery } from 'graphql'
import { describe, expect, it } from 'vitest'
import { type Answer, codeOf } from '../support/app.ts'
import { startService } from '../support/service.ts'
import { capture, namesOf } from './statements.ts'

const { build, client, database } = await startService()
const tenantId = await build.tenant()
const { secret } = await build.token([tenantId])

/** Writes a field many times, each with an alias of its own. */
const aliases = (count: number, field = 'viewer { name }') =>
  Array.from({ length: count }, (_, n) => `a${n}: ${field}`).join(' ')

const ofTenant = (selection: string) => `{ tenant(id: ${tenantId}) { ${selection} } }`
const messagesOf = ({ body }: Answer) => body.errors.map(({ message }: { message: string }) => message)

/** Each fragment spreads the next one twice, so that spelling it out would take 2^count fields. */
const doubling = (count: number) =>
  Array.from({ length: count }, (_, n) => `fragment F${n} on Viewer { ...F${n + 1} ...F${n + 1} }`).join(' ')

const product = 'fromPrice categories { id title slug } variants { id title slug price }'
const products = (first: string) => `catalogVouchers(first: ${first}) { nodes { ${product} } }`

describe('a document is rejected before any part of it is executed', () => {
  it.each([
    ['1,000 aliases', `{ ${aliases(1_000)} }`],
    ['31 aliases', `{ ${aliases(31)} }`],
    [
      'introspection by 30 aliases',
      `{ ${aliases(30, '__schema { types { name kind fields { name description isDeprecated } } }')} }`,
    ],
    [
      'introspection by aliases within each other',
      `{ __schema { ${aliases(8, `types { ${aliases(5, 'fields { name args { name description defaultValue } }')} }`)} } }`,
    ],
    [
      'introspection of a type by aliases',
      `{ ${aliases(5, `__type(name: "Query") { ${aliases(5, `fields { ${aliases(9, 'args { type { fields { name } } }')} }`)} }`)} }`,
    ],
    ['aliases in fragments', `{ ${'viewer { ...F } '.repeat(16)} } fragment F on Viewer { a: name b: name }`],
    ['more than 2,000 tokens', `{ viewer { ${'name '.repeat(2_000)} } }`],
    ['a depth of more than 10', `{ viewer { ${'... on Viewer { '.repeat(12)} name ${'} '.repeat(12)} } }`],
    ['an alias of more than 100 characters', `{ ${'a'.repeat(101)}: viewer { name } }`],
    ['a literal list of 101 ids', `{ nodes(ids: [${'"x" '.repeat(101)}]) { id } }`],
    ['a literal list longer than its enum', ofTenant(`removals(resources: [${'TENANT '.repeat(5)}]) { totalCount }`)],
    ['recursive introspection', `{ __schema { ${'types { fields { type { '.repeat(5)} name ${'} } } '.repeat(5)} } }`],
    ['a fragment that spreads itself', '{ viewer { ...A } } fragment A on Viewer { ...A }'],
    [
      'fragments that spread each other',
      '{ viewer { ...A } } fragment A on Viewer { ...B } fragment B on Viewer { ...A }',
    ],
    ['fragments that double', `{ viewer { ...F0 } } ${doubling(60)} fragment F60 on Viewer { name }`],
    ['a complexity of more than 25,000', ofTenant(aliases(14, products('100')))],
  ])('%s', async (_, query) => {
    const statements = await capture(database.pool, async () => {
      const { status, body } = await client.graphql(secret, query)
      expect(status).toBe(400)
      expect(body.data).toBeUndefined()
      expect(body.errors.length).toBeGreaterThan(0)
      expect(body.errors[0].extensions.code).toMatch(
        /^(BAD_USER_INPUT|GRAPHQL_PARSE_FAILED|GRAPHQL_VALIDATION_FAILED)$/,
      )
    })
    expect(namesOf(statements)).toEqual([])
  })

  it('a complexity that is too high because of the variables', async () => {
    const query = `query ($n: Int, $ids: [ID!]!) { nodes(ids: $ids) { id ... on Tenant { ${products('$n')} } } }`
    const answer = await client.graphql(secret, query, { n: 100, ids: Array<string>(100).fill('x') })
    expect(answer.status).toBe(400)
    expect(messagesOf(answer)[0]).toMatch(/^The complexity of the query is \d+; at most 25000 is allowed\./)
  })
})

describe('the complexity of a document is the complexity of the operation that runs', () => {
  const heavy = `{ tenants(first: 100) { nodes { ${aliases(10, products('100'))} } } }`
  const light = '{ viewer { name } }'
  const tooMuch = [expect.stringMatching(/^The complexity of the query is \d+; at most 25000/)]

  it.each([
    ['last', `query A ${light} query B ${heavy}`],
    ['first', `query B ${heavy} query A ${light}`],
    ['between others', `query A ${light} query B ${heavy} query C ${light}`],
    ['in a fragment', `query A ${light} query B { ...F } fragment F on Query ${heavy}`],
  ])('in any position: %s', async (_, query) => {
    for (let time = 0; time < 3; time++) {
      const statements = await capture(database.pool, async () => {
        const answer = await client.post(secret, { query, operationName: 'B' })
        expect(messagesOf(answer)).toEqual(tooMuch)
        expect(answer.body.data).toBeUndefined()
      })
      expect(namesOf(statements)).toEqual([])
      const { body } = await client.post(secret, { query, operationName: 'A' })
      expect(body.data).toEqual({ viewer: { name: expect.any(String) } })
    }
  })

  it('is checked before the document is validated', async () => {
    const query = `query A ${light} query B ${heavy} query C { nothing }`
    expect(messagesOf(await client.post(secret, { query, operationName: 'B' }))).toEqual(tooMuch)
  })

  it('is computed from the variables of each request, also for a cached document', async () => {
    const query = `query ($n: Int) ${ofTenant(aliases(14, products('$n')))}`
    for (let time = 0; time < 3; time++) {
      await client.read(secret, query, { n: 1 })
      expect(messagesOf(await client.graphql(secret, query, { n: 100 }))).toEqual(tooMuch)
    }
  })

  it('counts a repeated field once, and a skipped field not at all', async () => {
    const eight = aliases(8, products('100'))
    await client.read(secret, ofTenant(`${eight} ${eight}`))
    const skipping = `query ($no: Boolean!) ${ofTenant(`${eight} ... @skip(if: $no) { x: ${products('100')} y: ${products('100')} }`)}`
    await client.read(secret, skipping, { no: true })
    expect(messagesOf(await client.graphql(secret, skipping, { no: false }))).toEqual(tooMuch)
  })
})

describe('invalid variables', () => {
  const enums = `query ($x: [RemovalResource!]) ${ofTenant('removals(resources: $x) { totalCount }')}`
  const ids = 'query ($x: [ID!]!) { nodes(ids: $x) { id } }'
  const input = 'mutation ($x: ResolveVoucherInput!) { resolveVoucher(input: $x) { status } }'
  const filter = `query ($x: PurchasedVoucherFilter) ${ofTenant('purchasedVouchers(filter: $x) { nextCursor }')}`
  const ask = (query: string, x: unknown) => client.graphql(secret, query, { x })

  it.each([
    ['ids', ids, 101, 100],
    ['ids', ids, 9_000, 100],
    ['enum values', enums, 5, 4],
    ['enum values', enums, 9_000, 4],
  ])('are rejected when a list has too many items: %s', async (_, query, length, most) => {
    for (const item of [0, 'TENANT', null, []]) {
      const answer = await ask(query, Array(length).fill(item))
      expect(answer.body.data).toBeUndefined()
      expect(messagesOf(answer)).toEqual([`The variable $x has ${length} items; at most ${most} are allowed.`])
    }
  })

  it('are rejected when a list in an input object has too many items', async () => {
    await client.read(secret, filter, { x: { currency: 'GBP', status: Array(6).fill('VOID') } })
    const answer = await ask(filter, { currency: 'GBP', status: Array(7).fill('VOID') })
    expect(answer.body.data).toBeUndefined()
    expect(messagesOf(answer)).toEqual(['The variable $x.status has 7 items; at most 6 are allowed.'])
  })

  it.each([
    ['ids that are objects', ids, Array(100).fill({})],
    ['ids that are lists of numbers', ids, Array(100).fill(Array(100).fill(0))],
    ['unknown fields of an input', input, Object.fromEntries([...Array(5_000).keys()].map(n => [`k${n}`, n]))],
  ])('cause ten errors, and one that says that more were left out: %s', async (_, query, x) => {
    const answer = await ask(query, x)
    expect(answer.body.data).toBeUndefined()
    expect(messagesOf(answer)).toHaveLength(11)
    expect(messagesOf(answer)[10]).toContain('Too many errors')
  })

  it.each([
    ['{ viewer { nam } }', 'name'],
    ['{ tenant(i: 1) { name } }', 'id'],
    ['{ tenants { edges { node { ...F } } } } fragment F on Tennant { name }', 'Tenant'],
    ['{ tenant(id: 1) { purchasedVouchers(orderBy: { field: VALID_UNTI }) { nodes { id } } } }', 'VALID_UNTIL'],
  ])('of the document suggest the name that was meant: %s', async (query, name) => {
    expect(messagesOf(await ask(query, null)).join()).toMatch(new RegExp(`Did you mean [^?]*"${name}"`))
  })
})

describe('locations of errors', () => {
  const failing = (padding: string) => `${padding}query ($ids: [ID!]!) { ${aliases(10, 'nodes(ids: $ids) { id }')} }`
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
      expect(body.errors[0]).toEqual({ message: 'No such record.', path: ['a0', 0], extensions: { code: 'NOT_FOUND' } })
    }
  })
})

describe('brackets within each other', () => {
  const nested = (count: number, open: string, close: string) => open.repeat(count) + close.repeat(count)
  const refusal = 'The document has more than 100 brackets within each other. Nest its fields, lists and objects less.'

  it.each<[string, (count: number) => string]>([
    ['lists', count => `{ nodes(ids: ${nested(count, '[', ']')}) { id } }`],
    ['lists that do not end', count => `{ nodes(ids: ${'['.repeat(count)}`],
    ['objects', count => `{ tenants(filter: ${nested(count, '{a:', '}')}) { id } }`],
    ['selections', count => nested(count, '{a', '}')],
    ['inline fragments', count => `{ ${nested(count, '...{', '}')} }`],
    ['arguments of directives', count => `{ a @b(c: ${nested(count, '[', ']')}) }`],
    ['types of variables', count => `query ($a: ${nested(count, '[', ']')}) { a }`],
    ['defaults of variables', count => `query ($a: B = ${nested(count, '[', ']')}) { a }`],
    ['lists of a type system', count => `type A { b(c: D = ${nested(count, '[', ']')}): E }`],
    ['lists within objects', count => `{ a(b: ${nested(count / 2, '[{c:', '}]')}) }`],
  ])('are counted before the document is parsed: %s', async (_, make) => {
    for (const count of [102, 640, 1_980]) {
      const { status, body } = await client.graphql(secret, make(count))
      expect([status, body.errors.map(({ message }: { message: string }) => message)]).toEqual([400, [refusal]])
    }
    const fewer = await client.graphql(secret, make(90))
    expect(fewer.status).toBe(400)
    expect(messagesOf(fewer)).not.toContain(refusal)
  })
})

it.each([
  ['30 aliases', `{ ${aliases(30)} }`],
  ['introspection with aliases', '{ schema: __schema { all: types { name } } query: __type(name: "Query") { kind } }'],
  [
    'the introspection of tools, with another',
    `${getIntrospectionQuery()}`.replace('__schema', 'a: __schema { types { name } } __schema'),
  ],
  ['100 products', ofTenant(`${products('100')} more: catalogVouchers(first: 100) { edges { node { ${product} } } }`)],
])('a document within the limits is executed: %s', async (_, query) => {
  await client.read(secret, query)
})

describe('a request is rejected', () => {
  const viewer = { query: '{ viewer { name } }' }

  it('when it is a batch', async () => {
    for (const accept of ['application/json', 'application/graphql-response+json']) {
      const { status, body } = await client.post(secret, [viewer, viewer], { accept })
      expect(status).toBe(400)
      expect(body.errors[0].message).toBe('Send one JSON object with a query: a list of operations does not run.')
    }
  })

  it('when its body is longer than 100 KiB', async () => {
    const payloadOf = (length: number) => {
      const empty = JSON.stringify({ ...viewer, variables: { x: '' } })
      return empty.replace('"x":""', `"x":"${'x'.repeat(length - empty.length)}"`)
    }
    expect((await client.post(secret, payloadOf(100 * 1024))).status).toBe(200)
    const answer = await client.post(secret, payloadOf(100 * 1024 + 1))
    expect([answer.status, codeOf(answer)]).toEqual([413, 'TOO_LARGE'])
  })

  it('when it is a form, which a page of another origin could send', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain']) {
      const answer = await client.post(secret, 'query={viewer{name}}', { 'content-type': type })
      expect([answer.status, codeOf(answer)]).toEqual([422, 'BAD_USER_INPUT'])
    }
  })

  it.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const)('when its method is %s', async method => {
    const headers = { accept: '*/*', authorization: `Bearer ${secret}` }
    const answer = await client.ask({ method, url: '/graphql', headers })
    expect([answer.status, codeOf(answer)]).toEqual([405, 'METHOD_NOT_ALLOWED'])
    expect(answer.headers.allow).toBe('GET, POST')
  })
})
