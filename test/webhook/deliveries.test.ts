/**
 * Webhooks (R36): each change of a list of the token reaches the endpoint of the token in order and signed, and no
 * other change does.
 */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { listDeliveries } from '../../src/domain/event/delivery.ts'
import * as endpoints from '../../src/domain/event/endpoint.ts'
import { webhookSecret } from '../../src/domain/event/secret.ts'
import { editToken, revokeToken } from '../../src/domain/token/lifecycle.ts'
import type { Permission } from '../../src/domain/token/permission.ts'
import { rotateToken } from '../../src/domain/token/rotation.ts'
import { getToken, type TenantGrant } from '../../src/domain/token/token.ts'
import { tester, whole } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { answerWith, breakConnection, type Received, startReceiver } from './receiver.ts'

const key = randomBytes(32)
const { build, client, pool, platform } = await startService({
  WEBHOOK_NETWORKS: '127.0.0.0/8',
  WEBHOOK_KEY: key.toString('hex'),
  PUBLIC_URL: 'https://gateway.example.com',
})
const parent = await build.tenant()
const tenant = await build.tenant({ parent_id: parent })
const foreign = await build.tenant()

/** Starts a receiver, and creates a token with an endpoint for it. */
async function connect(grants: (number | TenantGrant)[] = [whole(parent)], options = {}) {
  await projected(pool)
  const receiver = await startReceiver()
  const token = await build.token(grants, options)
  const { id } = await endpoints.createEndpoint(pool, tester, token.id, receiver.url)
  receiver.secrets = [1, 2].map(version => webhookSecret(key, id, version))
  return { ...receiver, receiver, token, id, endpoint: () => endpoints.getEndpoint(pool, id) }
}

const voucherEvent = 'purchased_vouchers.changed'
const isOfVouchers = ({ type }: { type: string }) => type === voucherEvent
const listsOf = (events: { type: string; tenant_id: number }[]) =>
  events.map(event => `${event.tenant_id} ${event.type}`)

test('a change reaches the endpoint within 5 s, signed, with a URL that returns only this change', async () => {
  const { received, token } = await connect()
  const committed = Date.now()
  const id = await build.voucher(tenant)
  await build.voucher(foreign)
  const [event] = await until('an event', () => (received.length > 0 ? received : null))
  expect(event).toMatchObject({ type: voucherEvent, tenant_id: tenant, validBy: [expect.any(String)] })
  expect(Math.abs(event!.timestamp - Date.now() / 1000)).toBeLessThan(30)
  expect(event!.at - committed).toBeLessThan(5_000)
  const { origin, pathname, search, searchParams } = new URL(event!.url)
  expect([origin, searchParams.get('updated_since')]).toEqual(['https://gateway.example.com', event!.updated_since])
  const { body } = await client.ask({
    ...{ method: 'GET', url: pathname + search },
    headers: { authorization: `Bearer ${token.secret}`, accept: 'application/json' },
  })
  expect(body.data.map((voucher: { id: number }) => voucher.id)).toEqual([id])
  expect(body.server_time >= event!.server_time).toBe(true)
})

test('all four lists have events, and each event begins where the previous event of its list ended', async () => {
  const { received } = await connect()
  await build.tenant({ parent_id: tenant })
  for (const one of [build.voucher, build.product, build.customer]) await one(tenant)
  await until('an event of each list', () => new Set(listsOf(received)).size === 4)
  await build.voucher(tenant)
  const vouchers = () => received.filter(isOfVouchers)
  const [first, second] = await until('a second event', () => (vouchers().length > 1 ? vouchers() : null))
  expect(second?.updated_since).toBe(first?.server_time)
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(500) // The first one can be delayed on its way.
})

test('a retry keeps its id and body; later changes go into the next event; other lists are not delayed', async () => {
  const { receiver, received, delivered, endpoint } = await connect()
  let refusing = true
  receiver.respond = (event, ...rest) =>
    (refusing && isOfVouchers(event) ? answerWith(500, { 'retry-after': '0' }) : answerWith(204))(event, ...rest)
  await build.voucher(tenant)
  await until('a refused event', () => received.length > 0)
  await until('a failure', async () => (await endpoint()).failingSince)
  await build.voucher(tenant)
  await build.product(tenant)
  await until('the other list', () => listsOf(delivered()).includes(`${tenant} catalog_vouchers.changed`))
  refusing = false
  await until('both windows', () => delivered().filter(isOfVouchers).length === 2, 30_000)
  const [first, ...tries] = received.filter(isOfVouchers)
  const [repeated, later] = tries.filter(({ status }) => status === 204)
  const window = ({ id, updated_since, server_time }: Partial<Received> = {}) => [id, updated_since, server_time]
  expect(window(repeated)).toEqual(window(first))
  expect(later).toMatchObject({ updated_since: first?.server_time })
  expect(later?.id).not.toBe(first?.id)
  expect((await endpoint()).failingSince).toBeNull()
})

test('each delivery respects the present rights of the token, and later rights deliver missed changes', async () => {
  const { received, token } = await connect([parent, tenant])
  const edit = async (grants: number[], permissions: Permission[]) => {
    const { revision, ...present } = await getToken(pool, token.id)
    const tenants = grants.map(tenantId => ({ tenantId, withDescendants: false }))
    await editToken(pool, tester, token.id, revision, { ...present, tenants, permissions })
  }
  await edit([parent], ['view_vouchers'])
  await build.voucher(parent)
  await build.product(tenant)
  await build.product(parent)
  await until('the list that it may read', () => received.length > 0)
  expect(listsOf(received)).toEqual([`${parent} catalog_vouchers.changed`])
  await edit([parent, tenant], ['view_vouchers', 'view_orders'])
  await until('the lists that it may read again', () => new Set(listsOf(received)).size === 3)
})

test('after the rotation of a token, its successor has the endpoint, and revoking it ends deliveries', async () => {
  const { received, token, endpoint } = await connect()
  const successor = await rotateToken(pool, tester, token.id, { overlap: 0, expiresAt: 'inherit' })
  await build.voucher(tenant)
  await until('an event of the successor', () => received.length === 1)
  expect((await endpoint()).tokenId).toBe(successor.id)
  await revokeToken(pool, tester, successor.id)
  const other = await connect()
  await build.voucher(tenant)
  await until('an event of another token', () => other.received.length === 1)
  expect(received.length).toBe(1)
})

test('after a pause, one event contains all changes of the pause', async () => {
  const { received, id, endpoint } = await connect()
  await endpoints.pauseEndpoint(pool, tester, id)
  const other = await connect()
  await build.voucher(tenant)
  await until('an event of another endpoint', () => other.received.length === 1)
  await build.voucher(tenant)
  expect(received).toEqual([])
  expect(await endpoint()).toMatchObject({ pauseReason: 'administrator' })
  await endpoints.resumeEndpoint(pool, tester, id)
  await until('an event', () => received.length > 0)
  const [event] = received
  const { body } = await client.rest(
    (await build.token([whole(parent)])).secret,
    `/tenants/${tenant}/sales/purchased-vouchers?updated_since=${encodeURIComponent(event?.updated_since ?? '')}`,
  )
  expect(body.data.length).toBe(2)
})

test('a replay begins at its instant, and after a rotation of the secret both secrets sign', async () => {
  const { received, id } = await connect()
  await build.voucher(tenant)
  await until('an event', () => received.length === 1)
  const [first] = received
  await endpoints.rotateSecret(pool, tester, id)
  await endpoints.replayEndpoint(pool, tester, id, first?.updated_since ?? '')
  const [, again] = await until('it again', () => (received.length === 2 ? received : null))
  expect(again).toMatchObject({ type: first?.type, updated_since: first?.updated_since })
  expect(again?.id).not.toBe(first?.id)
  expect(first?.validBy.length).toBe(1)
  expect(again?.validBy.length).toBe(2)
})

test('a replay does not lose changes before its instant that still wait', async () => {
  const { received, id } = await connect()
  await endpoints.pauseEndpoint(pool, tester, id)
  await build.voucher(tenant)
  await projected(pool)
  await endpoints.replayEndpoint(pool, tester, id, new Date().toISOString())
  await endpoints.resumeEndpoint(pool, tester, id)
  await until('the event', () => received.length > 0)
})

test('a list whose requests hang or get an invalid answer delays no other list', async () => {
  const { receiver, received, delivered } = await connect()
  receiver.respond = (event, response, request) => {
    if (event.type !== voucherEvent) return answerWith(204)(event, response, request)
    if (received.length % 2 === 1)
      request.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n')
    return null
  }
  await build.voucher(tenant)
  await until('a second try', () => received.length > 1, 30_000)
  await build.product(tenant)
  await until('the other list', () => delivered().length > 0, 5_000)
})

test('an endpoint that always fails is tried less and less often, and all lists are sent after a success', async () => {
  const { receiver, received, delivered, endpoint } = await connect()
  receiver.respond = breakConnection
  for (const child of await Promise.all(Array.from({ length: 20 }, () => build.tenant({ parent_id: tenant }))))
    await build.voucher(child)
  await until('failures', async () => (await endpoint()).failingSince)
  const begun = received.length
  await new Promise(resolve => setTimeout(resolve, 6_000)) // As long as forty tries without a wait take.
  expect(received.length - begun).toBeLessThan(12)
  receiver.respond = answerWith(204)
  await until('all lists', () => delivered().length >= 40, 60_000)
})

test('an endpoint is paused after the answer 410, and after failures for five days', async () => {
  const gone = await connect()
  gone.receiver.respond = answerWith(410)
  const dead = await connect()
  dead.receiver.respond = breakConnection
  await build.voucher(tenant)
  await until('a pause', async () => (await gone.endpoint()).pauseReason === 'gone')
  await until('a failure', async () => (await dead.endpoint()).failingSince)
  await platform`update gateway.webhook_endpoint set failing_since = now() - interval '6 days' where id = ${dead.id}`
  await build.voucher(tenant)
  await until('a pause', async () => (await dead.endpoint()).pauseReason === 'failing', 30_000)
  const [delivery] = await listDeliveries(pool, dead.id, 10)
  expect(delivery).toMatchObject({ type: voucherEvent, tenantId: tenant, status: null, error: 'ECONNRESET' })
})

test('a redirect is not followed, and an endless answer body is not read', async () => {
  const { receiver, received, endpoint, id } = await connect()
  receiver.respond = answerWith(302, { location: receiver.url })
  await build.voucher(tenant)
  await until('a failure', async () => (await endpoint()).failingSince)
  expect(received.length).toBe(1)
  receiver.respond = (_event, response) => {
    response.writeHead(200)
    const writing = setInterval(() => response.write('x'.repeat(10_000)), 1)
    response.on('close', () => clearInterval(writing))
    return 200
  }
  await build.product(tenant)
  await until('a success', async () => (await endpoint()).failingSince === null)
  const [last] = await listDeliveries(pool, id, 1)
  expect(last).toMatchObject({ status: 200, error: null })
})

test('after a restore (a new epoch), each list gets an event to read the whole list, even after failures', async () => {
  const { receiver, received, delivered } = await connect()
  receiver.respond = answerWith(500)
  await build.voucher(tenant)
  await until('an event', () => received.length === 1)
  await platform`select gateway.require_full_pass()`
  await until('a failure after it', () => received.some(({ updated_since }) => updated_since === null), 30_000)
  receiver.respond = answerWith(204)
  const whole = () => delivered().filter(({ updated_since }) => updated_since === null)
  const lists = ['catalog_vouchers', 'purchased_vouchers'].map(list => `${tenant} ${list}.changed`)
  await until('the lists', () => lists.every(list => listsOf(whole()).includes(list)), 30_000)
  const { url } = whole().find(({ type }) => type === 'tenants.changed') ?? {}
  expect(url).toBe('https://gateway.example.com/api/external/v1/tenants')
})
