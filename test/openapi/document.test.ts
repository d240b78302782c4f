import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { bulkExports } from '../../src/export/routes.ts'
import { v1 } from '../../src/rest/v1/routes.ts'
import type { RecordedAnswer } from '../../tools/openapi/examples.ts'
import { differenceFrom, document, type Received } from '../support/openapi.ts'

function* placesOf(part: unknown, place: string): Generator<[string, Record<string, unknown>]> {
  if (typeof part !== 'object' || part === null) return
  if (!Array.isArray(part)) yield [place, { ...part }]
  for (const [key, value] of Object.entries(part)) {
    if (key !== 'examples' && key !== 'example') yield* placesOf(value, `${place}/${key}`)
  }
}

describe('the document', () => {
  test('has each route of v1 and of the bulk export, and no other', () => {
    const wanted = [
      ...v1.operations.map(({ method, path }) => `${method} /v1${path}`),
      ...bulkExports.map(({ path }) => `GET /export/v1${path}`),
      'GET /.well-known/jwks.json',
    ].map(route => route.replaceAll(/:(\w+)/g, '{$1}'))
    const described = Object.entries(document.paths).flatMap(([path, { get, post }]) => [
      ...(get ? [`GET ${path}`] : []),
      ...(post ? [`POST ${path}`] : []),
    ])
    expect(described.sort()).toEqual(wanted.sort())
  })

  test('describes each operation, parameter, field, header and status, and gives each parameter an example', () => {
    const lacking: string[] = []
    for (const [place, part] of placesOf(document, '')) {
      const isNamed =
        /\/(properties|headers|responses|parameters|tags|securitySchemes)\/[^/]+$|\/(get|post|requestBody)$/
      if (!isNamed.test(place) || '$ref' in part) continue
      if (typeof part.description !== 'string' || !/[.?]$/.test(part.description)) lacking.push(place)
      // Programs that import the document send the examples of parameters.
      if ('in' in part && 'schema' in part && !('example' in part)) lacking.push(`${place}: an example`)
    }
    expect(lacking).toEqual([])
  })
})

describe('the check of answers', () => {
  const answers: RecordedAnswer[] = JSON.parse(readFileSync('schema/examples.v1.json', 'utf8'))
  const { body } = answers.find(({ operation }) => operation === 'getPurchasedVoucher')!
  const record = Object(body).data
  const good: Received = {
    method: 'GET',
    url: '/api/external/v1/tenants/1/sales/purchased-vouchers/1',
    status: 200,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': 'a',
      'cache-control': 'private, no-store',
      'ratelimit-limit': '120',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '60',
    },
    text: JSON.stringify({ data: record }),
  }
  const withHeaders = (headers: Received['headers']) => ({ ...good, headers: { ...good.headers, ...headers } })
  const withData = (data: object) => ({ ...good, text: JSON.stringify({ data: { ...record, ...data } }) })

  test.each<[string, Received, string]>([
    ['an unknown status', { ...good, status: 418 }, 'no such status'],
    ['an unknown path', { ...good, url: '/api/external/v1/vouchers' }, 'no such status'],
    ['404 for another method', { ...good, method: 'PUT', status: 404 }, 'no such status'],
    ['a missing header', withHeaders({ 'ratelimit-reset': undefined }), 'no header ratelimit-reset'],
    ['an unknown header', withHeaders({ 'x-powered-by': 'x' }), 'unknown header x-powered-by'],
    ['a header with another value', withHeaders({ 'cache-control': 'public' }), 'header cache-control'],
    ['a header that is no number', withHeaders({ 'ratelimit-limit': 'many' }), 'header ratelimit-limit'],
    ['another media type', withHeaders({ 'content-type': 'text/html' }), 'media type'],
    ['no JSON', { ...good, text: '{' }, 'no JSON'],
    ['an unknown field', withData({ colour: 'red' }), 'must NOT have additional properties'],
    ['a missing field', withData({ reference: undefined }), "must have required property 'reference'"],
    ['null where a field is left out', withData({ void_reason: null }), 'void_reason must be string'],
    ['a number as text', withData({ current_balance: '25.00' }), 'current_balance must be number'],
    ['milliseconds', withData({ updated_at: '2026-01-01T00:00:00.000Z' }), 'updated_at must match pattern'],
    ['a date that does not exist', withData({ date_valid_end: '2026-02-30' }), 'date_valid_end must match format'],
    ['the body of an error', { ...good, text: '{"message":"No."}' }, "must have required property 'data'"],
  ])('finds %s', (_, answer, difference) => {
    expect(differenceFrom(answer)).toContain(difference)
  })
})
