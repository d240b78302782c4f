import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { compressibleFrom } from '../../src/http/compression.ts'
import { type Client, createApp, v1 } from '../support/app.ts'
import { bearer, createWorld } from './support.ts'

const world = await createWorld()
const { client, build, tenantId, place, secret } = world
const product = await build.product(tenantId, {
  description_html: 'Überraschungsmenü für zwei, 温泉ギフト券 🎁. '.repeat(60),
})
/** A record whose answer does not change, and one that is too short. */
const long = `/tenants/${tenantId}/catalog/vouchers/${product}`
const short = `/tenants/${tenantId}/sales/purchased-vouchers/${place.voucher}`

/** An answer as bytes of the connection. */
async function ask({ app }: Client, url: string, acceptEncoding?: string, options: { query?: string } = {}) {
  const { query } = options
  const { statusCode, headers, rawPayload } = await app.inject({
    method: query === undefined ? 'GET' : 'POST',
    url,
    headers: {
      accept: 'application/json',
      ...bearer(secret),
      ...(query !== undefined && { 'content-type': 'application/json' }),
      ...(acceptEncoding !== undefined && { 'accept-encoding': acceptEncoding }),
    },
    ...(query !== undefined && { payload: JSON.stringify({ query }) }),
  })
  return { status: statusCode, headers, bytes: rawPayload, coding: headers['content-encoding'] }
}

type Answer = Awaited<ReturnType<typeof ask>>

/** The body before it was compressed. */
function plain({ bytes, coding }: Answer): string {
  if (coding === 'br') return brotliDecompressSync(bytes).toString()
  if (coding === 'gzip') return gunzipSync(bytes).toString()
  return bytes.toString()
}

const unpacked = await ask(client, v1 + long)

test('a request without Accept-Encoding gets plain bytes, and Vary is set', () => {
  expect(unpacked.status).toBe(200)
  expect(JSON.parse(unpacked.bytes.toString()).data.id).toBe(product)
  expect(unpacked.coding).toBeUndefined()
  expect(unpacked.headers).toMatchObject({ vary: 'Accept-Encoding', 'content-length': String(unpacked.bytes.length) })
})

test.each([
  ['br', 'br'],
  ['gzip', 'gzip'],
  ['GZIP', 'gzip'],
  ['gzip, deflate, br, zstd', 'gzip'],
  ['br, gzip', 'br'],
  ['br;q=0.5, gzip;q=0.8', 'gzip'],
  ['gzip;q=0.5', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['br;q=0, *', 'gzip'],
  ['gzip;q=0, *', 'br'],
  ['identity;q=0, gzip', 'gzip'],
  ['br;q=0', undefined],
  ['identity', undefined],
  ['identity, gzip;q=0.5', undefined],
  ['*;q=0', undefined],
  ['deflate, zstd', undefined],
  ['nonsense;;=, ,', undefined],
  ['', undefined],
])('Accept-Encoding: %s gets %s', async (acceptEncoding, coding) => {
  const answer = await ask(client, v1 + long, acceptEncoding)
  expect(answer.coding).toBe(coding)
  expect(answer.headers).toMatchObject({
    vary: 'Accept-Encoding',
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(answer.bytes.length),
  })
  expect(plain(answer)).toBe(unpacked.bytes.toString())
  if (coding !== undefined) expect(answer.bytes.length).toBeLessThan(unpacked.bytes.length / 4)
})

test('GraphQL answers are compressed, also those of known documents, and long lists of errors', async () => {
  const query = `{ tenant(id: ${tenantId}) { catalogVoucher(id: ${product}) { databaseId descriptionHtml } } }`
  for (const coding of ['br', 'gzip', undefined, 'br', 'gzip', undefined]) {
    const answer = await ask(client, '/graphql', coding, { query })
    expect(answer).toMatchObject({ status: 200, coding, headers: { vary: 'Accept-Encoding' } })
    expect(JSON.parse(plain(answer)).data.tenant.catalogVoucher.databaseId).toBe(product)
  }
  const unknown = `{ ${Array.from({ length: 30 }, (_, field) => `unknown${field}`).join(' ')} }`
  const failed = await ask(client, '/graphql', 'br', { query: unknown })
  expect(failed).toMatchObject({ status: 200, coding: 'br' })
  expect(JSON.parse(plain(failed)).errors.length).toBeGreaterThan(5)
})

test('short answers are not compressed: records, errors and HEAD', async () => {
  const { headers } = await client.app.inject({
    method: 'HEAD',
    url: v1 + long,
    headers: { ...bearer(secret), 'accept-encoding': 'br' },
  })
  const unauthorized = await client.app.inject({ url: v1 + long, headers: { 'accept-encoding': 'br' } })
  const others = [await ask(client, v1 + short, 'br'), await ask(client, `${v1}/nowhere`, 'br')]
  for (const found of [headers, unauthorized.headers, ...others.map(answer => answer.headers)]) {
    expect(found).not.toHaveProperty('content-encoding')
    expect(found).not.toHaveProperty('vary')
  }
  expect(JSON.parse(others[0]!.bytes.toString()).data.id).toBe(place.voucher)
})

test('the API access page is never compressed, because it shows secrets beside input', async () => {
  const answer = await ask(client, '/admin/login', 'br, gzip')
  expect(answer.status).toBe(200)
  expect(answer.bytes.length).toBeGreaterThan(compressibleFrom)
  expect(answer.headers).not.toHaveProperty('content-encoding')
})

test('nothing is compressed when compression is off', async () => {
  for (const environment of [{ COMPRESSION: 'off' }, { TRUST_PROXY: '10.0.0.0/8' }]) {
    const answer = await ask(await createApp(world, environment), v1 + long, 'br')
    expect(answer.coding).toBeUndefined()
    expect(answer.headers).not.toHaveProperty('vary')
    expect(answer.bytes.equals(unpacked.bytes)).toBe(true)
  }
})
