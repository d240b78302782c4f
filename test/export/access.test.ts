import { expect, test } from 'vitest'
import { bearer, faultyFields, flawOf } from '../rest/support.ts'
import { startService } from '../support/service.ts'
import { exportList, exportPath } from './support.ts'

const { build, client } = await startService({ EXPORTS_PER_HOUR: '1000' })
const tenantId = await build.tenant()
const foreign = await build.tenant()
await build.voucher(tenantId)
await build.customer(tenantId)
await build.product(tenantId)
const { secret } = await build.token([tenantId])
const paths = ['catalog-vouchers', 'purchased-vouchers', 'marketing-signups'].map(
  list => `/tenants/${tenantId}/${list}`,
)

const ask = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'DELETE' = 'GET') =>
  client.ask({ method, url: exportPath + url, headers })

test.each(['/tenants', ...paths])('%s refuses without a valid token, and other methods', async path => {
  for (const headers of [{}, bearer('vgw_no')]) expect(flawOf(await ask(path, headers), 401)).toBeNull()
  const other = await ask(path, bearer(secret), 'DELETE')
  expect(flawOf(other, 405)).toBeNull()
  expect(other.headers.allow).toBe('GET')
})

test.each(paths)('%s refuses as the list of v1 does', async path => {
  const askFor = (name: string) => ask(path.replace(String(tenantId), name), bearer(secret))
  for (const name of ['0', 'abc', '999999']) expect(flawOf(await askFor(name), 404)).toBeNull()
  expect(flawOf(await askFor(String(foreign)), 403)).toBeNull()
  const powerless = await build.token([tenantId], { permissions: ['redeem_vouchers'] })
  const refused = await ask(path, bearer(powerless.secret))
  expect(flawOf(refused, 403)).toBeNull()
  // The tenant comes before the permission, and the permission before the query (R1).
  expect((await ask(path.replace(String(tenantId), '0'), bearer(powerless.secret))).status).toBe(404)
  expect((await ask(`${path}?cursor=x`, bearer(powerless.secret))).status).toBe(403)
})

test.each(['/tenants', ...paths])('%s refuses a cursor that is no cursor of its list', async path => {
  const { cursors } = await exportList(client, secret, path === '/tenants' ? paths[0]! : '/tenants')
  const own = (await exportList(client, secret, path)).cursors[0]!
  for (const query of [`cursor=${cursors[0]}`, `cursor=${own}A`, `cursor=${own}&cursor=${own}`, 'cursor=1']) {
    expect(faultyFields(await ask(`${path}?${query}`, bearer(secret))), query).toEqual(['cursor'])
  }
  for (const query of ['', 'cursor=', 'cursor=null', 'unknown=1', `cursor=${own}`]) {
    expect((await ask(`${path}?${query}`, bearer(secret))).status).toBe(200)
  }
})

test('a cursor of another tenant is refused', async () => {
  const [path = ''] = paths
  const both = await build.token([tenantId, foreign])
  const { cursors } = await exportList(client, both.secret, path)
  const refused = await ask(`/tenants/${foreign}/catalog-vouchers?cursor=${cursors[0]}`, bearer(both.secret))
  expect(faultyFields(refused)).toEqual(['cursor'])
})

test('Accept must allow newline-delimited JSON, or JSON', async () => {
  const send = (accept: string) => ask('/tenants', { ...bearer(secret), accept })
  for (const accept of ['', '*/*', 'application/*', 'Application/X-NDJSON; q=0.5, text/html', 'application/json']) {
    expect((await send(accept)).status, accept).toBe(200)
  }
  for (const accept of ['text/html', 'application/x-ndjson;q=0']) {
    expect(faultyFields(await send(accept)), accept).toEqual(['accept'])
  }
})

test('unknown paths are 404, behind the check of the token', async () => {
  for (const path of ['', '/', `/tenants/${tenantId}`, `/tenants/${tenantId}/vouchers`]) {
    expect(flawOf(await ask(path), 401)).toBeNull()
    expect(flawOf(await ask(path, bearer(secret)), 404)).toBeNull()
  }
})

test('a start counts against the rate of v1, which has its headers', async () => {
  const limited = await build.token([tenantId], { rateLimit: 2 })
  const first = await ask('/tenants', bearer(limited.secret))
  expect(first.headers).toMatchObject({ 'ratelimit-limit': '2', 'ratelimit-remaining': '1' })
  expect((await client.rest(limited.secret, '/tenants')).headers['ratelimit-remaining']).toBe('0')
  const refused = await ask('/tenants', bearer(limited.secret))
  expect(flawOf(refused, 429)).toBeNull()
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
})
