/** Prism validates requests and responses in front of the service, as the gateway of a partner may do. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createWorld, operations, worldReference } from '../rest/support.ts'
import { afterFile } from '../support/cleanups.ts'
import { canConnect, freePort } from '../support/free-port.ts'
import { projected } from '../support/projected.ts'
import { until } from '../support/until.ts'

const { pool, client, build, tenantId, place, secret } = await createWorld()
const product = Number(place.product)
await build.category(tenantId, [product])
await build.variant(product)
for (let more = 0; more < 60; more++) await build.product(tenantId)
await projected(pool)
const bare = await build.token([tenantId], { permissions: [] })
const spent = await build.token([tenantId], { rateLimit: 1 })

const service = await client.app.listen({ port: 0, host: '127.0.0.1' })
const port = await freePort()
const prism = spawn(
  process.execPath,
  [
    join(import.meta.dirname, 'node_modules/@stoplight/prism-cli/dist/index.js'),
    ...['proxy', 'schema/openapi.v1.json', `${service}/api/external`, '--port', String(port)],
  ],
  { stdio: 'ignore' },
)
afterFile(() => prism.kill())
await until('Prism listens', () => canConnect(port), 30_000)

interface Violation {
  location: string[]
  message: string
}

/** Sends a request through Prism. @returns the status, the violations that Prism found, and the body */
async function ask(path: string, token = secret, body?: object) {
  const response = await fetch(`http://127.0.0.1:${port}/v1${path}`, {
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${token}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
  const violations: Violation[] = JSON.parse(response.headers.get('sl-violations') ?? '[]')
  return { status: response.status, violations, body: await response.json() }
}

const catalog = `/tenants/${tenantId}/catalog/vouchers`
const resolve = `/tenants/${tenantId}/redemptions/resolve`
const { server_time: serverTime, next_cursor: cursor } = (await ask(catalog)).body

const validRequests: [path: string, body: object | undefined][] = [
  ...operations.map(({ path, body }): [string, object | undefined] => [path(place), body]),
  [resolve, { qr_token: worldReference, voucher_reference: null }],
  ...[
    ...[
      'include=categories,variants',
      'include=variants%2Ccategories',
      `updated_since=${serverTime}`,
      'updated_since=',
    ],
    ...['updated_since=2026-01-31T09:30:00%2B01:00', `cursor=${cursor}`, 'cursor=', 'cursor=null', 'unknown=1'],
  ].map((query): [string, undefined] => [`${catalog}?${query}`, undefined]),
]

test.each(validRequests)('Prism accepts the request %s and its answer', async (path, body) => {
  const { status, violations } = await ask(path, secret, body)
  expect(violations).toEqual([])
  // 404, because no voucher has the QR token of this request.
  expect(status).toBe(body && 'qr_token' in body ? 404 : 200)
})

test('errors are valid answers', async () => {
  await ask('/tenants', spent.secret)
  const asked = [
    [401, await ask('/tenants', 'unknown')],
    [403, await ask(catalog, bare.secret)],
    [404, await ask('/tenants/987654321/catalog/vouchers')],
    [422, await ask(`${catalog}?updated_since=yesterday&cursor=x&include=prices`)],
    [422, await ask(resolve, secret, {})],
    [429, await ask('/tenants', spent.secret)],
  ] as const
  for (const [status, answer] of asked) {
    expect(answer.status).toBe(status)
    expect(answer.violations.filter(({ location }) => location[0] === 'response')).toEqual([])
  }
})
