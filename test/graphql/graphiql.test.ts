import { buildClientSchema, parse, printSchema, validate } from 'graphql'
import { expect, test } from 'vitest'
import { schema } from '../../src/graphql/schema.ts'
import { createApp } from '../support/app.ts'
import { whole } from '../support/builders.ts'
import { startService } from '../support/service.ts'

const { build, client, database } = await startService()

const get = (url: string, headers: Record<string, string> = {}) => client.ask({ url, headers })
const page = await get('/graphiql')
const linked = page.text.matchAll(/(?:href|src)="(\/assets\/(?:monaco|[\w-]*graphiql)[^"]+)"/g)
const loaded = [...linked].map(([, path]) => path ?? '')
const settings = JSON.parse(/<script id="settings"[^>]*>(.*?)<\/script>/s.exec(page.text)?.[1] ?? '')
const files = ['/graphiql', ...loaded, ...Object.values<string>(settings.workers)]

test('GraphiQL consists of a page and eight files, and the page has no inline scripts', () => {
  expect(files).toHaveLength(9)
  expect(page.headers['content-security-policy']).toMatch(/default-src 'none'.*script-src 'self';/)
  expect(page.text.replace('<script id="settings" ', '')).not.toMatch(/<script(?![^>]*\ssrc=)|\son\w+=/)
})

test.each(files)('%s is compressed as Accept-Encoding allows, and revalidated by its ETag', async url => {
  const plain = await get(url)
  expect(plain.status).toBe(200)
  expect(plain.headers).toMatchObject({ 'cache-control': 'private, no-cache', vary: 'Accept-Encoding' })
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(plain.headers['x-request-id']).toBeTruthy()
  for (const coding of ['br', 'gzip']) {
    const compressed = await get(url, { 'accept-encoding': coding })
    expect(compressed.headers).toMatchObject({ 'content-encoding': coding, etag: plain.headers.etag })
    expect(compressed.text).toBe(plain.text)
  }
  const again = await get(url, { 'if-none-match': String(plain.headers.etag) })
  expect([again.status, again.text]).toEqual([304, ''])
  expect((await get(url, { 'if-none-match': '"another"' })).status).toBe(200)
})

test('the page contains the schema and examples that are valid in it', () => {
  expect(printSchema(buildClientSchema(settings.schema))).toBe(printSchema(schema))
  for (const { query } of settings.tabs) expect(validate(schema, parse(query))).toEqual([])
})

test('each example is answered without an error, except the resolution of a voucher that does not exist', async () => {
  const tenantId = await build.tenant({ id: 1 })
  await build.voucher(tenantId, { currency: 'GBP', purchase_timestamp: new Date().toISOString() })
  const { secret } = await build.token([whole(tenantId)])
  for (const { query, variables } of settings.tabs) {
    const { body } = await client.graphql(secret, query, JSON.parse(variables))
    expect(body.errors ?? [], query).toEqual(query.includes('mutation Resolve') ? [expect.anything()] : [])
  }
})

test('the page says when only trusted documents run', async () => {
  const { ask } = await createApp(database, { GRAPHQL_DOCUMENTS: 'trusted' })
  expect((await ask({ method: 'GET', url: '/graphiql' })).text).toContain('GRAPHQL_DOCUMENTS=trusted')
  expect(page.text).not.toContain('GRAPHQL_DOCUMENTS=trusted')
})

test('paths below /graphiql do not exist, and the page does not exist either when GraphiQL is disabled', async () => {
  expect((await get('/graphiql/')).status).toBe(404)
  const off = await createApp(database, { NODE_ENV: 'production', DATABASE_URL: database.url })
  expect((await off.ask({ method: 'GET', url: '/graphiql' })).status).toBe(404)
})
