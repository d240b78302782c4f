import { getIntrospectionQuery } from 'graphql'
import { expect, it } from 'vitest'
import { type Answer, codeOf } from '../support/app.ts'
import { startService } from '../support/service.ts'
import { capture, namesOf } from './statements.ts'

const { build, client, pool } = await startService()
const tenantId = await build.tenant()
const { secret } = await build.token([tenantId])

/** Repeats a field, each time with a different alias. */
const aliases = (count: number, field = 'viewer { name }') =>
  Array.from({ length: count }, (_, n) => `a${n}: ${field}`).join(' ')

const ofTenant = (selection: string) => `{ tenant(id: ${tenantId}) { ${selection} } }`
const messagesOf = ({ body }: Answer) => body.errors.map(({ message }: { message: string }) => message)

/**
 * Returns fragments that each spread the next fragment twice: without fragments, the document would have 2^count
 * fields.
 */
const doublingFragments = (count: number) =>
  Array.from({ length: count }, (_, n) => `fragment F${n} on Viewer { ...F${n + 1} ...F${n + 1} }`).join(' ')

const product = 'fromPrice categories { id title slug } variants { id title slug price }'
const products = (first: string) => `catalogVouchers(first: ${first}) { nodes { ${product} } }`

const wholeSchema = '__schema { types { name kind fields { name description isDeprecated } } }'
const manyFields = `types { ${aliases(5, 'fields { name args { name description defaultValue } }')} }`
it.each([
  ['31 aliases', `{ ${aliases(31)} }`],
  ['introspection by 30 aliases', `{ ${aliases(30, wholeSchema)} }`],
  ['introspection by aliases within each other', `{ __schema { ${aliases(8, manyFields)} } }`],
  ['aliases in fragments', `{ ${'viewer { ...F } '.repeat(16)} } fragment F on Viewer { a: name b: name }`],
  ['more than 2,000 tokens', `{ viewer { ${'name '.repeat(2_000)} } }`],
  ['a depth of more than 10', `{ viewer { ${'... on Viewer { '.repeat(12)} name ${'} '.repeat(12)} } }`],
  ['an alias of more than 100 characters', `{ ${'a'.repeat(101)}: viewer { name } }`],
  ['a literal list of 101 ids', `{ nodes(ids: [${'"x" '.repeat(101)}]) { id } }`],
  ['a literal list longer than its enum', ofTenant(`removals(resources: [${'TENANT '.repeat(5)}]) { totalCount }`)],
  ['recursive introspection', `{ __schema { ${'types { fields { type { '.repeat(5)} name ${'} } } '.repeat(5)} } }`],
  ['a fragment that spreads itself', '{ viewer { ...A } } fragment A on Viewer { ...A }'],
  ['fragments that double', `{ viewer { ...F0 } } ${doublingFragments(60)} fragment F60 on Viewer { name }`],
  ['a complexity of more than 25,000', ofTenant(aliases(14, products('100')))],
])('a document is rejected before any part of it is executed: %s', async (_, query) => {
  const statements = await capture(pool, async () => {
    const { status, body } = await client.graphql(secret, query)
    expect(status).toBe(400)
    expect(body.data).toBeUndefined()
    expect(body.errors.length).toBeGreaterThan(0)
    expect(body.errors[0].extensions.code).toMatch(/^(BAD_USER_INPUT|GRAPHQL_PARSE_FAILED|GRAPHQL_VALIDATION_FAILED)$/)
  })
  expect(namesOf(statements)).toEqual([])
})

const heavy = `{ tenants(first: 100) { nodes { ${aliases(10, products('100'))} } } }`
const light = '{ viewer { name } }'
const tooMuch = [expect.stringMatching(/^The complexity of the query is \d+; at most 25000/)]

it.each([
  ['last', `query A ${light} query B ${heavy}`],
  ['first', `query B ${heavy} query A ${light}`],
  ['in a fragment', `query A ${light} query B { ...F } fragment F on Query ${heavy}`],
])('only the operation that runs counts for the complexity, in any position: %s', async (_, query) => {
  for (let time = 0; time < 3; time++) {
    expect(messagesOf(await client.post(secret, { query, operationName: 'B' }))).toEqual(tooMuch)
    const { body } = await client.post(secret, { query, operationName: 'A' })
    expect(body.data).toEqual({ viewer: { name: expect.any(String) } })
  }
})

it('the complexity is computed from the variables of each request, also for a cached document', async () => {
  const query = `query ($n: Int, $ids: [ID!]!) { nodes(ids: $ids) { ... on Tenant { ${products('$n')} } } }`
  for (let time = 0; time < 3; time++) {
    await client.read(secret, query, { n: 1, ids: [] })
    const ids = Array<string>(100).fill('x')
    expect(messagesOf(await client.graphql(secret, query, { n: 100, ids }))).toEqual(tooMuch)
  }
})

it('the complexity counts a repeated field once, and a skipped field not at all', async () => {
  const eight = aliases(8, products('100'))
  await client.read(secret, ofTenant(`${eight} ${eight}`))
  const skipping = `query ($no: Boolean!) ${ofTenant(`${eight} ... @skip(if: $no) { x: ${products('100')} y: ${products('100')} }`)}`
  await client.read(secret, skipping, { no: true })
  expect(messagesOf(await client.graphql(secret, skipping, { no: false }))).toEqual(tooMuch)
})

const enums = `query ($x: [RemovalResource!]) ${ofTenant('removals(resources: $x) { totalCount }')}`
const ids = 'query ($x: [ID!]!) { nodes(ids: $x) { id } }'
const input = 'mutation ($x: ResolveVoucherInput!) { resolveVoucher(input: $x) { status } }'
const filter = `query ($x: PurchasedVoucherFilter) ${ofTenant('purchasedVouchers(filter: $x) { nextCursor }')}`
const ask = (query: string, x: unknown) => client.graphql(secret, query, { x })

it.each([
  ['ids', ids, Array(101).fill(null), 'The variable $x has 101 items; at most 100 are allowed.'],
  ['enum values', enums, Array(5).fill([]), 'The variable $x has 5 items; at most 4 are allowed.'],
  ['a field', filter, { status: Array(7).fill('VOID') }, 'The variable $x.status has 7 items; at most 6 are allowed.'],
])('variables are rejected when a list has too many items: %s', async (_, query, x, message) => {
  const answer = await ask(query, x)
  expect(answer.body.data).toBeUndefined()
  expect(messagesOf(answer)).toEqual([message])
})

it.each([
  ['ids that are lists of numbers', ids, Array(100).fill(Array(100).fill(0))],
  ['unknown fields of an input', input, Object.fromEntries([...Array(5_000).keys()].map(n => [`k${n}`, n]))],
])('invalid variables cause ten errors, and one that says that more were left out: %s', async (_, query, x) => {
  const answer = await ask(query, x)
  expect(answer.body.data).toBeUndefined()
  expect(messagesOf(answer)).toHaveLength(11)
  expect(messagesOf(answer)[10]).toContain('Too many errors')
})

it.each([
  ['{ viewer { nam } }', 'name'],
  ['{ tenant(id: 1) { purchasedVouchers(orderBy: { field: VALID_UNTI }) { nodes { id } } } }', 'VALID_UNTIL'],
])('errors of the document suggest the name that was meant: %s', async (query, name) => {
  expect(messagesOf(await ask(query, null)).join()).toMatch(new RegExp(`Did you mean [^?]*"${name}"`))
})

const failing = (padding: string) => `${padding}query ($ids: [ID!]!) { ${aliases(10, 'nodes(ids: $ids) { id }')} }`
const variables = { ids: Array(100).fill('x') }

it('errors have locations when the document is short', async () => {
  const { body } = await client.graphql(secret, failing('\n'.repeat(50)), variables)
  expect(body.errors[0].locations).toEqual([{ line: 51, column: expect.any(Number) }])
})

it.each([
  ['lines', '\n'.repeat(40_000)],
  ['spaces', ' '.repeat(90_000)],
])('locations are left out for a document with many %s, because each is searched from the beginning', async (_, padding) => {
  for (let time = 0; time < 2; time++) {
    const { body } = await client.graphql(secret, failing(padding), variables)
    expect(body.errors).toHaveLength(1_000)
    expect(body.errors[0]).toEqual({ message: 'No such record.', path: ['a0', 0], extensions: { code: 'NOT_FOUND' } })
  }
})

it.each([
  ['30 aliases', `{ ${aliases(30)} }`],
  ['the introspection of tools', getIntrospectionQuery()],
  ['100 products', ofTenant(`${products('100')} more: catalogVouchers(first: 100) { edges { node { ${product} } } }`)],
])('a document within the limits is executed: %s', async (_, query) => {
  await client.read(secret, query)
})

it('nested brackets are counted before the document is parsed', async () => {
  const refusal = 'The document has more than 100 brackets within each other. Nest its fields, lists and objects less.'
  for (const [open, close] of [
    ['{a', '}'],
    ['...{', '}'],
    ['[{c:', '}]'],
    ['[', ''],
  ] as const) {
    const nested = (count: number) =>
      client.graphql(secret, `{ a(b: ${open.repeat(count)}${close.repeat(count)}) { id } }`)
    for (const count of [102, 640]) {
      const answer = await nested(count)
      expect([answer.status, messagesOf(answer)], open).toEqual([400, [refusal]])
    }
    expect(messagesOf(await nested(45)), open).not.toContain(refusal)
  }
})

const viewer = { query: '{ viewer { name } }' }

it('a request is rejected when its body is longer than 100 KiB', async () => {
  const payloadOf = (length: number) => {
    const empty = JSON.stringify({ ...viewer, variables: { x: '' } })
    return empty.replace('"x":""', `"x":"${'x'.repeat(length - empty.length)}"`)
  }
  expect((await client.post(secret, payloadOf(100 * 1024))).status).toBe(200)
  const answer = await client.post(secret, payloadOf(100 * 1024 + 1))
  expect([answer.status, codeOf(answer)]).toEqual([413, 'TOO_LARGE'])
})

it('a request is rejected when it is a form, which a page of another origin could send', async () => {
  for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain']) {
    const answer = await client.post(secret, 'query={viewer{name}}', { 'content-type': type })
    expect([answer.status, codeOf(answer)]).toEqual([422, 'BAD_USER_INPUT'])
  }
})

it.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const)('a request is rejected when its method is %s', async method => {
  const headers = { accept: '*/*', authorization: `Bearer ${secret}` }
  const answer = await client.ask({ method, url: '/graphql', headers })
  expect([answer.status, codeOf(answer)]).toEqual([405, 'METHOD_NOT_ALLOWED'])
  expect(answer.headers.allow).toBe('GET, POST')
})
