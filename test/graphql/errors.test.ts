import { serverAudits } from 'graphql-http'
import { expect, it } from 'vitest'
import type { Answer } from '../support/app.ts'
import { startService } from '../support/service.ts'

const { build, client } = await startService()
const tenantId = await build.tenant()
const { secret } = await build.token([tenantId])

const internals =
  /\bselect\b|relation|does not exist|syntax error at|postgres|\.[tj]s\b|node_modules| at \w+ \(|stack|SyntaxError|in JSON/i

/** Checks that an error answer has the right form and shows nothing of the implementation. */
function expectWellFormed({ status, headers, text, body }: Answer): void {
  expect(status).toBeLessThan(500)
  expect(headers['content-type']).toMatch(/^application\/(graphql-response\+)?json/)
  expect(headers).toMatchObject({ 'cache-control': 'private, no-store', 'x-request-id': expect.any(String) })
  expect(text).not.toMatch(internals)
  for (const { extensions } of body.errors) expect(extensions.code).not.toMatch(/INTERNAL|UNAVAILABLE/)
  // A document that did not run costs one operation.
  const [remaining, resetsIn] = ['remaining', 'reset'].map(name => Number(headers[`ratelimit-${name}`]))
  if (!('data' in body)) expect(body.extensions.cost).toEqual({ requested: 1, actual: 1, remaining, resetsIn })
}

const resolve = (input: string) => `mutation { resolveVoucher(input: { tenantId: ${tenantId}, ${input} }) { status } }`

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
])('bad input is reported to the caller: %s', async (_, query, variables) => {
  // The second request uses the cached document.
  for (let time = 0; time < 2; time++) {
    const answer = await client.graphql(secret, query, { ...variables })
    expect(answer.body.errors.length).toBeGreaterThan(0)
    expectWellFormed(answer)
    // The specification GraphQL over HTTP demands an error status for an answer without data.
    expect(answer.status).toBe('data' in answer.body ? 200 : 400)
  }
})

it.each([
  ...['{', '', 'null', '"{ viewer { name } }"', '[{"query":"{ viewer { name } }"}]', '{}', '{"query":5}'],
  '{"query":"{ viewer { name } }","variables":[]}',
  '{"query":"{ viewer { name } }","operationName":"x"}',
  '{"query":"{ viewer { name } }","surplus":1}',
  ' '.repeat(200_000),
])('bad input is reported to the caller: the body %s', async body => {
  expectWellFormed(await client.post(secret, body))
})

const strings = ['', '?query=%7B', '?query=%ff', '?query={viewer{name}}&variables={']
it.each([...strings, '?query={viewer{name}}&extensions=x'])('bad input is reported: GET %j', async query => {
  const headers = { authorization: `Bearer ${secret}`, accept: 'application/json' }
  expectWellFormed(await client.ask({ method: 'GET', url: `/graphql${query}`, headers }))
})

it('a list without permission is refused before its arguments are checked', async () => {
  const nobody = await build.token([tenantId], { permissions: [] })
  const list = 'catalogVouchers(first: -1, after: "x", updatedSince: "x") { totalCount }'
  const { body } = await client.graphql(nobody.secret, `{ tenant(id: ${tenantId}) { ${list} } }`)
  expect(body.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
})

const url = `${await client.app.listen({ host: '127.0.0.1', port: 0 })}/graphql`

const fetchFn = (url: string, options: RequestInit = {}) => {
  const headers = new Headers(options.headers)
  headers.set('authorization', `Bearer ${secret}`)
  return fetch(url, { ...options, headers })
}
const body = JSON.stringify({ query: '{ __typename }' })
const accepting = (accept: string) =>
  fetchFn(url, { method: 'POST', headers: { accept, 'content-type': 'application/json' }, body })

it('the service passes every audit of GraphQL over HTTP', async () => {
  const audits = serverAudits({ url, fetchFn })
  expect(audits.length).toBeGreaterThanOrEqual(61)
  const failed: string[] = []
  for (const audit of audits) {
    const result = await audit.fn()
    if (result.status !== 'ok') failed.push(`${result.status}: ${audit.name}`)
  }
  expect(failed).toEqual([])
})

it.each([
  ['application/graphql-response+json, application/json;q=0.9', 'application/graphql-response+json'],
  ['multipart/mixed, application/json', 'application/json'],
])('a caller that accepts %s is answered in %s', async (accept, form) => {
  const answer = await accepting(accept)
  expect([answer.status, answer.headers.get('content-type')?.split(';')[0]]).toEqual([200, form])
  expect(await answer.json()).toMatchObject({ data: { __typename: 'Query' } })
})

it.each(['multipart/mixed', 'text/html'])('a caller that accepts only %s is refused', async accept => {
  const answer = await accepting(accept)
  expect(answer.status).toBe(422)
  expect((await answer.json()).errors[0].extensions.errors).toHaveProperty('accept')
})

it.each([
  [`\ufeff{"query":"{ __typename }","operationName":""}`, {}, 200, null],
  [body, { 'content-encoding': 'gzip' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ['', { 'content-encoding': 'gzip' }, 400, 'BAD_REQUEST'],
  ['{"query":"{ __typename }","operationName":5}', {}, 400, 'BAD_REQUEST'],
])('the body %j with the headers %j is answered with status %i', async (body, headers, status, code) => {
  const sent = { accept: 'application/json', 'content-type': 'application/json', ...headers }
  const answer = await fetchFn(url, { method: 'POST', headers: sent, body })
  expect([answer.status, (await answer.json()).errors?.[0].extensions.code ?? null]).toEqual([status, code])
  const named = await fetchFn(`${url}?query={__typename}&operationName=`, { headers: { accept: 'application/json' } })
  expect(named.status).toBe(200)
})
