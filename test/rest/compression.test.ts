import { expect, test } from 'vitest'
import { minCompressedBytes } from '../../src/http/compression.ts'
import { type Answer, type Client, createApp, v1 } from '../support/app.ts'
import { bearer, createWorld } from './support.ts'

const world = await createWorld()
const { client, build, tenantId, place, secret } = world
const product = await build.product(tenantId, {
  description_html: 'Überraschungsmenü für zwei, 温泉ギフト券 🎁. '.repeat(60),
})
/** A record whose answer does not change, and a record whose answer is too short to compress. */
const longPath = `/tenants/${tenantId}/catalog/vouchers/${product}`
const shortPath = `/tenants/${tenantId}/sales/purchased-vouchers/${place.voucher}`

const headersOf = (acceptEncoding?: string): Record<string, string> => ({
  ...bearer(secret),
  accept: 'application/json',
  ...(acceptEncoding !== undefined && { 'accept-encoding': acceptEncoding }),
})
const ask = ({ ask }: Client, url: string, acceptEncoding?: string) => ask({ url, headers: headersOf(acceptEncoding) })
const codingOf = ({ headers }: Answer) => headers['content-encoding']

const unpacked = await ask(client, v1 + longPath)

test('a request without Accept-Encoding gets an uncompressed answer with the header Vary', () => {
  expect(unpacked.status).toBe(200)
  expect(unpacked.body.data.id).toBe(product)
  expect(codingOf(unpacked)).toBeUndefined()
  expect(unpacked.headers).toMatchObject({ vary: 'Accept-Encoding', 'content-length': String(unpacked.bytes.length) })
})

test.each([
  ['br', 'br'],
  ['gzip', 'gzip'],
  ['GZIP, deflate, br, zstd', 'gzip'],
  ['br, gzip', 'br'],
  ['br;q=0.5, gzip;q=0.8', 'gzip'],
  ['br;q=0, *', 'gzip'],
  ['gzip;q=0, *', 'br'],
  ['identity;q=0, gzip', 'gzip'],
  ['br;q=0', undefined],
  ['identity, gzip;q=0.5', undefined],
  ['*;q=0', undefined],
  ['deflate, zstd', undefined],
  ['nonsense;;=, ,', undefined],
])('Accept-Encoding: %s gets %s', async (acceptEncoding, coding) => {
  const answer = await ask(client, v1 + longPath, acceptEncoding)
  expect(codingOf(answer)).toBe(coding)
  expect(answer.headers).toMatchObject({
    vary: 'Accept-Encoding',
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(answer.bytes.length),
  })
  expect(answer.text).toBe(unpacked.text)
  if (coding !== undefined) expect(answer.bytes.length).toBeLessThan(unpacked.bytes.length / 4)
})

test('GraphQL answers are compressed, also those of cached documents and long lists of errors', async () => {
  const query = `{ tenant(id: ${tenantId}) { catalogVoucher(id: ${product}) { databaseId descriptionHtml } } }`
  for (const coding of ['br', 'gzip', undefined, 'br', 'gzip', undefined]) {
    const answer = await client.post(secret, { query }, headersOf(coding))
    expect([answer.status, codingOf(answer), answer.headers.vary]).toEqual([200, coding, 'Accept-Encoding'])
    expect(answer.body.data.tenant.catalogVoucher.databaseId).toBe(product)
  }
  const unknown = `{ ${Array.from({ length: 30 }, (_, field) => `unknown${field}`).join(' ')} }`
  const failed = await client.post(secret, { query: unknown }, headersOf('br'))
  expect([failed.status, codingOf(failed)]).toEqual([200, 'br'])
  expect(failed.body.errors.length).toBeGreaterThan(5)
})

test('short answers are not compressed, such as records, errors and answers to HEAD', async () => {
  const record = await ask(client, v1 + shortPath, 'br')
  const unauthorized = await client.ask({ url: v1 + longPath, headers: { 'accept-encoding': 'br' } })
  const head = await client.ask({ method: 'HEAD', url: v1 + longPath, headers: headersOf('br') })
  for (const { headers } of [record, unauthorized, head, await ask(client, `${v1}/nowhere`, 'br')]) {
    expect(headers).not.toHaveProperty('content-encoding')
    expect(headers).not.toHaveProperty('vary')
  }
  expect(record.body.data.id).toBe(place.voucher)
})

test('the API access page is never compressed, because it shows secrets together with input', async () => {
  const answer = await ask(client, '/admin/login', 'br, gzip')
  expect(answer.status).toBe(200)
  expect(answer.bytes.length).toBeGreaterThan(minCompressedBytes)
  expect(answer.headers).not.toHaveProperty('content-encoding')
})

test('no answer is compressed when compression is off', async () => {
  for (const environment of [{ COMPRESSION: 'off' }, { TRUST_PROXY: '10.0.0.0/8' }]) {
    const answer = await ask(await createApp(world, environment), v1 + longPath, 'br')
    expect(codingOf(answer)).toBeUndefined()
    expect(answer.headers).not.toHaveProperty('vary')
    expect(answer.bytes.equals(unpacked.bytes)).toBe(true)
  }
})
