import { describe, expect, test } from 'vitest'
import { listExports } from '../../src/domain/record/export.ts'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import { listRequestErrors } from '../../src/domain/token/request-count.ts'
import { type Client, createApp, v1 } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { untilLockWaits } from '../support/locks.ts'
import { onOneDay } from '../support/on-one-day.ts'
import { headOf, openSocket } from '../support/sockets.ts'
import { tokenRecordsOf } from '../support/token-records.ts'
import { until } from '../support/until.ts'
import { bearer, createWorld, operations, perform } from './support.ts'

const world = await createWorld()
const { build, pool, platform, place, tenantId } = world
const { served, countsOf, errorsOf, exportsOf } = tokenRecordsOf(world)

const invalid = (fields: string) => `BAD_USER_INPUT The request is not valid. Fields: ${fields}.`

describe('requests', () => {
  test('are counted by operation and status', async () => {
    const { id, secret } = await build.token([tenantId])
    await served(async client => {
      for (const operation of operations) await perform(client, operation, place, bearer(secret))
      await client.rest(secret, '/tenants')
      await client.rest(secret, '/tenants?cursor=x')
    })
    expect(await countsOf(id)).toEqual({
      'ListTenants 200': 2,
      'ListTenants 422': 1,
      'ListCatalogVouchers 200': 1,
      'GetCatalogVoucher 200': 1,
      'ListPurchasedVouchers 200': 1,
      'GetPurchasedVoucher 200': 1,
      'ListMarketingSignups 200': 1,
      'GetMarketingSignup 200': 1,
      'ResolveVoucher 200': 1,
    })
  })

  test('of clients that close the connection are counted, and saved while the service runs', async () => {
    const { id, secret } = await build.token([tenantId])
    await served(async client => {
      const { port } = new URL(await client.app.listen({ host: '127.0.0.1', port: 0 }))
      const { socket } = openSocket(Number(port))
      await platform.begin(async sql => {
        await sql`lock table gateway.product`
        socket.write(headOf(`${v1}/tenants/${tenantId}/catalog/vouchers`, secret))
        await untilLockWaits(platform)
        socket.destroy()
        await until('the service knows', async () => (await connections(client)) === 0, 5_000)
      })
      await until('it is counted', async () => (await countsOf(id))['ListCatalogVouchers 200'] === 1, 5_000)
    })
  })

  test('without a known token are not counted', async () => {
    const { id, secret } = await build.token([tenantId])
    await served(async client => {
      await client.rest(`${secret}x`, '/tenants')
      await client.ask({ url: `${v1}/tenants` })
      await client.ask({ url: '/livez', headers: bearer(secret) })
      await client.ask({ url: '/nowhere', headers: bearer(secret) })
    })
    expect(await countsOf(id)).toEqual({})
  })
})

const connections = (client: Client) =>
  new Promise<number>((resolve, reject) =>
    client.app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )

describe('errors', () => {
  test('are counted with a reason that contains nothing from the request', async () => {
    const { id, secret } = await build.token([tenantId], { permissions: ['view_vouchers'] })
    const foreign = await build.tenant()
    await served(async client => {
      const ask = (path: string, options = {}) => client.rest(secret, path, options)
      await ask('/tenants?cursor=SENT&updated_since=SENT')
      await ask('/tenants?updated_since=OTHER&cursor=OTHER')
      await ask('/tenants', { headers: { accept: 'SENT/SENT' } })
      await ask(`/tenants/${foreign}/catalog/vouchers`)
      await ask('/tenants/SENT/catalog/vouchers')
      await ask(`/tenants/${tenantId}/catalog/vouchers/987654`)
      await ask(`/tenants/${tenantId}/catalog/vouchers?include=SENT`)
      await ask(`/tenants/${tenantId}/sales/purchased-vouchers`)
      await ask('/SENT')
      await ask('/tenants', { method: 'DELETE' })
      await client.resolve(secret, tenantId, {})
    })
    expect(await errorsOf(id)).toEqual({
      [`ListTenants ${invalid('cursor, updated_since')}`]: 2,
      [`ListTenants ${invalid('accept')}`]: 1,
      'ListCatalogVouchers FORBIDDEN This token is not authorised for this tenant.': 1,
      'ListCatalogVouchers NOT_FOUND No such tenant.': 1,
      'GetCatalogVoucher NOT_FOUND No such catalog voucher.': 1,
      [`ListCatalogVouchers ${invalid('include')}`]: 1,
      'ListPurchasedVouchers FORBIDDEN This token lacks the permission view_orders.': 1,
      'unknown NOT_FOUND No such path.': 1,
      'unknown METHOD_NOT_ALLOWED Only GET is allowed here.': 1,
      'ResolveVoucher FORBIDDEN This token lacks the permission redeem_vouchers.': 1,
    })
    const { 'unknown 404': path, 'unknown 405': method, 'ListTenants 422': query } = await countsOf(id)
    expect([path, method, query]).toEqual([1, 1, 3])
    const [latest] = await listRequestErrors(pool, id, 2)
    expect(latest?.operation).toBe('ResolveVoucher')
    expect(Math.abs(Date.parse(latest?.lastAt ?? '') - Date.now())).toBeLessThan(60_000)
  })

  test('name the fields of a body as v1 does', async () => {
    const { id, secret } = await build.token([tenantId])
    await served(async client => {
      await client.resolve(secret, tenantId, {})
      await client.resolve(secret, tenantId, '{')
    })
    expect(await errorsOf(id)).toEqual({
      [`ResolveVoucher ${invalid('qr_token, voucher_reference')}`]: 1,
      [`ResolveVoucher ${invalid('body')}`]: 1,
    })
  })

  test('of the rate limit are counted', async () => {
    const { id, secret } = await build.token([tenantId], { rateLimit: 2 })
    await served(async client => {
      for (let asked = 0; asked < 5; asked++) await client.rest(secret, '/tenants')
    })
    expect(await countsOf(id)).toEqual({ 'ListTenants 200': 2, 'ListTenants 429': 3 })
    expect(await errorsOf(id)).toEqual({
      'ListTenants RATE_LIMITED The rate limit is exceeded. Try again after the window resets.': 3,
    })
  })

  test('of expired and revoked tokens are counted with the reason, which the caller does not get', async () => {
    const [revoked, expired] = [await build.token([tenantId]), await build.token([tenantId])]
    await revokeToken(pool, tester, revoked.id)
    await platform`update gateway.token set created_at = now() - interval '2 days', expires_at = now() - interval '1 day'
                   where id = ${expired.id}`
    await served(async client => {
      const strange = await client.rest('nonsense', '/tenants')
      for (const { secret } of [revoked, revoked, expired]) {
        const answer = await client.rest(secret, '/tenants')
        expect([answer.status, answer.text]).toEqual([401, strange.text])
        expect(Object.keys(answer.headers).sort()).toEqual(Object.keys(strange.headers).sort())
      }
    })
    expect(await countsOf(revoked.id)).toEqual({ 'ListTenants 401': 2 })
    expect(await errorsOf(revoked.id)).toEqual({ 'ListTenants UNAUTHENTICATED The token is revoked.': 2 })
    expect(await countsOf(expired.id)).toEqual({ 'ListTenants 401': 1 })
    expect(await errorsOf(expired.id)).toEqual({ 'ListTenants UNAUTHENTICATED The token has expired.': 1 })
  })
})

describe('personal data', () => {
  const signups = `/tenants/${tenantId}/customers/marketing-signups`

  test('is exported with an audit entry', async () => {
    await build.customer(tenantId)
    await onOneDay(async () => {
      const { id, secret } = await build.token([tenantId], { name: 'Sync' })
      await served(async client => {
        const ask = (path: string) =>
          client.rest(secret, path, { remoteAddress: '192.0.2.7', headers: { 'x-request-id': 'request-1' } })
        const { body } = await ask(signups)
        expect(body.data).toHaveLength(2)
        expect(await exportsOf(id)).toHaveLength(1)
        expect((await ask(`${signups}/${place.customer}`)).status).toBe(200)
      })
      const entry = { tenantId, actor: `token ${id} (Sync)`, address: '192.0.2.7' }
      expect(await exportsOf(id)).toEqual([
        { ...entry, detail: { operation: 'list', records: 2, requestId: 'request-1' } },
        { ...entry, detail: { operation: 'record', records: 1, requestId: 'request-1' } },
      ])
      const [day, ...more] = await listExports(pool, id, 1)
      expect(day).toEqual({
        day: new Date().toISOString().slice(0, 10),
        tenantId,
        tenantName: 'World',
        records: 3,
        lastAt: expect.any(String),
      })
      expect(more).toEqual([])
    })
  })

  test('is summed by day and tenant across concurrent instances', () =>
    onOneDay(async () => {
      const owner = await build.tenant()
      const other = await build.tenant()
      await build.customer(owner)
      await build.customer(owner)
      await build.customer(other)
      const { id, secret } = await build.token([owner, other])
      const [one, two] = [await createApp(world), await createApp(world)]
      const paths = [owner, other].map(tenant => `/tenants/${tenant}/customers/marketing-signups`)
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          [one, two].flatMap(client => {
            const ordered = index % 2 === 0 ? paths : paths.toReversed()
            return ordered.map(path => client.rest(secret, path))
          }),
        ).flat(),
      )
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
      expect(new Set((await exportsOf(id)).map(entry => entry.tenantId))).toEqual(new Set([owner, other]))
      const rows = await listExports(pool, id, 1)
      expect(Object.fromEntries(rows.map(({ tenantId, records }) => [tenantId, records]))).toEqual({
        [owner]: 80,
        [other]: 40,
      })
      await Promise.all([one.app.close(), two.app.close()])
    }))
})
