import { describe, expect, it } from 'vitest'
import type { Answer } from '../support/app.ts'
import { startService } from '../support/service.ts'

const { build, client } = await startService()
const tenantId = await build.tenant()
const { secret } = await build.token([tenantId])

const internals =
  /\bselect\b|relation|does not exist|syntax error at|postgres|\.[tj]s\b|node_modules| at \w+ \(|stack|SyntaxError|in JSON/i

/** Checks that an answer is well-formed, for any request. */
function expectCivil({ status, headers, text, body }: Answer): void {
  expect(status).toBeLessThan(500)
  expect(headers['content-type']).toMatch(/^application\/(graphql-response\+)?json/)
  expect(headers).toMatchObject({ 'cache-control': 'private, no-store', 'x-request-id': expect.any(String) })
  expect(text).not.toMatch(internals)
  for (const { extensions } of body.errors) expect(extensions.code).not.toMatch(/INTERNAL|UNAVAILABLE/)
  // What does not run counts as one operation.
  const [remaining, resetsIn] = ['remaining', 'reset'].map(name => Number(headers[`ratelimit-${name}`]))
  if (!('data' in body)) expect(body.extensions.cost).toEqual({ requested: 1, actual: 1, remaining, resetsIn })
}

describe('bad input', () => {
  const resolve = (input: string) =>
    `mutation { resolveVoucher(input: { tenantId: ${tenantId}, ${input} }) { status } }`

  it.each<[string, string, object?]>([
    ['an Int that is text', 'query ($n: Int) { tenants(first: $n) { totalCount } }', { n: 'x' }],
    ['a DateTime that is a word', 'query ($at: DateTime) { tenants(updatedSince: $at) { totalCount } }', { at: 'now' }],
    ['a literal DateTime that is a number', '{ tenants(updatedSince: 5) { totalCount } }'],
    ['an ID that is missing', 'query ($id: ID!) { node(id: $id) { id } }'],
    ['an ID that is null after all', 'query ($id: ID = "1") { tenant(id: $id) { name } }', { id: null }],
    ['an input that lacks a field', 'mutation { resolveVoucher(input: {}) { status } }'],
    ['a field that is not there', '{ viewer { nome } }'],
    ['no operation', 'fragment F on Viewer { name }'],
    ['two operations', 'query A { viewer { name } } query B { viewer { name } }'],
    ['nothing', ''],
    ['a NUL in a reference', resolve('voucherReference: "a\\u0000"')],
    ['half a character in a reference', resolve('qrToken: "\\uD83D"')],
    ['a cursor that is none', `{ tenants(after: "\\u0000'; drop table tenant") { totalCount } }`],
  ])('is reported to the caller: %s', async (_, query, variables) => {
    // The second time the document is cached.
    for (let time = 0; time < 2; time++) {
      const answer = await client.graphql(secret, query, { ...variables })
      expect(answer.body.errors.length).toBeGreaterThan(0)
      expectCivil(answer)
      // GraphQL over HTTP: an answer without data is no success.
      expect(answer.status).toBe('data' in answer.body ? 200 : 400)
    }
  })

  it.each([
    ...['{', '', 'null', '"{ viewer { name } }"', '[{"query":"{ viewer { name } }"}]', '{}', '{"query":5}'],
    '{"query":"{ viewer { name } }","variables":[]}',
    '{"query":"{ viewer { name } }","operationName":"x"}',
    '{"query":"{ viewer { name } }","surplus":1}',
    ' '.repeat(200_000),
  ])('is reported to the caller: the body %s', async body => {
    expectCivil(await client.post(secret, body))
  })

  const strings = ['', '?query=%7B', '?query=%ff', '?query={viewer{name}}&variables={']
  it.each([...strings, '?query={viewer{name}}&extensions=x'])('is reported to the caller: GET %j', async query => {
    const headers = { authorization: `Bearer ${secret}`, accept: 'application/json' }
    expectCivil(await client.ask({ method: 'GET', url: `/graphql${query}`, headers }))
  })

  it('comes after permission: a list is refused before its arguments are looked at', async () => {
    const nobody = await build.token([tenantId], { permissions: [] })
    const list = 'catalogVouchers(first: -1, after: "x", updatedSince: "x") { totalCount }'
    const { body } = await client.graphql(nobody.secret, `{ tenant(id: ${tenantId}) { ${list} } }`)
    expect(body.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
  })
})
