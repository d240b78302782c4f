import {
  type ASTVisitor,
  buildClientSchema,
  isInputObjectType,
  isObjectType,
  parse,
  printSchema,
  TypeInfo,
  validate,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import { expect, test } from 'vitest'
import { schema } from '../../src/graphql/schema.ts'
import { createApp } from '../support/app.ts'
import { whole } from '../support/builders.ts'
import { startService } from '../support/service.ts'

const { build, client, database } = await startService()

const get = (url: string, headers: Record<string, string> = {}) => client.ask({ url, headers })
const page = await get('/graphiql')
const loaded = [...page.text.matchAll(/(?:href|src)="(\/assets\/(?:monaco|[\w-]*graphiql)[^"]+)"/g)].map(
  ([, path]) => path ?? '',
)
const settings = JSON.parse(/<script id="settings"[^>]*>(.*?)<\/script>/s.exec(page.text)?.[1] ?? '')
const files = ['/graphiql', ...loaded, ...Object.values<string>(settings.workers)]

test('GraphiQL is a page and eight files, without inline scripts', () => {
  expect(files).toHaveLength(9)
  expect(page.headers['content-security-policy']).toContain("script-src 'self';")
  expect(page.headers['content-security-policy']).toContain("default-src 'none'")
  expect(page.text.replace(/<script id="settings" type="application\/json">/, '')).not.toMatch(
    /<script(?![^>]*\ssrc=)|\son\w+=/,
  )
})

test.each(files)('%s is compressed as Accept-Encoding allows, and revalidated by its ETag', async url => {
  const plain = await get(url)
  expect(plain.status).toBe(200)
  expect(plain.headers).toMatchObject({ 'cache-control': 'private, no-cache', vary: 'Accept-Encoding' })
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(plain.headers['x-request-id']).toBeTruthy()
  for (const [accepted, coding] of [
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
  ] as const) {
    const compressed = await get(url, { 'accept-encoding': accepted })
    expect(compressed.headers['content-encoding']).toBe(coding)
    expect(compressed.headers.etag).toBe(plain.headers.etag)
    expect(compressed.text).toBe(plain.text)
  }
  const again = await get(url, { 'if-none-match': String(plain.headers.etag) })
  expect(again.status).toBe(304)
  expect(again.text).toBe('')
  expect((await get(url, { 'if-none-match': '"another"' })).status).toBe(200)
})

test('the page contains the schema and examples that are valid in it', () => {
  expect(printSchema(buildClientSchema(settings.schema))).toBe(printSchema(schema))
  for (const { query } of settings.tabs) expect(validate(schema, parse(query))).toEqual([])
})

test('the examples show each filter and each figure', () => {
  const shown = new Set<string>()
  const types = new TypeInfo(schema)
  const visitor: ASTVisitor = {
    Field: ({ name }) => void shown.add(`${types.getParentType()}.${name.value}`),
    ObjectField: ({ name }) => void shown.add(`${types.getParentInputType()}.${name.value}`),
  }
  for (const { query } of settings.tabs) visit(parse(query), visitWithTypeInfo(types, visitor))
  const described = Object.values(schema.getTypeMap()).filter(
    type =>
      (isInputObjectType(type) && type.name.endsWith('Filter')) || (isObjectType(type) && type.name === 'Figures'),
  )
  const fields = described.flatMap(type =>
    'getFields' in type ? Object.keys(type.getFields()).map(field => `${type.name}.${field}`) : [],
  )
  expect(fields.length).toBeGreaterThan(10)
  expect(fields.filter(field => !shown.has(field))).toEqual([])
})

test('each example is answered without an error', async () => {
  const tenantId = await build.tenant({ id: 1 })
  await build.voucher(tenantId, { currency: 'GBP', purchase_timestamp: new Date().toISOString() })
  const { secret } = await build.token([whole(tenantId)])
  for (const { query, variables } of settings.tabs) {
    const { body } = await client.graphql(secret, query, JSON.parse(variables))
    expect(body.errors ?? [], query).toEqual(query.includes('mutation Resolve') ? [expect.anything()] : [])
  }
})

test('outside the demo, the reader has to name the voucher to resolve', () => {
  const resolve = settings.tabs.find(({ query }: { query: string }) => query.includes('mutation Resolve'))
  expect(JSON.parse(resolve.variables)).toEqual({ tenant: '1', reference: 'the reference of a voucher' })
})

test('where only trusted documents run, the page says so', async () => {
  const { ask } = await createApp(database, { GRAPHQL_DOCUMENTS: 'trusted' })
  expect((await ask({ method: 'GET', url: '/graphiql' })).text).toContain('GRAPHQL_DOCUMENTS=trusted')
  expect(page.text).not.toContain('GRAPHQL_DOCUMENTS=trusted')
})

test('paths below /graphiql are unknown, and the page too when GraphiQL is disabled', async () => {
  expect((await get('/graphiql/')).status).toBe(404)
  const off = await createApp(database, { NODE_ENV: 'production', DATABASE_URL: database.url })
  expect((await off.ask({ method: 'GET', url: '/graphiql' })).status).toBe(404)
})
