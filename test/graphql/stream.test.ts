/** The subscription `changes`: the client of graphql-sse reads event streams of running services. */
import { setTimeout as pause } from 'node:timers/promises'
import { createClient, type ExecutionResult } from 'graphql-sse'
import { expect, test } from 'vitest'
import { editToken, revokeToken } from '../../src/domain/token/lifecycle.ts'
import { getToken } from '../../src/domain/token/token.ts'
import { createApp } from '../support/app.ts'
import { tester, whole } from '../support/builders.ts'
import { afterFile } from '../support/cleanups.ts'
import { startService } from '../support/service.ts'
import { openSocket } from '../support/sockets.ts'
import { until } from '../support/until.ts'

const { build, client, platform, pool } = await startService()
const listen = ({ app }: typeof client) => app.listen({ port: 0, host: '127.0.0.1' })
/** A second instance of the service. */
const otherClient = await createApp({ pool })
const [origin = '', otherOrigin = ''] = await Promise.all([client, otherClient].map(listen))
// After an abort, the client of graphql-sse opens a connection without a request, which only `drain` closes.
afterFile(() => Promise.all([client, otherClient].map(({ app }) => app.drain(0))))
const parent = await build.tenant()
const child = await build.tenant({ parent_id: parent })
const foreign = await build.tenant()
const { secret } = await build.token([whole(parent)])

const fields = 'lists { tenantId list since } serverTime hasMore epoch access'
const query = `subscription ($after: DateTime, $tenants: [ID!], $lists: [ListName!]) {
  changes(after: $after, tenantIds: $tenants, lists: $lists) { ${fields} }
}`

interface Changes {
  lists: { tenantId: number; list: string; since: string }[]
  serverTime: string
  hasMore: boolean
  epoch: number
  access: string
}
type Payload = ExecutionResult<{ changes: Changes }>

/** Opens a stream. @param url returns the address of each connection */
function follow(variables: Record<string, unknown> = {}, token = secret, url = () => origin, retryAttempts = 0) {
  const payloads: Payload[] = []
  const state: { end?: unknown } = {}
  const sse = createClient({
    ...{ url: () => `${url()}/graphql`, headers: { authorization: `Bearer ${token}` } },
    ...{ retryAttempts, retry: () => pause(20) },
  })
  const stop = sse.subscribe<{ changes: Changes }>(
    { query, variables },
    {
      next: payload => payloads.push(payload as Payload),
      error: error => Object.assign(state, { end: error }),
      complete: () => Object.assign(state, { end: 'complete' }),
    },
  )
  const changes = () => payloads.flatMap(({ data }) => data?.changes ?? [])
  return {
    ...{ payloads, changes, stop },
    names: () => changes().flatMap(({ lists }) => lists.map(({ tenantId, list }) => `${tenantId} ${list}`)),
    last: () => changes().at(-1)?.serverTime ?? '',
    begun: () => until('the stream has begun', () => payloads.length > 0),
    ended: () => until('the stream has ended', () => state.end),
  }
}

/** Sends a document without the client of graphql-sse. */
function send(query: string, token = secret, accept = 'text/event-stream', method = 'POST'): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, accept, 'content-type': 'application/json' }
  return method === 'GET'
    ? fetch(`${origin}/graphql?${new URLSearchParams({ query })}`, { headers })
    : fetch(`${origin}/graphql`, { method, headers, body: JSON.stringify({ query }) })
}

const changeToken = async (id: number, changed: { tenants?: number[]; permissions?: [] }) => {
  const token = await getToken(pool, id)
  const tenants = changed.tenants?.map(tenantId => ({ tenantId, withDescendants: false })) ?? token.tenants
  await editToken(pool, tester, id, token.revision, { ...token, ...changed, tenants })
}

test('a stream begins with a position, and then names each list of the scope that changes, and no other', async () => {
  const all = follow()
  const some = follow({ tenants: [String(child)], lists: ['PURCHASED_VOUCHERS'] }, secret, () => otherOrigin)
  await Promise.all([all.begun(), some.begun()])
  expect(all.changes()).toMatchObject([{ lists: [], hasMore: false, serverTime: expect.any(String) }])
  await build.voucher(foreign)
  for (const tenant of [parent, child]) await build.voucher(tenant)
  await build.product(child)
  await until('all have come', () => all.names().length >= 3 && some.names().length >= 1)
  expect(some.names()).toEqual([`${child} PURCHASED_VOUCHERS`])
  const expected = [`${parent} PURCHASED_VOUCHERS`, `${child} PURCHASED_VOUCHERS`, `${child} CATALOG_VOUCHERS`]
  expect(all.names().sort()).toEqual(expected.sort())
  // The query returns the same lists for the same position.
  const [{ serverTime = '', epoch = 0 } = {}] = all.changes()
  const sent = all.changes().flatMap(({ lists }) => lists)
  expect((await client.read(secret, `{ changes(after: "${serverTime}") { ${fields} } }`)).changes.lists).toEqual(sent)
  await platform`select gateway.require_full_pass()`
  await until('the epoch comes at once', () => all.changes().some(changes => changes.epoch > epoch), 2_000)
  const late = follow({ after: serverTime })
  expect(await late.ended()).toBe('complete')
  const errors = { after: [expect.stringContaining('a full pass is needed')] }
  expect(late.payloads[0]?.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', errors } }])
  for (const stream of [all, some]) stream.stop()
})

test('from old changes to new ones, a stream neither misses nor repeats a change, at both instances', async () => {
  const ids = await Promise.all(Array.from({ length: 30 }, () => build.tenant({ parent_id: parent })))
  const { secret: own } = await build.token([whole(parent)])
  const mark = await build.tenant({ parent_id: parent })
  let after = (await client.read(own, '{ changes { serverTime } }')).changes.serverTime
  for (const [at, id] of ids.entries()) {
    // The change is published before the stream is opened, meanwhile or afterwards.
    const writing = build.product(id)
    await pause((at * 13) % 130)
    const variables = { after, lists: ['CATALOG_VOUCHERS'] }
    const stream = follow(variables, own, () => (at % 2 ? origin : otherOrigin))
    await writing
    await until('the change has come', () => stream.names().includes(`${id} CATALOG_VOUCHERS`))
    await build.product(mark)
    await until('the next change has come', () => stream.names().includes(`${mark} CATALOG_VOUCHERS`))
    after = stream.last()
    stream.stop()
    expect(stream.names()).toEqual([id, mark].map(tenant => `${tenant} CATALOG_VOUCHERS`))
  }
})

test('a stream reads old changes in pages, while new changes are made', async () => {
  const top = await build.tenant()
  const { secret: own } = await build.token([whole(top)])
  const { changes: before } = await client.read(own, '{ changes { serverTime } }')
  await platform`insert into tenant (name, parent_id) select 'T' || n, ${top} from generate_series(1, 4500) n`
  await client.read(own, '{ viewer { name } }')
  const stream = follow({ after: before.serverTime }, own)
  await build.voucher(top)
  await until('the last has come', () => stream.names().includes(`${top} PURCHASED_VOUCHERS`))
  stream.stop()
  expect(stream.changes().filter(({ hasMore }) => hasMore).length).toBeGreaterThan(1)
  expect(stream.names()).toHaveLength(4501)
  expect(new Set(stream.names()).size).toBe(4501)
})

test('a stream continues when grants change: it names lists again that the token lost and regained', async () => {
  const { id, secret: own } = await build.token([parent, child])
  const stream = follow({}, own)
  await stream.begun()
  await changeToken(id, { tenants: [parent] })
  await until('access changes', () => stream.changes().length === 2, 2_000)
  await build.voucher(child)
  await build.voucher(parent)
  await until('the other list has come', () => stream.names().length === 1)
  expect(stream.names()).toEqual([`${parent} PURCHASED_VOUCHERS`])
  // The change and the grant arrive together: the next page contains the change.
  await platform.begin(async sql => {
    await sql`insert into purchased_voucher (tenant_id, reference) values (${child}, 'AGAIN')`
    await sql`insert into gateway.token_tenant values (${id}, ${child}, false)`
  })
  await until('the list has come', () => stream.names().length === 2, 3_000)
  expect(stream.names()[1]).toBe(`${child} PURCHASED_VOUCHERS`)
  await changeToken(id, { permissions: [] })
  await until('access changes', () => new Set(stream.changes().map(({ access }) => access)).size === 3, 2_000)
  await build.voucher(child)
  await platform`update tenant set name = 'Renamed' where id = ${child}`
  await until('what it may read has come', () => stream.names().length > 2)
  expect(stream.names()[2]).toBe(`${child} TENANTS`)
  stream.stop()
})

test('a stream ends with an error within a second after its token is revoked or expires', async () => {
  const revoked = await build.token([parent])
  const expiring = await build.token([parent], { expiresAt: new Date(Date.now() + 60_000) })
  const streams = [follow({}, revoked.secret, () => otherOrigin), follow({}, expiring.secret)]
  await Promise.all(streams.map(({ begun }) => begun()))
  await revokeToken(pool, tester, revoked.id)
  await platform`update gateway.token set expires_at = now() where id = ${expiring.id}`
  const at = performance.now()
  expect(await Promise.all(streams.map(({ ended }) => ended()))).toEqual(['complete', 'complete'])
  expect(performance.now() - at).toBeLessThan(1_000)
  for (const { payloads } of streams) {
    expect(payloads.at(-1)?.errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }])
  }
})

test('a token may have ten streams at a time, and each stream costs one unit', async () => {
  const { secret: own } = await build.token([parent], { rateLimit: 100 })
  const streams = Array.from({ length: 10 }, () => follow({}, own))
  await Promise.all(streams.map(({ begun }) => begun()))
  const refused = await send(query, own)
  expect([refused.status, refused.headers.get('ratelimit-remaining')]).toEqual([429, '89'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await refused.json()).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] })
  streams[0]?.stop()
  await until('there is room again', async () => {
    const answer = await send(query, own)
    await answer.body?.cancel()
    return answer.status === 200
  })
  for (const { stop } of streams) stop()
})

test('queries are answered as streams too, and a subscription that accepts no stream is refused', async () => {
  const subscription = 'subscription { changes { serverTime } }'
  for (const method of ['GET', 'POST']) {
    const ask = (query: string, accept?: string) => send(query, secret, accept, method)
    const answer = await ask('{ __typename }')
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    expect(answer.headers.get('cache-control')).toContain('no-transform')
    const whole = /^event: next\ndata: \{"data":\{"__typename":"Query"\},.*\}\n\nevent: complete\ndata:\n\n$/
    expect(await answer.text()).toMatch(whole)
    const subscribed = await ask(subscription)
    const { value } = (await subscribed.body?.getReader().read()) ?? {}
    expect(new TextDecoder().decode(value)).toMatch(/^event: next\ndata: \{"data":\{"changes":\{.*\}\}\}\n\n$/)
    await subscribed.body?.cancel().catch(() => {})
    expect((await ask(subscription, 'application/json')).status).toBe(406)
  }
  const invalid = await send('subscription { changes { no } }')
  expect(await invalid.text()).toMatch(/GRAPHQL_VALIDATION_FAILED.*\n\nevent: complete/)
  const skipped = await send('subscription { changes @skip(if: true) { serverTime } }')
  expect(await skipped.text()).toContain('"errors"')
})

test('when a client stops reading, later changes of a list are merged instead of kept in memory', async () => {
  const top = await build.tenant()
  await platform`insert into tenant (name, parent_id) select 'T' || n, ${top} from generate_series(1, 1500) n`
  const { secret: own } = await build.token([whole(top)])
  const aliases = Array.from({ length: 10 }, (_, n) => `a${n}${'x'.repeat(95)}: since`).join(' ')
  const body = JSON.stringify({ query: `subscription { changes { serverTime lists { tenantId ${aliases} } } }` })
  const headers = [`Authorization: Bearer ${own}`, 'Accept: text/event-stream', `Content-Length: ${body.length}`]
  const head = ['POST /graphql HTTP/1.1', 'Host: x', 'Content-Type: application/json', ...headers].join('\r\n')
  const { socket, received } = openSocket(Number(new URL(origin).port))
  socket.write(`${head}\r\n\r\n${body}`)
  const quick = follow({}, own)
  await until('the streams have begun', () => received().includes('serverTime') && quick.payloads.length > 0)
  socket.pause()
  const before = process.memoryUsage().rss
  // The changes of a round have some 2 MB.
  for (let round = 0; round < 30; round++) {
    await platform`update tenant set name = ${`Round ${round}`} where parent_id = ${top}`
    await client.read(own, '{ viewer { name } }')
    await until('it is read', () => quick.names().length >= (round + 1) * 1500)
  }
  quick.stop()
  expect(process.memoryUsage().rss - before).toBeLessThan(60e6)
  socket.resume()
  await until('the last change has come', () => received().includes(quick.changes().at(-1)?.lists.at(-1)?.since ?? ''))
  expect(received().split('event: next').length - 1).toBeLessThan(quick.payloads.length - 5)
  socket.destroy()
})

test('a service that drains ends its streams, and clients continue at another instance', async () => {
  const leaving = await createApp({ pool })
  const origins = [await listen(leaving), otherOrigin]
  const stream = follow({}, secret, () => origins[0] ?? '', 5)
  await stream.begun()
  origins.shift()
  const at = performance.now()
  await leaving.app.drain(0)
  expect(performance.now() - at).toBeLessThan(3_000)
  await until('the client has connected again', () => stream.payloads.length === 2)
  await build.voucher(parent)
  await until('the change has come', () => stream.names().length === 1)
  stream.stop()
})
