/** Checks that the client accepts and rejects the same webhooks as the library of Standard Webhooks. */
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { verifyWebhook } from '../src/index.ts'

const event = {
  type: 'purchased_vouchers.changed',
  tenant_id: 2,
  updated_since: '2026-11-30T09:00:00.000000Z',
  server_time: '2026-11-30T09:30:00.000000Z',
  url: 'https://gateway.example.com/api/external/v1/tenants/2/sales/purchased-vouchers?updated_since=2026-11-30',
}
const now = 1_790_000_000
// Other test files in this process use the real time.
beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], now: now * 1000 }))
afterAll(() => void vi.useRealTimers())

const secretOf = (bytes: Uint8Array) => `whsec_${Buffer.from(bytes).toString('base64')}`
const secret = secretOf(new Uint8Array(32).fill(7))
const sign = (body: string, { id = 'msg_1', time = now, by = secret } = {}) =>
  new Webhook(by).sign(id, new Date(time * 1000), body)
const headersOf = (body: string, options: Parameters<typeof sign>[1] = {}) => ({
  'webhook-id': options.id ?? 'msg_1',
  'webhook-timestamp': String(options.time ?? now),
  'webhook-signature': sign(body, options),
})

const arbitrarySecrets = fc.uint8Array({ minLength: 24, maxLength: 64 }).map(secretOf)
const arbitraryIds = fc.stringMatching(/^[!-~]{1,40}$/)
const arbitraryTexts = fc.string({ unit: 'binary', maxLength: 300 })

/** Returns the result of the library of the specification; null when the library rejects the webhook. */
function verifyByLibrary(secret: string, body: string, headers: Record<string, string>): unknown {
  try {
    return new Webhook(secret).verify(Buffer.from(body), headers)
  } catch {
    return null
  }
}

/** The headers of a request, in each form in which a server framework can pass them. */
const headerForms: ((headers: Record<string, string>) => Parameters<typeof verifyWebhook>[1])[] = [
  headers => new Headers(headers),
  headers => Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value])),
  headers => Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
]

test('verifyWebhook accepts and rejects the same webhooks as the library of the specification', async () => {
  let accepted = 0
  const requests = fc.record({
    ...{
      secret: arbitrarySecrets,
      other: arbitrarySecrets,
      id: arbitraryIds,
      extra: arbitraryTexts,
      form: fc.constantFrom(...headerForms),
    },
    age: fc.constantFrom(-301, -300, -7, 0, 1, 60, 300, 301, 86_400),
    // Each case has the signed content, and the damage to the signature.
    names: fc.subarray(['other', 'body', 'id', 'time', 'cut', 'v1a', 'junk', 'bits', 'right'] as const),
    missing: fc.constantFrom('', '', '', '', '', 'webhook-id', 'webhook-timestamp', 'webhook-signature'),
  })
  const property = fc.asyncProperty(requests, async ({ secret, other, id, extra, form, age, names, missing }) => {
    const body = JSON.stringify({ ...event, extra })
    const time = now - age
    const right = sign(body, { id, time, by: secret })
    const made = {
      ...{ right, other: sign(body, { id, time, by: other }), body: sign(`${body} `, { id, time, by: secret }) },
      ...{ id: sign(body, { id: `${id}.`, time, by: secret }), time: sign(body, { id, time: time + 1, by: secret }) },
      ...{ cut: right.slice(0, -5), v1a: right.replace('v1,', 'v1a,'), junk: 'v1,===' },
      // This base64 text is different, but decodes to the same bytes.
      bits: right.replace(/.=$/, last => `${String.fromCharCode(last.charCodeAt(0) + 1)}=`),
    }
    const headers: Record<string, string> = {
      'webhook-id': id,
      'webhook-timestamp': String(time),
      'webhook-signature': names.map(name => made[name]).join(' '),
    }
    delete headers[missing]
    const expected = verifyByLibrary(secret, body, headers)
    const verified = await verifyWebhook(Buffer.from(body), form(headers), secret).catch(error => {
      expect(error).toMatchObject({ name: 'VoucherGatewayError', code: 'INVALID_WEBHOOK' })
      return null
    })
    expect(verified).toEqual(expected)
    if (verified) accepted++
  })
  await fc.assert(property, { numRuns: 500 })
  expect(accepted).toBeGreaterThan(50)
})

test('with two secrets during a rotation, signatures of either secret are accepted', async () => {
  const next = secretOf(new Uint8Array(32).fill(8))
  const body = JSON.stringify(event)
  const headers = headersOf(body)
  headers['webhook-signature'] += ` ${sign(body, { by: next })}`
  for (const known of [secret, next, [next, secret]]) {
    expect(await verifyWebhook(new TextEncoder().encode(body).buffer, headers, known)).toEqual(event)
  }
})

test('a body that is not bytes is rejected with advice for express and fastify, and an invalid secret is rejected', async () => {
  const body = JSON.stringify(event)
  const verify = async (bytes: unknown, by: unknown) => Reflect.apply(verifyWebhook, null, [bytes, headersOf(body), by])
  for (const value of [body, event, undefined, null]) {
    await expect(verify(value, secret)).rejects.toThrow(/bytes .*express\.raw\(.*parseAs: 'buffer'/)
  }
  for (const value of ['', undefined, secret.slice(6), `${secret}\n`, 'whsec_', [secret, 'whsec_???']]) {
    await expect(verify(Buffer.from(body), value)).rejects.toMatchObject({ code: 'BAD_USER_INPUT' })
  }
})

test.each([
  ['events of the type locations.changed: answer 204', { ...event, type: 'locations.changed' }],
  ['tenant_id is not an id', { ...event, tenant_id: '2' }],
  ['updated_since is not an instant', { ...event, updated_since: undefined }],
  ['url is not a text', { ...event, url: 1 }],
  ['the body is not an object', 'event'],
])('a signed body that is not an event is rejected: %s', async (problem, value) => {
  const body = JSON.stringify(value)
  await expect(verifyWebhook(Buffer.from(body), headersOf(body), secret)).rejects.toThrow(problem)
})
