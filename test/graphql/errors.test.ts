import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, type Client, createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'

let client: Client
let database: TestDatabase
let secret: string
let tenantId: number

beforeAll(async () => {
  database = await createDatabase()
  client = await createApp(database)
  const build = createBuilders(database)
  tenantId = await build.tenant()
  await build.product(tenantId)
  secret = (await build.token([tenantId])).secret
})

const internals =
  /\bselect\b|relation|does not exist|syntax error at|postgres|\.[tj]s\b|node_modules| at \w+ \(|stack|SyntaxError|in JSON/i

/** Checks that an answer is proper, whatever was asked. */
function expectCivil({ status, headers, text, body }: Answer): void {
  expect(status).toBeLessThan(500)
  expect(headers['content-type']).toMatch(/^application\/(graphql-response\+)?json/)
  expect(headers).toMatchObject({ 'cache-control': 'private, no-store', 'x-request-id': expect.any(String) })
  expect(text).not.toMatch(internals)
  for (const { extensions } of body.errors) expect(extensions.code).not.toMatch(/INTERNAL|UNAVAILABLE/)
}

describe('bad input', () => {
  const list = (args: string) => `query ($n: Int, $id: ID!, $at: DateTime, $text: String) {
    tenant(id: ${tenantId}) { catalogVouchers(${args}) { totalCount } catalogVoucher(id: $id) { id } } }`

  it.each([
    ['an Int that is text', 'query ($n: Int) { tenants(first: $n) { totalCount } }', { n: 'x' }],
    ['an Int too large', 'query ($n: Int) { tenants(first: $n) { totalCount } }', { n: 2 ** 31 }],
    ['an Int that is none', 'query ($n: Int) { tenants(first: $n) { totalCount } }', { n: 1.5 }],
    ['a DateTime that is a number', 'query ($at: DateTime) { tenants(updatedSince: $at) { totalCount } }', { at: 5 }],
    [
      'a DateTime that is a word',
      'query ($at: DateTime) { tenants(updatedSince: $at) { totalCount } }',
      { at: 'infinity' },
    ],
    ['a literal DateTime that is a number', '{ tenants(updatedSince: 5) { totalCount } }', {}],
    ['an ID that is an object', 'query ($id: ID!) { node(id: $id) { id } }', { id: {} }],
    ['an ID that is missing', 'query ($id: ID!) { node(id: $id) { id } }', {}],
    ['an ID that is null after all', 'query ($id: ID = "1") { tenant(id: $id) { name } }', { id: null }],
    ['IDs that are objects', 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: [{}] }],
    [
      'an input that lacks a field',
      'mutation ($i: ResolveVoucherInput!) { resolveVoucher(input: $i) { status } }',
      { i: {} },
    ],
    ['a field that is not there', '{ viewer { nome } }', {}],
    ['a variable of a type that is not there', 'query ($x: Nothing) { viewer { name } }', {}],
    ['no operation', 'fragment F on Viewer { name }', {}],
    ['two operations', 'query A { viewer { name } } query B { viewer { name } }', {}],
    ['a subscription', 'subscription { x }', {}],
    ['nothing', '', {}],
    ['no document', '}', {}],
    ['a NUL in a name', `{ tenant(id: "${tenantId}\\u0000") { name } }`, {}],
    [
      'a NUL in a reference',
      `mutation { resolveVoucher(input: { tenantId: TENANT, voucherReference: "a\\u0000" }) { status } }`,
      {},
    ],
    [
      'half a character in a reference',
      `mutation { resolveVoucher(input: { tenantId: TENANT, qrToken: "\\uD83D" }) { status } }`,
      {},
    ],
    ['a cursor that is none', `{ tenants(after: "\\u0000'; drop table tenant") { totalCount } }`, {}],
  ])('is reported to the caller: %s', async (_, query, variables) => {
    const answer = await client.graphql(secret, query.replace('TENANT', String(tenantId)), variables)
    expect(answer.body.errors.length).toBeGreaterThan(0)
    expectCivil(answer)
    // GraphQL over HTTP: an answer without data is no success.
    expect(answer.status).toBe('data' in answer.body ? 200 : 400)
  })

  it.each([
    ['{'],
    [''],
    ['null'],
    ['5'],
    ['"{ viewer { name } }"'],
    ['{}'],
    ['{"query":5}'],
    ['{"query":"{ viewer { name } }","variables":[]}'],
    ['{"query":"{ viewer { name } }","operationName":"x"}'],
    ['{"query":"{ viewer { name } }","surplus":1}'],
    [
      `{"query":"query ($ids: [ID!]!) { nodes(ids: $ids) { id } }","variables":{"ids":${'['.repeat(9_999)}${']'.repeat(9_999)}}}`,
    ],
  ])('is reported to the caller: the body %s', async payload => {
    const headers = {
      authorization: `Bearer ${secret}`,
      accept: 'application/json',
      'content-type': 'application/json',
    }
    expectCivil(await client.ask({ method: 'POST', url: '/graphql', headers, payload }))
  })

  it.each([
    '',
    '?query=',
    '?query=%7B',
    '?query=%ff',
    '?query={viewer{name}}&variables={',
    '?query={viewer{name}}&extensions=x',
  ])('is reported to the caller: the query string %j', async query => {
    const headers = { authorization: `Bearer ${secret}`, accept: 'application/json' }
    expectCivil(await client.ask({ method: 'GET', url: `/graphql${query}`, headers }))
  })

  it('comes after permission: a list is refused before its arguments are looked at', async () => {
    const nobody = await createBuilders(database).token([tenantId], { permissions: [] })
    const { body } = await client.graphql(nobody.secret, list('first: $n, after: $text, updatedSince: $at'), {
      n: -1,
      id: 'x',
      text: 'x',
      at: 'x',
    })
    expect(body.errors.map((error: { extensions: object }) => error.extensions)).toEqual([
      { code: 'FORBIDDEN' },
      { code: 'FORBIDDEN' },
    ])
  })
})

describe('a fault of the service', () => {
  afterEach(async () => {
    await database.platform`alter table if exists product_away rename to product`
  })

  it('is reported without its cause, beside the fields that were resolved', async () => {
    await database.platform`alter table product rename to product_away`
    const { status, text, body } = await client.graphql(
      secret,
      `{ viewer { permissions } tenant(id: ${tenantId}) { name catalogVouchers { totalCount } } }`,
    )
    expect(status).toBe(200)
    expect(body.data).toEqual({
      viewer: { permissions: expect.any(Array) },
      tenant: { name: expect.any(String), catalogVouchers: null },
    })
    expect(body.errors).toEqual([
      {
        message: 'The service failed to answer. The fault has been noted.',
        locations: [expect.any(Object)],
        path: ['tenant', 'catalogVouchers'],
        extensions: { code: 'INTERNAL' },
      },
    ])
    expect(text).not.toMatch(internals)
    expect(text).not.toContain('product')
  })
})
