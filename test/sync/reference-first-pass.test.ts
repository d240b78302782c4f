/** Tests how the reference sync reads a long list for the first time. */
import { createServer } from 'node:http'
import { createProxyServer } from 'http-proxy-3'
import { expect, test } from 'vitest'
import type { SyncEvent } from '../../packages/sync/src/event.ts'
import { createApp } from '../support/app.ts'
import { directoryPlace, postgresPlace, readService } from '../support/copies.ts'
import { listen } from '../support/free-port.ts'
import { projected } from '../support/projected.ts'
import { createWorld, sync } from '../support/reference-sync.ts'

const { build, origin, chain, pool, platform, url: databaseUrl } = await createWorld(1_200, { EXPORTS_PER_HOUR: '1' })
const { secret } = await build.token([chain])
const source = await readService(origin, secret)

/** Returns the ways in which a first pass read the list of vouchers: `export` or `pages`. */
const waysOfReading = (events: SyncEvent[]) => [
  ...new Set(
    events.flatMap(event =>
      event.event === 'progress' && event.list === 'purchased-vouchers' && event.total !== null ? [event.via] : [],
    ),
  ),
]

test('a long list is read as an export, and by pages when the token may start no further export', async () => {
  for (const way of ['export', 'pages']) {
    const place = directoryPlace()
    const { code, events } = await sync(origin, secret, place)
    expect([code, waysOfReading(events)]).toEqual([0, [way]])
    expect(await place.read()).toEqual(source)
  }
})

/** Starts a proxy in front of a service. The proxy answers some requests itself. @returns the address of the proxy */
async function startProxy(isRefused: (path: string) => boolean, status: number, body: string, target = origin) {
  const proxy = createProxyServer({ target })
  const server = createServer((request, response) => {
    if (!isRefused(request.url ?? '')) return proxy.web(request, response)
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  return `http://127.0.0.1:${await listen(server)}`
}

test.each([
  ['there are none', 404, '{"message":"No such path."}'],
  ['a proxy admits v1 and GraphQL only', 403, '<h1>Forbidden</h1>'],
])('lists are read by pages when exports are not available: %s', async (_case, status, body) => {
  const url = await startProxy(path => path.includes('/export/'), status, body)
  const other = await build.token([chain])
  const place = directoryPlace()
  const { code, events } = await sync(url, other.secret, place)
  expect([code, waysOfReading(events)]).toEqual([0, ['pages']])
  expect(await place.read()).toEqual(source)
})

const { app } = await createApp({ pool }, { GRAPHQL_DOCUMENTS: 'trusted' })
const trusted = await app.listen({ host: '127.0.0.1', port: 0 })

test('a service that runs only trusted documents can be copied', async () => {
  const other = await build.token([chain])
  const place = directoryPlace()
  expect(await sync(trusted, other.secret, place)).toMatchObject({ code: 0, error: undefined })
  expect(await place.read()).toEqual(source)
})

test('a sync ends with an error when the service does not trust its documents, even during a watch', async () => {
  const message = 'Only trusted documents run here: send the documentId of one instead of a query.'
  const body = JSON.stringify({ errors: [{ message, extensions: { code: 'DOCUMENT_NOT_TRUSTED' } }] })
  const url = await startProxy(path => path.startsWith('/graphql'), 403, body, trusted)
  const { code, error } = await sync(url, secret, directoryPlace(), { watch: 1 })
  expect([code, error]).toMatchObject([3, { message }])
})

test('when the service does not know a stored cursor, the list is read again from the beginning', async () => {
  const place = postgresPlace(databaseUrl)
  const stopAt = (event: SyncEvent) => event.event === 'progress' && event.received > 100
  expect((await sync(origin, secret, place, { stopAt })).code).toBe(130)
  const changed = await platform`
    update voucher_gateway_copy.sync_position
    set value = regexp_replace(value::text, '"cursor": "[^"]*"', '"cursor": "unknown"')::jsonb
    where value::text like '%"cursor": "%' returning key`
  expect(changed).toHaveLength(1)
  expect((await sync(origin, secret, place)).code).toBe(0)
  expect(await place.read()).toEqual(source)
})

test.each([
  ['404 with a page', 404, '<h1>default backend - 404</h1>'],
  ['403 in JSON', 403, '{"message":"Forbidden"}'],
])('a copy keeps its tenants when a proxy answers %s instead of the service', async (_, status, body) => {
  let isAway = false
  const url = await startProxy(path => isAway && path.includes(`/tenants/${chain}/`), status, body)
  const other = await build.token([chain])
  const place = directoryPlace()
  expect((await sync(url, other.secret, place)).code).toBe(0)
  const before = await place.read()
  await build.voucher(chain)
  await projected(pool)
  isAway = true
  const { code, events } = await sync(url, other.secret, place)
  expect([code, events.filter(({ event }) => event === 'left')]).toEqual([3, []])
  expect(await place.read()).toEqual(before)
})
