/**
 * Loads an OpenTelemetry SDK as the docs describe. The service must create spans that continue the trace of a caller.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { logLinesIn } from '../faults/support/log-lines.ts'
import { createBuilders, createTestToken, whole } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { freePort, listen } from '../support/free-port.ts'
import { serve } from '../support/process.ts'
import { until } from '../support/until.ts'

interface SpanRecord {
  name: string
  kind: SpanKind
  status: SpanStatusCode
  attributes: Record<string, unknown>
  traceId: string
  spanId: string
  parentId?: string
}

const database = await createDatabase()
const build = createBuilders(database)
const tenantId = await build.tenant({ name: 'Secret name' })
const { secret } = await createTestToken(database.pool, [whole(tenantId)])

// An OpenID provider whose answers are not valid. The test only reads the requests that arrive.
const traceparentsAtProvider: unknown[] = []
const provider = await listen(
  createServer(({ headers }, response) => {
    traceparentsAtProvider.push(headers.traceparent)
    response.writeHead(500).end()
  }),
)

const directory = createDirectory()
const spansFile = join(directory, 'spans.json')
const guide = readFileSync(join(import.meta.dirname, '../../docs/monitoring.md'), 'utf8')
const [, start = ''] = /\/tracing\.mjs <<'END'\n(.*?)^END$/ms.exec(guide) ?? []
const sdk = pathToFileURL(join(import.meta.dirname, 'tracing-sdk.mjs')).href
writeFileSync(join(directory, 'tracing.mjs'), start.replace('@opentelemetry/sdk-node', sdk))
const port = String(await freePort())
const service = await serve({
  ...{ DATABASE_URL: database.url, PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}`, LOG_REQUESTS: 'all' },
  ...{ OIDC_ISSUER: `http://127.0.0.1:${provider}`, OIDC_CLIENT_ID: 'gateway', OIDC_CLIENT_SECRET: 'x' },
  OIDC_DOMAINS: 'x.org',
  NODE_OPTIONS: `--import ${pathToFileURL(join(directory, 'tracing.mjs'))}`,
  SPANS_FILE: spansFile,
})

/** Sends a request with a trace context. @returns the id of the trace, and the id of the caller's span */
async function sendTracedRequest(path: string, number: number, body?: object) {
  const traceId = String(number).repeat(32)
  const spanId = String(number).repeat(16)
  const answer = await fetch(new URL(path, service.restAddress), {
    method: body ? 'POST' : 'GET',
    redirect: 'manual',
    headers: {
      ...{ accept: 'application/json', authorization: `Bearer ${secret}`, traceparent: `00-${traceId}-${spanId}-01` },
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  await answer.text()
  return { traceId, spanId, status: answer.status }
}

test('the span of a request belongs to the trace of the caller, and contains the spans of its operation and its statements', async () => {
  const list = '/api/external/v1/tenants/:tenant/sales/purchased-vouchers'
  const rest = await sendTracedRequest(list.replace(':tenant', String(tenantId)), 1)
  const query = `query Own($id: ID!) { tenant(id: $id) { name purchasedVouchers(first: 1) { nodes { reference } } } }`
  const graphql = await sendTracedRequest('/graphql', 2, { query, variables: { id: String(tenantId) } })
  const signIn = await sendTracedRequest('/admin/login/openid', 3)
  expect([rest.status, graphql.status, signIn.status]).toEqual([200, 200, 503])
  const lines = () => logLinesIn(service.log()).filter(({ msg }) => msg === 'request')
  await build.voucher(tenantId)
  const readVouchers = () => database.pool`select from gateway.voucher`
  await until('a step has written the voucher', async () => (await readVouchers()).length > 0)
  expect(await service.stop('SIGTERM')).toBe(0)

  const text = readFileSync(spansFile, 'utf8')
  const spans: SpanRecord[] = JSON.parse(text)
  const within = (parentId: string) => spans.filter(span => span.parentId === parentId)
  for (const [{ traceId, spanId }, route, method, type, name] of [
    [rest, list, 'GET', 'query', 'ListPurchasedVouchers'],
    [graphql, '/graphql', 'POST', 'query', 'Own'],
  ] as const) {
    const [request] = within(spanId)
    expect(request).toMatchObject({
      name: `${method} ${route}`,
      kind: SpanKind.SERVER,
      attributes: { 'http.request.method': method, 'http.route': route, 'http.response.status_code': 200 },
    })
    const operation = within(request?.spanId ?? '').find(({ name: own }) => own === `${type} ${name}`)
    expect(operation?.attributes).toEqual({ 'graphql.operation.type': type, 'graphql.operation.name': name })
    const attributes = expect.objectContaining({ 'db.system.name': 'postgresql', 'db.query.summary': 'voucher.list' })
    expect(within(operation?.spanId ?? '')).toContainEqual(
      expect.objectContaining({ name: 'voucher.list', kind: SpanKind.CLIENT, attributes }),
    )
    expect(lines().find(({ operation }) => operation === name)).toMatchObject({ traceId })
  }
  const [failed] = within(signIn.spanId)
  expect(failed).toMatchObject({ status: SpanStatusCode.ERROR, attributes: { 'error.type': '503' } })
  expect(traceparentsAtProvider).toContain(`00-${signIn.traceId}-${failed?.spanId}-01`)

  const steps = spans.filter(({ name }) => name === 'step')
  expect(steps.length).toBeGreaterThan(0)
  for (const { attributes, spanId } of steps) {
    expect(attributes['vgw.step.keys']).toBeGreaterThan(0)
    expect(within(spanId)).toEqual([])
  }
  // The spans contain no statement of a background job, and no value of a row or a request.
  expect(spans.filter(({ parentId, name }) => !parentId && name !== 'step')).toEqual([])
  expect(text).not.toMatch(/Secret name|vgw_|select/)
})
