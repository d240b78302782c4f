import { serverAudits } from 'graphql-http'
import { expect, test } from 'vitest'
import { startService } from '../support/service.ts'

const { build, client } = await startService()
const { secret } = await build.token([])
const url = `${await client.app.listen({ host: '127.0.0.1', port: 0 })}/graphql`

const fetchFn = (url: string, options: RequestInit = {}) => {
  const headers = new Headers(options.headers)
  headers.set('authorization', `Bearer ${secret}`)
  return fetch(url, { ...options, headers })
}
const body = JSON.stringify({ query: '{ __typename }' })
const accepting = (accept: string) =>
  fetchFn(url, { method: 'POST', headers: { accept, 'content-type': 'application/json' }, body })

test('passes every audit of GraphQL over HTTP', async () => {
  const audits = serverAudits({ url, fetchFn })
  expect(audits.length).toBeGreaterThanOrEqual(61)
  const failed: string[] = []
  for (const audit of audits) {
    const result = await audit.fn()
    if (result.status !== 'ok') failed.push(`${result.status}: ${audit.name}`)
  }
  expect(failed).toEqual([])
})

test.each([
  ['application/graphql-response+json, application/json;q=0.9', 'application/graphql-response+json'],
  ['multipart/mixed, application/json', 'application/json'],
])('a caller that accepts %s is answered in %s', async (accept, form) => {
  const answer = await accepting(accept)
  expect([answer.status, answer.headers.get('content-type')?.split(';')[0]]).toEqual([200, form])
  expect(await answer.json()).toMatchObject({ data: { __typename: 'Query' } })
})

test.each(['multipart/mixed', 'text/html'])('a caller that accepts only %s is refused', async accept => {
  const answer = await accepting(accept)
  expect(answer.status).toBe(422)
  expect((await answer.json()).errors[0].extensions.errors).toHaveProperty('accept')
})

test.each([
  [`\ufeff{"query":"{ __typename }","operationName":""}`, {}, 200, null],
  [body, { 'content-encoding': 'gzip' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ['', { 'content-encoding': 'gzip' }, 400, 'BAD_REQUEST'],
  ['{"query":"{ __typename }","operationName":5}', {}, 400, 'BAD_REQUEST'],
])('the body %j with the headers %j is %i', async (body, headers, status, code) => {
  const sent = { accept: 'application/json', 'content-type': 'application/json', ...headers }
  const answer = await fetchFn(url, { method: 'POST', headers: sent, body })
  expect([answer.status, (await answer.json()).errors?.[0].extensions.code ?? null]).toEqual([status, code])
  const named = await fetchFn(`${url}?query={__typename}&operationName=`, { headers: { accept: 'application/json' } })
  expect(named.status).toBe(200)
})
