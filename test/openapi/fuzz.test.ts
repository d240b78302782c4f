/** Sends random requests to all operations. FUZZ_REQUESTS sets their number. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { OperationObject } from '../../tools/openapi/openapi.ts'
import { bearer, createWorld, worldReference } from '../rest/support.ts'
import { apiPaths, document } from '../support/openapi.ts'

const count = Number(process.env.FUZZ_REQUESTS ?? 1_000)
/** The number of requests that are sent at a time. The service never refuses that many. */
const batchSize = 8

const limits = { RATE_LIMIT_PER_MINUTE: '1000000', EXPORTS_PER_HOUR: '1000000' }
const { client, build, tenantId, place, secret } = await createWorld(limits)

const foreign = await build.tenant({ name: 'Foreign' })
for (let more = 0; more < 60; more++) await build.voucher(tenantId)
const page = await client.rest(secret, `/tenants/${tenantId}/sales/purchased-vouchers`)
const tokens = [await build.token([tenantId], { permissions: [] })]
for (let made = 0; made < 6; made++) tokens.push(await build.token([tenantId]))

const operations = apiPaths.flatMap(([path, { get, post }]) => [
  ...(get ? [{ method: 'GET', path, ...get }] : []),
  ...(post ? [{ method: 'POST', path, ...post }] : []),
])

interface Request {
  operation: OperationObject & { path: string }
  method: string
  ids: Record<string, unknown>
  query: string[]
  headers: Record<string, string>
  payload: string
}

const instant = encodeURIComponent('2026-01-31T09:30:00.1234567+14:00')
const headers = fc.record({
  accept: fc.constantFrom('application/json; charset=utf-8', 'text/html, application/json;q=0.1'),
  'accept-encoding': fc.constantFrom('br', 'gzip', 'identity', 'br;q=0.5, gzip', '*;q=0'),
  authorization: fc.constantFrom(...tokens).map(token => bearer(token.secret).authorization),
})
const bodies = [{ voucher_reference: worldReference }, { voucher_reference: null, qr_token: '🎁'.repeat(2048) }]

/** Exports are anyOperation half as often as other operations, because an export takes several statements. */
const anyOperation = fc.constantFrom(...operations, ...operations.filter(({ path }) => !path.startsWith('/export')))

const validRequests: fc.Arbitrary<Request> = anyOperation.chain(operation =>
  fc.record({
    operation: fc.constant(operation),
    method: fc.constant(operation.method),
    ids: fc.constantFrom<Record<string, unknown>>(
      { ...place, tenant: tenantId },
      { ...place, tenant: foreign },
      { tenant: tenantId, product: 2 ** 40, voucher: 2 ** 40, customer: 2 ** 40 },
    ),
    query: fc.subarray(['cursor=', `updated_since=${instant}`, 'include=variants,categories', 'x=%zz']),
    headers,
    payload: fc.constantFrom(...bodies).map(body => JSON.stringify(body)),
  }),
)

const anyText = fc.string({ unit: 'binary', maxLength: 30 })
const encodedText = anyText.map(encodeURIComponent).filter(text => !/^(\.|%2e){0,2}$/i.test(text))
const oddIds = fc.constantFrom(...'0 -1 01 1.0 1e0 %00 %zz %ff %2F null 9007199254740992'.split(' '))
const oddQueries = fc.constantFrom('cursor=&cursor=', 'include=%zz', 'updated_since[]=1', 'updated_since=2026')
const visibleText = fc.stringMatching(/^[ -~]{0,40}$/)

/** Valid requests in which one part has another value, which is mostly invalid. */
const oddRequests = validRequests.chain((request): fc.Arbitrary<Request> => {
  const of = <Part>(parts: fc.Arbitrary<Part>, put: (part: Part) => Partial<Request>) =>
    parts.map(part => ({ ...request, ...put(part) }))
  const addQuery = (more: string) => ({ query: [...request.query, more] })
  const setHeader = (header: Record<string, string>) => ({ headers: { ...request.headers, ...header } })
  return fc.oneof(
    of(fc.oneof(encodedText, oddIds), id => ({ ids: { tenant: id, product: id, voucher: id, customer: id } })),
    of(fc.tuple(fc.constantFrom('cursor', 'updated_since', 'include'), encodedText), pair => addQuery(pair.join('='))),
    of(fc.oneof(oddQueries, fc.constant(`cursor=${page.body.next_cursor}`)), addQuery),
    of(fc.oneof(fc.constant('*/*'), visibleText), accept => setHeader({ accept })),
    of(visibleText, token => setHeader({ authorization: `Bearer ${token}` })),
    of(fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD'), method => ({ method })),
    of(fc.oneof(fc.json(), anyText), payload => ({ payload })),
  )
})

const answered = new Map<number, Set<string>>()

/** Sends a request. The service of the test compares the answer with the document. */
async function send({ operation, method, ids, query, headers, payload }: Request, isValid: boolean): Promise<void> {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(ids[name]))
  const url = `${document.servers[0]?.url}${path}?${query.join('&')}`
  const body = operation.requestBody && { payload }
  const type = body && { 'content-type': 'application/json' }
  const options = { method: method as 'GET', url, headers: { ...headers, ...type }, ...body }
  const response = await client.app.inject(options)
  const { statusCode: status } = response
  answered.set(status, (answered.get(status) ?? new Set()).add(operation.operationId))
  expect(status, response.body).toBeLessThan(500)
  if (isValid) expect(status, response.body).not.toBe(422)
}

test(`${count} random requests get the described answers`, { timeout: 30_000 + count * 30 }, async () => {
  const half = { minLength: batchSize / 2, maxLength: batchSize / 2 }
  const batches = fc.tuple(fc.array(validRequests, half), fc.array(oddRequests, half))
  const property = fc.asyncProperty(batches, async ([valid, odd]) => {
    await Promise.all([...valid.map(request => send(request, true)), ...odd.map(request => send(request, false))])
  })
  await fc.assert(property, { numRuns: Math.ceil(count / batchSize) })
})

test('each operation has succeeded, and most operations have failed with each error that a caller can cause', () => {
  expect(answered.get(200)?.size).toBe(12)
  for (const status of [401, 403, 404, 405, 422]) expect(answered.get(status)?.size, `${status}`).toBeGreaterThan(6)
})
