/** Sends arbitrary requests of all operations: FUZZ_REQUESTS of them. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Parameter } from '../../tools/openapi/openapi.ts'
import { createWorld } from '../rest/support.ts'
import { apiPaths, resolve } from '../support/openapi.ts'
import { type FuzzRequest, type Known, requestsOf } from './arbitraries.ts'

const count = Number(process.env.FUZZ_REQUESTS ?? 1_000)
/** The number of requests under way at a time; the service never refuses that many. */
const together = 8

const limits = { RATE_LIMIT_PER_MINUTE: '1000000', EXPORTS_PER_HOUR: '1000000' }
const { client, build, tenantId, place, secret } = await createWorld(limits)

/** Fills the tenant with records whose columns have values, and with some whose columns have none. */
async function fill(): Promise<Known> {
  const text = 'Ä "quoted" \\ \u2028 <b>🎁</b>\n'
  const child = await build.tenant({ parent_id: tenantId, name: text, subdomain: 'child', type: 'venue' })
  const product = await build.product(tenantId, {
    ...{ title: text, summary: text, description_html: text, price: '10.50', sale_price: '0.07', validity_months: 12 },
    ...{ validity_type: 'months', redemption_info: text, image_url: 'https://images.example/1', updated_at: null },
    image_urls: ['https://images.example/1', text],
  })
  await build.category(tenantId, [product, Number(place.product)])
  await build.variant(product, { price: '99999999.99', sale_price: null })
  const reference = 'FUZZ-1'
  const voucher = await build.voucher(tenantId, {
    ...{ reference, initial_balance: '25.00', current_balance: '12.5', currency: 'GBP', purchase_value: '0.070' },
    ...{
      order_id: '9007199254740991',
      date_valid_start: '2026-01-01',
      date_valid_end: '9999-12-31',
      void_reason: text,
    },
  })
  await build.voucher(tenantId, { reference: 'FUZZ-2', void: true, void_date: '2026-01-01T00:00:00.000001Z' })
  for (let more = 0; more < 60; more++) await build.voucher(tenantId)
  const customer = await build.customer(tenantId, { email: 'a@example.com', full_name: text, postcode: '' })
  const foreign = await build.tenant({ name: 'Foreign' })
  const { body } = await client.rest(secret, `/tenants/${tenantId}/sales/purchased-vouchers`)
  const grant = { tenantId, withDescendants: true }
  const tokens = await Promise.all([1, 2, 3, 4, 5, 6].map(() => build.token([grant])))
  const bare = await build.token([grant], { permissions: [] })
  return {
    secrets: [...tokens, bare].map(token => token.secret),
    ids: {
      tenant: [tenantId, tenantId, child, foreign],
      product: [product, Number(place.product)],
      voucher: [voucher, Number(place.voucher)],
      customer: [customer, Number(place.customer)],
    },
    cursors: [body.next_cursor],
    references: [reference, reference.toLowerCase(), 'FUZZ-2', 'nothing'],
  }
}

const known = await fill()

const operations = new Map(
  apiPaths
    .flatMap(([, { get, post }]) => [get, post].filter(it => it !== undefined))
    .map(operation => [operation.operationId, operation]),
)

function fieldsOf(operationId: string): string[] {
  const { parameters = [], requestBody } = operations.get(operationId) ?? {}
  const query = parameters.map(parameter => resolve<Parameter>(parameter)).filter(it => it.in === 'query')
  const bodies = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => schema.anyOf ?? [])
  const fields = bodies.flatMap(body => (typeof body === 'object' ? Object.keys(body.properties ?? {}) : []))
  return ['accept', ...query.map(({ name }) => name), ...(requestBody ? ['content-type', 'body', ...fields] : [])]
}

const statuses = new Map<string, number>()

async function send({ operationId, isValid, method, url, headers, payload }: FuzzRequest): Promise<void> {
  const type = payload !== undefined && { 'content-type': 'application/json' }
  const options = {
    method: method as 'GET',
    url,
    headers: { ...headers, ...type },
    ...(payload !== undefined && { payload }),
  }
  const response = await client.app.inject(options)
  const { statusCode: status } = response
  const key = `${operationId} ${status}`
  statuses.set(key, (statuses.get(key) ?? 0) + 1)
  expect(status, response.body).toBeLessThan(500)
  if (isValid) expect(status, response.body).not.toBe(422)
  if (status === 422) expect(fieldsOf(operationId)).toEqual(expect.arrayContaining(Object.keys(response.json().errors)))
}

test(`${count} arbitrary requests: no fault, and each answer is as described`, {
  timeout: 30_000 + count * 30,
}, async () => {
  const batches = fc.array(requestsOf(known), { minLength: together, maxLength: together })
  const property = fc.asyncProperty(batches, requests => Promise.all(requests.map(send)).then(() => {}))
  await fc.assert(property, { numRuns: Math.ceil(count / together) })
})

test('each operation has succeeded, and most have failed in each way that a caller can cause', () => {
  const of = (status: number) => [...operations.keys()].filter(id => statuses.has(`${id} ${status}`)).length
  expect(of(200)).toBe(12)
  // By chance, one of the records may lack a value.
  for (const status of [401, 403, 404, 405, 422]) expect(of(status), String(status)).toBeGreaterThan(6)
})
