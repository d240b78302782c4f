import { expect, test } from 'vitest'
import { listExports } from '../../src/domain/record/export.ts'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import { v1 } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { onOneDay } from '../support/on-one-day.ts'
import { tokenRecordsOf } from '../support/token-records.ts'
import { bearer, createWorld, operations, perform } from './support.ts'

const world = await createWorld()
const { build, pool, platform, place, tenantId } = world
const { served, countsOf, errorsOf, exportsOf } = tokenRecordsOf(world)

test('only requests with a known token are counted, by operation and status', async () => {
  const { id, secret } = await build.token([tenantId])
  await served(async client => {
    for (const operation of operations) await perform(client, operation, place, bearer(secret))
    await client.rest(secret, '/tenants')
    await client.rest(`${secret}x`, '/tenants')
    for (const url of [`${v1}/tenants`, '/livez', '/nowhere']) await client.ask({ url })
  })
  const names = ['CatalogVoucher', 'PurchasedVoucher', 'MarketingSignup'].flatMap(it => [`List${it}s`, `Get${it}`])
  expect(await countsOf(id)).toEqual({
    'ListTenants 200': 2,
    ...Object.fromEntries([...names, 'ResolveVoucher'].map(name => [`${name} 200`, 1])),
  })
})

test('errors are counted with a reason that contains no text of the request', async () => {
  const { id, secret } = await build.token([tenantId], { permissions: ['view_vouchers'] })
  const foreign = await build.tenant()
  await served(async client => {
    const ask = (path: string, options = {}) => client.rest(secret, path, options)
    await ask('/tenants?cursor=SENT&updated_since=SENT')
    await ask('/tenants?updated_since=OTHER&cursor=OTHER')
    await ask(`/tenants/${foreign}/catalog/vouchers`)
    await ask(`/tenants/${tenantId}/catalog/vouchers/987654`)
    await ask(`/tenants/${tenantId}/sales/purchased-vouchers`)
    await ask('/SENT')
    await ask('/tenants', { method: 'DELETE' })
  })
  expect(await errorsOf(id)).toEqual({
    'ListTenants BAD_USER_INPUT The request is not valid. Fields: cursor, updated_since.': 2,
    'ListCatalogVouchers FORBIDDEN This token is not authorised for this tenant.': 1,
    'GetCatalogVoucher NOT_FOUND No such catalog voucher.': 1,
    'ListPurchasedVouchers FORBIDDEN This token lacks the permission view_orders.': 1,
    'unknown NOT_FOUND No such path.': 1,
    'unknown METHOD_NOT_ALLOWED Only GET is allowed here.': 1,
  })
})

test('requests with expired or revoked tokens and requests beyond the rate are counted with the reason', async () => {
  const [revoked, expired] = [await build.token([tenantId]), await build.token([tenantId])]
  const limited = await build.token([tenantId], { rateLimit: 1 })
  await revokeToken(pool, tester, revoked.id)
  await platform`update gateway.token set created_at = now() - interval '2 days', expires_at = now() - interval '1 day'
                 where id = ${expired.id}`
  await served(async client => {
    for (const { secret } of [revoked, revoked, expired, limited, limited]) await client.rest(secret, '/tenants')
  })
  expect(await countsOf(revoked.id)).toEqual({ 'ListTenants 401': 2 })
  expect(await errorsOf(revoked.id)).toEqual({ 'ListTenants UNAUTHENTICATED The token is revoked.': 2 })
  expect(await errorsOf(expired.id)).toEqual({ 'ListTenants UNAUTHENTICATED The token has expired.': 1 })
  expect(await countsOf(limited.id)).toEqual({ 'ListTenants 200': 1, 'ListTenants 429': 1 })
})

test('exports of personal data get an audit entry, and are summed up by day and tenant over all instances', () =>
  onOneDay(async () => {
    const owner = await build.tenant({ name: 'Owner' })
    const customers = [await build.customer(owner), await build.customer(owner)]
    const { id, secret } = await build.token([owner], { name: 'Sync' })
    const list = `/tenants/${owner}/customers/marketing-signups`
    const options = { remoteAddress: '192.0.2.7', headers: { 'x-request-id': 'request-1' } }
    await served(client => client.rest(secret, list, options))
    await served(client => client.rest(secret, `${list}/${customers[0]}`, options))
    const entry = { tenantId: owner, actor: `token ${id} (Sync)`, address: '192.0.2.7' }
    expect(await exportsOf(id)).toEqual([
      { ...entry, detail: { operation: 'list', records: 2, requestId: 'request-1' } },
      { ...entry, detail: { operation: 'record', records: 1, requestId: 'request-1' } },
    ])
    const day = new Date().toISOString().slice(0, 10)
    expect(await listExports(pool, id, 1)).toMatchObject([{ day, tenantId: owner, tenantName: 'Owner', records: 3 }])
  }))
