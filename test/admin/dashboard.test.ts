/** Tests how an administrator opens the dashboard. */

import { describe, expect, test } from 'vitest'
import { listTokens } from '../../src/domain/token/list.ts'
import { rotateToken } from '../../src/domain/token/rotation.ts'
import { getToken } from '../../src/domain/token/token.ts'
import { createApp } from '../support/app.ts'
import { tester, whole } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { type Browser, type Fields, formsOf, root, signIn } from './support.ts'

const { database, build, client } = await startService({ RATE_LIMIT_PER_MINUTE: '120' })
const { pool } = database
const browser = await signIn(client, database)
const action = '/admin/dashboard'

const chain = await build.tenant({ name: 'Chain' })
const shop = await build.tenant({ name: 'Corner Shop', parent_id: chain })
const mill = await build.tenant({ name: 'The Old Mill' })
await projected(pool)

/** Opens the dashboard as an administrator. Returns the answer and the token in the answer. */
async function openDashboard(fields: Fields = {}, by: Browser = browser) {
  const page = await by.submit(action, fields, { action })
  expect(page.status, page.text).toBe(201)
  const [newest] = (await listTokens(pool, { limit: 1 })).rows
  return { page, secret: /data-token="(vgw_\w+)"/.exec(page.html)?.[1] ?? '', token: await getToken(pool, newest!.id) }
}

const countTokens = async () => (await listTokens(pool, { limit: 100 })).rows.length

const tenantsOf = async (secret: string) =>
  (await client.rest(secret, '/tenants')).body.data.map((tenant: { tenant_id: number }) => tenant.tenant_id).sort()

test('the new token is valid for 8 hours and reads vouchers of all tenants, but personal data only when marketing is chosen', async () => {
  const { token, secret } = await openDashboard()
  const [name, permissions] = [`Dashboard of ${root.email}`, ['view_vouchers', 'view_orders']]
  expect(token).toMatchObject({ name, createdBy: root.email, permissions, rateLimit: 1200 })
  expect(token.tenants).toMatchObject([whole(chain), whole(mill)])
  expect((Date.parse(token.expiresAt ?? '') - Date.now()) / 3_600_000).toBeCloseTo(8, 1)
  expect(await tenantsOf(secret)).toEqual([chain, shop, mill].sort())
  expect((await client.rest(secret, `/tenants/${mill}/sales/purchased-vouchers`)).status).toBe(200)
  expect((await client.rest(secret, `/tenants/${mill}/customers/marketing-signups`)).status).toBe(403)
  expect((await client.resolve(secret, mill, { voucher_reference: 'X' })).status).toBe(403)

  const marketing = await openDashboard({ marketing: 'yes' })
  expect(marketing.token.permissions).toEqual(['view_vouchers', 'view_orders', 'export_customer_information'])
  expect((await client.rest(marketing.secret, `/tenants/${mill}/customers/marketing-signups`)).status).toBe(200)
})

test('when tenants are chosen, the token reads only these tenants', async () => {
  const form = await browser.submit(action, { do: `add:${shop}` }, { action })
  expect(form.status).toBe(200)
  expect(form.text).toContain('Chosen tenants: 1')
  const { secret } = await openDashboard({ tenant: String(shop) })
  expect(await tenantsOf(secret)).toEqual([shop])
  const unknown = await browser.submit(action, { tenant: '999999' }, { action })
  expect(unknown.status).toBe(422)
  expect(unknown.text).toContain('No such tenant: 999999.')
})

test('a form creates one token, even when the form is rejected first or sent twice, and the page says so', async () => {
  const form = (await browser.load(action, {}, action)).fields
  const before = await countTokens()
  const { html } = await browser.post(action, new URLSearchParams([...form, ['tenant', '999999']]))
  const again = formsOf(html).findLast(each => each.action === action)
  expect(again?.fields.get('idempotencyKey')).toBe(form.get('idempotencyKey'))
  const answers = await Promise.all([browser.post(action, form), browser.post(action, form)])
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 303])
  expect(await browser.post(action, form)).toMatchObject({ status: 303, location: action })
  expect(await countTokens()).toBe(before + 1)
  expect((await browser.get(action)).text).toContain('This form has already opened the dashboard.')
})

describe('every instance rejects the token within a second after the session of its creator ends', async () => {
  const instances = [client, await createApp(database)]
  const email = 'viewer@example.com'
  const sessionOf = (id: number) => sql`id_hash = (select session_hash from gateway.token where id = ${id})`
  const { platform: sql } = database

  /** Each function ends the session of the administrator who opened the dashboard. */
  const ends: Record<string, (viewer: Browser, tokenId: number) => Promise<unknown>> = {
    'at the sign-out': viewer => viewer.submit('/admin/account', {}, { action: '/admin/logout' }),
    'when the session was not used for an hour': (_viewer, id) =>
      sql`update gateway.session set used_at = now() - interval '61 minutes' where ${sessionOf(id)}`,
    'when the session expires': (_viewer, id) =>
      sql`update gateway.session set expires_at = now() where ${sessionOf(id)}`,
  }

  test.each(Object.keys(ends))('%s', async name => {
    const viewer = await signIn(client, database, { email })
    const { secret, token } = await openDashboard({}, viewer)
    const successor = await rotateToken(pool, tester, token.id, { overlap: 60, expiresAt: 'inherit' })
    const pairs = [secret, successor.secret].flatMap(each => instances.map(instance => ({ instance, secret: each })))
    const statuses = () =>
      Promise.all(pairs.map(async ({ instance, secret }) => (await instance.rest(secret, '/tenants')).status))
    expect(await statuses()).toEqual([200, 200, 200, 200])
    await ends[name]?.(viewer, token.id)
    await until('all are rejected', async () => (await statuses()).every(status => status === 401), 1_000)
    expect((await browser.get(`/admin/tokens/${token.id}`)).text).toContain(
      'with the session of the administrator who opened the dashboard',
    )
    const expired = await listTokens(pool, { filter: { state: 'expired' }, limit: 100 })
    expect(expired.rows.map(({ id }) => id)).toContain(token.id)
  })

  test('requests with the token keep the session of its creator alive', async () => {
    const viewer = await signIn(client, database, { email })
    const { secret, token } = await openDashboard({}, viewer)
    const idle = () => sql<{ long: boolean }[]>`
      select used_at < now() - interval '10 minutes' as long from gateway.session where ${sessionOf(token.id)}`
    await sql`update gateway.session set used_at = now() - interval '50 minutes' where ${sessionOf(token.id)}`
    expect(await idle()).toEqual([{ long: true }])
    expect((await client.rest(secret, '/tenants')).status).toBe(200)
    await expect.poll(idle).toEqual([{ long: false }])
  })
})
