import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { buildClientSchema, parse, printSchema, validate } from 'graphql'
import { expect, test } from 'vitest'
import { schema } from '../../src/graphql/schema.ts'
import { createApp } from '../support/app.ts'
import { createDatabase } from '../support/database.ts'

const database = await createDatabase()
const { app } = await createApp(database)

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ method: 'GET', url, headers })
const page = await get('/graphiql')
const loaded = [...page.body.matchAll(/(?:href|src)="(\/graphiql\/[^"]+)"/g)].map(([, path]) => path ?? '')
const settings = JSON.parse(/<script id="settings"[^>]*>(.*?)<\/script>/s.exec(page.body)?.[1] ?? '')
const files = ['/graphiql', ...loaded, ...Object.values<string>(settings.workers)]

test('GraphiQL is a page and seven files, without inline scripts', () => {
  expect(files).toHaveLength(8)
  expect(page.headers['content-security-policy']).toContain("script-src 'self';")
  expect(page.headers['content-security-policy']).toContain("default-src 'none'")
  expect(page.body.replace(/<script id="settings" type="application\/json">/, '')).not.toMatch(
    /<script(?![^>]*\ssrc=)|\son\w+=/,
  )
})

test.each(files)('%s is compressed as Accept-Encoding allows, and revalidated by its ETag', async url => {
  const plain = await get(url)
  expect(plain.statusCode).toBe(200)
  expect(plain.headers).toMatchObject({ 'cache-control': 'private, no-cache', vary: 'Accept-Encoding' })
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(plain.headers['x-request-id']).toBeTruthy()
  for (const [accepted, coding, decompress] of [
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, gzip;q=0.5', 'gzip', gunzipSync],
  ] as const) {
    const compressed = await get(url, { 'accept-encoding': accepted })
    expect(compressed.headers['content-encoding']).toBe(coding)
    expect(compressed.headers.etag).toBe(plain.headers.etag)
    expect(decompress(compressed.rawPayload).equals(plain.rawPayload)).toBe(true)
  }
  const again = await get(url, { 'if-none-match': String(plain.headers.etag) })
  expect(again.statusCode).toBe(304)
  expect(again.body).toBe('')
  expect((await get(url, { 'if-none-match': '"another"' })).statusCode).toBe(200)
})

test('the page contains the schema and examples that are valid in it', () => {
  expect(printSchema(buildClientSchema(settings.schema))).toBe(printSchema(schema))
  expect(settings.tabs).toHaveLength(4)
  for (const { query, variables } of settings.tabs) {
    expect(validate(schema, parse(query))).toEqual([])
    expect(() => JSON.parse(variables)).not.toThrow()
  }
})

test('other paths below /graphiql are unknown, and all of them when GraphiQL is disabled', async () => {
  for (const url of ['/graphiql/', '/graphiql/start.ts', '/graphiql/..%2fgraphiql.tsx', '/graphiql/constructor']) {
    expect((await get(url)).statusCode).toBe(404)
  }
  const off = await createApp(database, { NODE_ENV: 'production' })
  for (const url of files) expect((await off.ask({ method: 'GET', url })).status).toBe(404)
})
