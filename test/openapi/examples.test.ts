/**
 * The examples of the document are real answers of the service. `vitest -u` records the answers again; afterwards run
 * `npm run generate`.
 */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { arrayText } from '../../src/db/sql.ts'
import { loadDemo } from '../../src/demo/load.ts'
import { createCursorCipher, type ListIdentity } from '../../src/domain/paging/cursor.ts'
import { toJson } from '../../tools/json.ts'
import type { RecordedAnswer } from '../../tools/openapi/examples.ts'
import type { PostmanCollection } from '../../tools/openapi/postman.ts'
import { bearer } from '../rest/support.ts'
import { createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { apiPaths } from '../support/openapi.ts'
import { projected } from '../support/projected.ts'
import { type ExampleRequest, exampleRequests, type TokenName, toInjectOptions } from './example-requests.ts'

const file = 'schema/examples.v1.json'
const cursorKey = Buffer.alloc(32, 'example')
const today = Date.UTC(2026, 0, 31) / 86_400_000

const database = await createDatabase()
await loadDemo(database.platform, { scale: 1, today })
await projected(database.platform)
/** The ids of the records that the examples show as recently changed, in the order of their changes. */
const recentlyChanged = { tenant: [2, 1], product: [40, 50], variant: [], voucher: [2956, 3729], customer: [163, 23] }
for (const [record, ids] of Object.entries(recentlyChanged)) {
  await database.platform`
    update gateway.${database.platform(record)}
    set updated_at = coalesce(
      timestamptz '2026-01-31 08:00:00Z' + array_position(${arrayText(ids)}::text::bigint[], id) * interval '1 minute',
      timestamptz '2026-01-30 06:00:00Z' + id % 10000 * interval '1 ms')`
}
const client = await createApp(database, { CURSOR_KEY: cursorKey.toString('hex') })
const build = createBuilders(database)
const group = [{ tenantId: 1, withDescendants: true }]
const secrets: Record<TokenName, string | null> = {
  all: (await build.token(group)).secret,
  pair: (await build.token([1, 2])).secret,
  bare: (await build.token(group, { permissions: [] })).secret,
  spent: (await build.token(group, { rateLimit: 1 })).secret,
  none: null,
}

function withCursor(request: ExampleRequest): ExampleRequest {
  const updatedAt = /^<after (.*)>$/.exec(request.query?.cursor ?? '')?.[1]
  if (updatedAt === undefined) return request
  const name = request.operation.replace(/^(list|export)/, '').replace(/^./, letter => letter.toLowerCase())
  const list: ListIdentity = { name, tenantId: request.path?.tenant ?? 0 }
  const cursor = createCursorCipher(cursorKey).encrypt(list, { updatedAt, id: 0, updatedSince: null })
  return { ...request, query: { ...request.query, cursor } }
}

async function record(example: ExampleRequest): Promise<RecordedAnswer> {
  const request = withCursor(example)
  const { operation, summary, path, query, body, token = 'all' } = request
  const secret = secrets[token]
  const options = toInjectOptions(request)
  const headers = { ...options.headers, ...(secret !== null && bearer(secret)) }
  const { status, text, body: answer } = await client.ask({ ...options, headers })
  const sent = { ...(path && { path }), ...(query && { query }), ...(body !== undefined && { body }) }
  const isExport = operation.startsWith('export') && status === 200
  const lines = () =>
    text
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
  return { operation, summary, request: sent, status, body: isExport ? lines() : answer }
}

/** The fields whose values differ in each run: times, and texts that are encrypted or random. */
const changingFields = new Set(['server_time', 'next_cursor', 'cursor', 'redemption_token'])

/** Returns an answer in which the recorded values replace the values that differ in each run. */
function useRecorded(fresh: unknown, recorded: unknown, key = ''): unknown {
  if (changingFields.has(key) && typeof fresh === 'string' && typeof recorded === 'string') return recorded
  if (typeof fresh !== 'object' || fresh === null || typeof recorded !== 'object' || recorded === null) return fresh
  const of = (value: unknown, name: string | number) => useRecorded(value, Reflect.get(recorded, name), String(name))
  return Array.isArray(fresh)
    ? fresh.map(of)
    : Object.fromEntries(Object.entries(fresh).map(([name, value]) => [name, of(value, name)]))
}

test('the examples of the document are the answers on the demo data', async () => {
  await client.rest(secrets.spent ?? '', '/tenants')
  const answers: RecordedAnswer[] = []
  for (const request of exampleRequests) answers.push(await record(request))
  const recorded: unknown = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
  await expect(toJson(useRecorded(answers, recorded))).toMatchFileSnapshot(`../../${file}`)
})

const operations = apiPaths.flatMap(([, { get, post }]) => [get, post].filter(it => it !== undefined))

test('each operation has an example', () => {
  expect(operations).toHaveLength(12)
  for (const { operationId, responses } of operations) {
    const good = responses[200]
    const [body] = good && 'content' in good ? Object.values(good.content) : []
    expect(Object.keys(body?.examples ?? {}), operationId).not.toEqual([])
  }
})

test('each request of the Postman collection succeeds on the demo data, with and without its parameters', async () => {
  const file = 'schema/voucher-gateway.postman_collection.json'
  const { variable, auth, item }: PostmanCollection = JSON.parse(readFileSync(file, 'utf8'))
  const { secret } = await build.token(group)
  const values = new Map(variable.map(({ key, value }) => [key, value])).set('baseUrl', '').set('token', secret)
  const fill = (text = '') => text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => values.get(name) ?? '')
  const requests = item.flatMap(folder => folder.item)
  expect(requests.map(({ name }) => name).sort()).toEqual(operations.map(({ summary }) => summary).sort())
  for (const { name, request } of requests) {
    const { method, url, header, body } = request
    const headers = Object.fromEntries(header.map(({ key, value }) => [key.toLowerCase(), value]))
    const query = new URLSearchParams(url.query.map(({ key, value }) => [key, value]))
    for (const search of ['', `?${query}`]) {
      const { status, text } = await client.ask({
        ...{ method, url: fill(url.raw) + search, ...(body && { payload: body.raw }) },
        headers: { ...headers, ...bearer(fill(auth.bearer[0]?.value)) },
      })
      expect(status, `${name}${search}: ${text.slice(0, 200)}`).toBe(200)
    }
  }
})
