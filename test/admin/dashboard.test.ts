/** Tests how an administrator opens the dashboard. */

import { describe, expect, test } from 'vitest'
import { listTokens, type TokenState } from '../../src/domain/token/list.ts'
import { rotateToken } from '../../src/domain/token/rotation.ts'
import { getToken } from '../../src/domain/token/token.ts'
import { createApp } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { type Browser, changePassword, createBrowser, type Fields, formsOf, root, signIn } from './support.ts'

const { database, build, client } = await startService({ RATE_LIMIT_PER_MINUTE: '120' })
const { pool } = database
const browser = await signIn(client, database)
const action = '/admin/dashboard'

const chain = await build.tenant({ name: 'Chain' })
const shop = await build.tenant({ name: 'Corner Shop', parent_id: chain })
const mill = await build.tenant({ name: 'The Old Mill' })
await projected(pool)

/** Opens the dashboard; returns the answer and the token that it hands over. */
async function open(fields: Fields = {}, by: Browser = browser) {
  const page = await by.submit(action, fields, { action })
  expect(page.status, page.text).toBe(201)
  const [newest] = (await listTokens(pool, { limit: 1 })).rows
  return { page, secret: /data-token="(vgw_\w+)"/.exec(page.html)?.[1] ?? '', token: await getToken(pool, newest!.id) }
}

const countTokens = async () => (await listTokens(pool, { limit: 100 })).rows.length

const loadForm = async () => (await browser.load(action, {}, action)).fields

const tenantsOf = async (secret: string) =>
  (await client.rest(secret, '/tenants')).body.data.map((tenant: { tenant_id: number }) => tenant.tenant_id).sort()

test('a token is made for 8 hours that reads vouchers of all tenants, and no personal data', async () => {
  const before = Date.now()
  const { token, secret } = await open()
  expect(token).toMatchObject({
    name: `Dashboard of ${root.email}`,
    createdBy: root.email,
    permissions: ['view_vouchers', 'view_orders'],
    rateLimit: 1200,
  })
  expect(token.tenants.map(({ tenantId, withDescendants }) => [tenantId, withDescendants])).toEqual([
    [chain, true],
    [mill, true],
  ])
  const hours = (Date.parse(token.expiresAt ?? '') - before) / 3_600_000
  expect(hours).toBeGreaterThan(7.99)
  expect(hours).toBeLessThan(8.01)
  expect(await tenantsOf(secret)).toEqual([chain, shop, mill].sort())
  expect((await client.rest(secret, `/tenants/${mill}/sales/purchased-vouchers`)).status).toBe(200)
  expect((await client.rest(secret, `/tenants/${mill}/customers/marketing-signups`)).status).toBe(403)
  expect((await client.resolve(secret, mill, { voucher_reference: 'X' })).status).toBe(403)
})

test('with the figures of marketing it may read the signups', async () => {
  const { secret, token } = await open({ marketing: 'yes' })
  expect(token.permissions).toEqual(['view_vouchers', 'view_orders', 'export_customer_information'])
  expect((await client.rest(secret, `/tenants/${mill}/customers/marketing-signups`)).status).toBe(200)
})

test('with tenants that are chosen it reads those only', async () => {
  const form = await browser.submit(action, { do: 'add', pick: String(shop) }, { action })
  expect(form.status).toBe(200)
  expect(form.text).toContain('Chosen tenants: 1')
  const { secret } = await open({ tenant: String(shop) })
  expect(await tenantsOf(secret)).toEqual([shop])
  const unknown = await browser.submit(action, { tenant: '999999' }, { action })
  expect(unknown.status).toBe(422)
  expect(unknown.text).toContain('No such tenant: 999999.')
})

test('a form creates one token, also when it was refused before or is sent twice, and leads to a new form', async () => {
  const form = await loadForm()
  const before = await countTokens()
  for (const more of [
    ['do', `add:${shop}`],
    ['tenant', '999999'],
  ]) {
    const { html } = await browser.post(action, new URLSearchParams([...form, more]))
    const again = formsOf(html).findLast(each => each.action === action)
    expect(again?.fields.get('idempotencyKey')).toBe(form.get('idempotencyKey'))
  }
  const answers = await Promise.all([browser.post(action, form), browser.post(action, form)])
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 303])
  expect(await browser.post(action, form)).toMatchObject({ status: 303, location: action })
  expect(await countTokens()).toBe(before + 1)

  expect((await browser.get(action)).text).toContain('This form has already opened the dashboard.')
  await open()
  expect(await countTokens()).toBe(before + 2)
})

describe('the token ends with the session in which it was made, at every instance within a second,', async () => {
  const instances = [client, await createApp(database)]
  const remover = browser
  const email = 'viewer@example.com'
  const elsewhere = { email, password: root.password }
  const sessionOf = (id: number) => sql`id_hash = (select session_hash from gateway.token where id = ${id})`
  const { platform: sql } = database

  /** Each ends the session of the administrator who has opened the dashboard. */
  const ends: Record<string, (viewer: Browser, tokenId: number) => Promise<unknown>> = {
    'at the sign-out': viewer => viewer.submit('/admin/account', {}, { action: '/admin/logout' }),
    'at a sign-out everywhere from another session': async () => {
      const other = createBrowser(client.app)
      await other.submit('/admin/login', elsewhere)
      await other.submit('/admin/account', {}, { action: '/admin/account/sign-out-everywhere' })
    },
    'with a new password': async viewer => {
      expect((await changePassword(viewer, root.password, 'another quiet lot of water')).status).toBe(303)
    },
    'when the administrator is removed': async () => {
      const [row] = await sql<{ id: number }[]>`select id from gateway.administrator where email = ${email}`
      const path = `/admin/administrators/${row?.id}/remove`
      expect((await remover.submit(path, {}, { action: path })).status).toBe(303)
    },
    'when the session was not used for an hour': (_viewer, id) =>
      sql`update gateway.session set used_at = now() - interval '61 minutes' where ${sessionOf(id)}`,
    'when the session expires': (_viewer, id) =>
      sql`update gateway.session set expires_at = now() where ${sessionOf(id)}`,
  }

  test.each(Object.keys(ends))('%s', async name => {
    const viewer = await signIn(client, database, { email })
    const { secret, token } = await open({}, viewer)
    const successor = await rotateToken(pool, tester, token.id, { overlap: 60, expiresAt: 'inherit' })
    const statuses = () =>
      Promise.all(
        [secret, successor.secret].flatMap(each =>
          instances.map(async instance => (await instance.rest(each, '/tenants')).status),
        ),
      )
    expect(await statuses()).toEqual([200, 200, 200, 200])
    await ends[name]?.(viewer, token.id)
    await until('all are rejected', async () => (await statuses()).every(status => status === 401), 1_000)
    const { id } = token
    const { status, text } = await remover.get(`/admin/tokens/${id}`)
    expect(status).toBe(200)
    expect(text).toContain('with the session of the administrator who opened the dashboard')
    const listed = async (state: TokenState) => (await listTokens(pool, { filter: { state }, limit: 100 })).rows
    expect((await listed('active')).map(each => each.id)).not.toContain(id)
    expect((await listed('expired')).map(each => each.id)).toContain(id)
  })

  test('and its use is use of the session', async () => {
    const viewer = await signIn(client, database, { email })
    const { secret, token } = await open({}, viewer)
    const idle = () => sql<{ long: boolean }[]>`
      select used_at < now() - interval '10 minutes' as long from gateway.session where ${sessionOf(token.id)}`
    await sql`update gateway.session set used_at = now() - interval '50 minutes' where ${sessionOf(token.id)}`
    expect(await idle()).toEqual([{ long: true }])
    expect((await client.rest(secret, '/tenants')).status).toBe(200)
    await expect.poll(idle).toEqual([{ long: false }])
  })
})
