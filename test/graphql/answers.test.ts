import { expect, test } from 'vitest'
import { startService } from '../support/service.ts'

const { build, client } = await startService()
const { secret } = await build.token([])
const origin = await client.app.listen({ host: '127.0.0.1', port: 0 })

const ask = (accept: string, query = '{ __typename }') =>
  fetch(`${origin}/graphql`, {
    method: 'POST',
    headers: { accept, authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })

test.each([
  ['application/json', 'application/json'],
  ['application/graphql-response+json', 'application/graphql-response+json'],
  ['application/graphql-response+json, application/json;q=0.9', 'application/graphql-response+json'],
  ['multipart/mixed, application/json', 'application/json'],
  ['*/*', 'application/json'],
])('who accepts %s is answered in %s', async (accept, form) => {
  const answer = await ask(accept)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toMatch(new RegExp(`^${form.replace('+', '\\+')}`))
  expect(await answer.json()).toMatchObject({ data: { __typename: 'Query' } })
})

test.each(['multipart/mixed', 'text/event-stream', 'text/html'])('who accepts %s alone is refused', async accept => {
  const answer = await ask(accept)
  expect(answer.status).toBe(422)
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  expect((await answer.json()).errors[0].extensions.errors).toHaveProperty('accept')
})

test('a query without a content type is refused in JSON', async () => {
  const answer = await fetch(`${origin}/graphql`, { method: 'POST', headers: { authorization: `Bearer ${secret}` } })
  expect(answer.status).toBe(422)
  expect((await answer.json()).errors[0].extensions.code).toBe('BAD_USER_INPUT')
})
