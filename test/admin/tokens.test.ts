import { expect, test } from 'vitest'
import { editToken, revokeToken } from '../../src/domain/token/lifecycle.ts'
import { listTokens } from '../../src/domain/token/list.ts'
import { permissionNames } from '../../src/domain/token/permission.ts'
import { rotateToken } from '../../src/domain/token/rotation.ts'
import { getToken } from '../../src/domain/token/token.ts'
import { createApp } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { collectLog } from '../support/log.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  createBrowser,
  type Fields,
  findPagerLink,
  formsOf,
  type Page,
  readTableRows,
  root,
  signIn,
} from './support.ts'

const { database, build, client: otherInstance } = await startService()
const { pool } = database
const { log, text: logged } = collectLog()
const client = await createApp(database, { LOG_LEVEL: 'trace' }, log)
const browser = await signIn(client, database)

const chain = await build.tenant({ name: 'Chain' })
const shop = await build.tenant({ name: 'Corner Shop', parent_id: chain, subdomain: 'corner' })
const mill = await build.tenant({ name: 'The Old Mill' })
await projected(pool)

const entriesOf = ({ html }: Page) => readTableRows(html).slice(1)

const namesOf = (page: Page) => entriesOf(page).map(row => row[0])

const secretOf = ({ html }: Page) => /id="secret"[^>]*>(vgw_\w+)</.exec(html)?.[1] ?? ''

const newTokenForm: Fields = { do: 'save', name: 'Till', tenant: String(mill), permission: ['view_vouchers'] }

async function createToken(fields: Fields = {}): Promise<{ id: number; secret: string; page: Page }> {
  const page = await browser.submit('/admin/tokens/new', { ...newTokenForm, ...fields })
  expect(page.status, page.text).toBe(201)
  return { id: Number(/\/admin\/tokens\/(\d+)"/.exec(page.html)?.[1]), secret: secretOf(page), page }
}

const instances = [client, otherInstance]
const statusesOf = (secret: string, path = '/tenants') =>
  Promise.all(instances.map(async instance => (await instance.rest(secret, path)).status))
const statusOf = async (secret: string, path?: string) => (await statusesOf(secret, path))[0]

const waitForStatus = (status: number, secret: string, path?: string) =>
  until(`the answer is ${status}`, async () => (await statusesOf(secret, path)).every(is => is === status), 1_000)

const auditOf = (id: number) => database.platform<{ action: string; actor: string; address: string; detail: object }[]>`
  select action, actor, address, detail from gateway.audit_entry where token_id = ${id} order by id`

const countTokens = async () => (await listTokens(pool, { limit: 10_000 })).rows.length

const hoursUntil = (instant: string | null) => (Date.parse(instant ?? '') - Date.now()) / 3_600_000

test('the secret of a new token works, is shown once, and is stored nowhere', async () => {
  const { id, secret, page } = await createToken({
    name: 'Partner till',
    contact: 'ops@partner.example',
    rateLimit: '77',
    tenant: [String(chain), String(mill)],
    [`reach-${chain}`]: 'below',
    permission: ['view_vouchers', 'export_customer_information'],
  })
  expect(page.headers['cache-control']).toContain('no-store')
  expect(page.text).toContain(
    `curl -H 'Accept: application/json' -H 'Authorization: Bearer ${secret}' http://localhost:8080/api/external/v1/tenants`,
  )
  const answer = await client.rest(secret, '/tenants')
  expect(answer.body.data.map((tenant: { tenant_id: number }) => tenant.tenant_id).sort()).toEqual(
    [chain, shop, mill].sort(),
  )
  expect(answer.headers['ratelimit-limit']).toBe('77')

  const token = await getToken(pool, id)
  expect(token).toMatchObject({ contact: 'ops@partner.example', createdBy: root.email })
  expect(hoursUntil(token.expiresAt)).toBeCloseTo(90 * 24, 0)
  expect(await auditOf(id)).toMatchObject([{ action: 'token.create', actor: root.email, address: '127.0.0.1' }])

  for (const path of ['', `/${id}`, `/${id}/edit`, `/${id}/rotate`, `/${id}/revoke`]) {
    const { html } = await browser.get(`/admin/tokens${path}`)
    expect(html, path).toContain('Partner till')
    expect(html, path).not.toContain(secret.slice(8, -4))
  }
  client.app.log.info('the log is read here')
  expect(logged()).toContain('the log is read here')
  expect(logged()).not.toContain(secret.slice(8, -4))
})

test('a form that is sent to all instances creates one token, even after a restart: creation and rotation', async () => {
  const other = createBrowser(otherInstance.app)
  for (const [name, value] of browser.jar) other.jar.set(name, value)
  const before = await countTokens()
  const { id } = await build.token([mill], { name: 'To be turned' })
  for (const [path, fields] of [
    ['/admin/tokens/new', { ...newTokenForm, name: 'Once everywhere' }],
    [`/admin/tokens/${id}/rotate`, {}],
  ] as const) {
    const filled = await browser.load(path, fields)
    const clicks = await Promise.all([browser, other, browser, other].map(each => each.send(filled)))
    expect(clicks.map(({ status }) => status).sort()).toEqual([201, 303, 303, 303])
    const made = clicks.find(({ status }) => status === 201)
    const restarted = createBrowser((await createApp(database)).app)
    for (const [name, value] of browser.jar) restarted.jar.set(name, value)
    for (const again of [...clicks.filter(({ status }) => status === 303), await restarted.send(filled)]) {
      expect(again.status).toBe(303)
      expect(made?.html).toContain(`href="${again.location}"`)
    }
    const [late] = clicks.filter(({ status }) => status === 303)
    expect((await browser.get(late?.location ?? '')).text).toContain('cannot be shown again')
  }
  expect(await countTokens()).toBe(before + 3)
})

test('the form shows an error at its field, and keeps all values', async () => {
  const before = await countTokens()
  const page = await browser.submit('/admin/tokens/new', {
    do: 'save',
    name: ' ',
    contact: '<b>me</b>',
    rateLimit: 'many',
    permission: ['view_orders'],
    expiry: 'date',
    expiresAt: '2020-02-30',
  })
  expect(page.status).toBe(422)
  for (const name of ['name', 'rateLimit', 'tenants', 'expiresAt']) {
    expect(page.html, name).toContain(`id="${name}-error"`)
    expect(page.html, name).toContain(`href="#${name}"`)
  }
  expect(page.html).toContain('value="&lt;b>me&lt;/b>"')
  const kept = formsOf(page.html).at(-1)?.fields.toString()
  for (const field of ['rateLimit=many', 'permission=view_orders', 'expiry=date', 'expiresAt=2020-02-30'])
    expect(kept).toContain(field)
  expect(page.text).toContain('v1 also needs view_vouchers')

  const wrong: [Fields, string][] = [
    [{ tenant: '999999' }, 'No such tenant: 999999'],
    [{ rateLimit: '1.5' }, 'whole number'],
    [{ name: '🎁'.repeat(201) }, '200 characters'],
    [{ expiry: 'date', expiresAt: '2020-01-01' }, 'in the future'],
    [{ expiry: 'never', expiresAt: '2100-01-01' }, 'leave the date empty'],
    [{ expiry: '-5' }, 'Choose when the token ends'],
  ]
  for (const [fields, said] of wrong) {
    const rejected = await browser.submit('/admin/tokens/new', { ...newTokenForm, ...fields })
    expect(rejected).toMatchObject({ status: 422, text: expect.stringContaining(said) })
  }
  expect(await countTokens()).toBe(before)
  const longest = { name: '🎁'.repeat(200), contact: '🎁'.repeat(200) }
  expect(await getToken(pool, (await createToken(longest)).id)).toMatchObject(longest)
})

test('a token ends at the chosen time', async () => {
  const endOf = async (fields: Fields) => (await getToken(pool, (await createToken(fields)).id)).expiresAt
  expect(await endOf({ expiry: 'never' })).toBe(null)
  expect(await endOf({ expiry: 'date', expiresAt: '2099-12-31' })).toBe('2099-12-31T23:59:59.000000Z')
})

test('a token is rejected from the moment it ends', async () => {
  const expiresAt = new Date(Date.now() + 5_000)
  const { secret } = await build.token([], { expiresAt })
  expect(await statusesOf(secret)).toEqual([200, 200])
  await expect.poll(() => Date.now()).toBeGreaterThan(expiresAt.getTime())
  expect(await statusesOf(secret)).toEqual([401, 401])
})

test('within a second, an edit changes what v1 allows, and the edit has an audit entry', async () => {
  const { id, secret } = await createToken({ name: 'Edited', contact: 'old@example.com' })
  expect(await statusOf(secret, `/tenants/${mill}/catalog/vouchers`)).toBe(200)
  expect(await statusOf(secret, `/tenants/${shop}/catalog/vouchers`)).toBe(403)
  const page = await browser.submit(`/admin/tokens/${id}/edit`, {
    do: 'save',
    contact: 'new@example.com',
    rateLimit: '55',
    permission: ['view_vouchers', 'redeem_vouchers'],
    tenant: String(chain),
    [`reach-${chain}`]: 'below',
  })
  expect(page.location).toBe(`/admin/tokens/${id}`)
  expect((await browser.get(`/admin/tokens/${id}`)).text).toContain('The token is saved')
  await waitForStatus(200, secret, `/tenants/${shop}/catalog/vouchers`)
  expect(await statusOf(secret, `/tenants/${mill}/catalog/vouchers`)).toBe(403)
  expect((await client.rest(secret, '/tenants')).headers['ratelimit-limit']).toBe('55')
  const detail = { contact: { from: 'old@example.com', to: 'new@example.com' }, rateLimit: { from: null, to: 55 } }
  expect(await auditOf(id)).toMatchObject([{}, { action: 'token.edit', actor: root.email, detail }])

  await browser.submit(`/admin/tokens/${id}/edit`, { do: 'save', permission: ['redeem_vouchers'] })
  await waitForStatus(403, secret, `/tenants/${shop}/catalog/vouchers`)
  await browser.submit(`/admin/tokens/${id}/edit`, { do: 'save' })
  expect(await auditOf(id), 'an edit that changes nothing is no edit').toHaveLength(3)
})

test('during the overlap of a rotation both tokens are valid; the new token inherits all settings', async () => {
  const { id, secret } = await createToken({
    name: 'Turning',
    contact: 'c@example.com',
    rateLimit: '99',
    tenant: [String(chain), String(mill)],
    [`reach-${chain}`]: 'below',
    permission: [...permissionNames],
  })
  const rotation = await browser.load(`/admin/tokens/${id}/rotate`)
  const page = await browser.send(rotation)
  expect(page.status).toBe(201)
  const next = secretOf(page)
  expect(next).not.toBe(secret)
  expect([await statusOf(secret), await statusOf(next)]).toEqual([200, 200])
  const before = await getToken(pool, id)
  const after = await getToken(pool, before.rotatedTo ?? 0)
  const { name, contact, permissions, rateLimit, tenants } = before
  expect(after).toMatchObject({ name, contact, permissions, rateLimit, tenants, rotatedFrom: id })
  expect(hoursUntil(before.expiresAt)).toBeCloseTo(24, 0)
  expect(hoursUntil(after.expiresAt)).toBeCloseTo(90 * 24, 0)

  const again = await browser.get(`/admin/tokens/${id}/rotate`)
  expect(again.text).toContain(`Token ${after.id} already replaces this token`)
})

test('after a rotation without an overlap, the old token is rejected within a second', async () => {
  const { id, secret } = await createToken({ name: 'At once' })
  expect(await statusOf(secret)).toBe(200)
  const page = await browser.submit(`/admin/tokens/${id}/rotate`, { overlap: '0', expiresAt: 'never' })
  await waitForStatus(401, secret)
  expect(await statusOf(secretOf(page))).toBe(200)
})

test('a rotation never extends the validity of the old token', async () => {
  const expiresAt = new Date(Date.now() + 7_200_000)
  const { id } = await build.token([mill], { expiresAt })
  expect((await browser.submit(`/admin/tokens/${id}/rotate`, { overlap: '604800', expiresAt: '90' })).status).toBe(201)
  expect(Date.parse((await getToken(pool, id)).expiresAt ?? '')).toBe(expiresAt.getTime())
})

test('one of two rotations at the same time gets an error, and values that the form did not offer are rejected', async () => {
  const { id } = await build.token([mill])
  const rotate = () => rotateToken(pool, tester, id, { overlap: 60, expiresAt: 'inherit' })
  const both = await Promise.allSettled([rotate(), rotate()])
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])

  const other = await build.token([mill])
  const page = await browser.submit(`/admin/tokens/${other.id}/rotate`, { overlap: '99999999', expiresAt: 'never' })
  expect(page.status).toBe(422)
  for (const field of ['overlap', 'expiresAt']) expect(page.html).toContain(`id="${field}-error"`)
})

test('a revocation asks for confirmation; the token is then rejected within a second, and cannot be edited or rotated', async () => {
  const { id, secret } = await createToken({ name: 'Leaked' })
  expect(await statusOf(secret)).toBe(200)
  const asked = await browser.get(`/admin/tokens/${id}/revoke`)
  expect(asked.text).toContain((await getToken(pool, id)).hint)
  expect((await getToken(pool, id)).revokedAt).toBe(null)
  const page = await browser.submit(`/admin/tokens/${id}/revoke`)
  expect(page).toMatchObject({ status: 303, location: `/admin/tokens/${id}` })
  await waitForStatus(401, secret)
  expect((await browser.get(`/admin/tokens/${id}`)).text).toContain('The token is revoked.')
  expect((await auditOf(id)).slice(1)).toMatchObject([{ action: 'token.revoke', actor: root.email }])
  for (const name of ['edit', 'rotate', 'revoke']) {
    expect((await browser.get(`/admin/tokens/${id}/${name}`)).text).toContain('is not active')
  }
})

test('an edit is rejected when the token has ended meanwhile, or when another administrator has edited it', async () => {
  const ended = await build.token([mill], { name: 'Past' })
  const edited = await build.token([mill])
  const load = ({ id }: { id: number }) =>
    browser.load(`/admin/tokens/${id}/edit`, { do: 'save', contact: 'late@example.com' })
  const [late, older] = [await load(ended), await load(edited)]
  await database.platform`
    update gateway.token set created_at = now() - interval '2 days', expires_at = now() - interval '1 day' where id = ${ended.id}`
  expect(await browser.send(late)).toMatchObject({ status: 422, text: expect.stringContaining('is not active') })
  await editToken(pool, tester, edited.id, 1, { ...(await getToken(pool, edited.id)), name: 'Changed by another' })
  const refused = await browser.send(older)
  expect(refused).toMatchObject({ status: 422, text: expect.stringContaining('has changed this token') })
  expect(refused.html).toContain('value="late@example.com"')
  for (const { id } of [ended, edited]) expect((await getToken(pool, id)).contact).toBe(null)
})

test('the list shows each token that matches the search and the filters', async () => {
  const many: number[] = []
  for (let number = 1; number <= 5; number++) many.push(await build.tenant({ name: `Branch ${number}` }))
  await projected(pool)
  const wide = await createToken({
    name: 'Wide 100%',
    contact: 'wide@partner.example',
    tenant: many.map(String),
    [`reach-${many[0]}`]: 'below',
    permission: ['view_vouchers', 'export_customer_information'],
    expiry: 'date',
    expiresAt: '2099-01-02',
  })
  await database.platform`
    update gateway.token set last_used_at = '2026-11-21T09:14:00Z', last_used_address = '203.0.113.9' where id = ${wide.id}`
  const narrow = await build.token([shop], { name: 'Narrow', permissions: [] })
  await build.token([{ tenantId: chain, withDescendants: true }], { name: 'From above' })
  const beside = await build.token([chain], { name: 'Beside' })
  await revokeToken(pool, tester, beside.id)

  const found = await browser.get('/admin/tokens?search=wide+100%25')
  const { hint } = await getToken(pool, wide.id)
  expect(entriesOf(found)).toEqual([
    [
      ...['Wide 100% wide@partner.example', hint, 'Branch 1 and all below Branch 2 Branch 3 and 2 more'],
      'view_vouchers export_customer_information personal data',
      expect.stringMatching(/^\d+ \w+ \d{4}, \d\d:\d\d UTC by root@example\.com$/),
      ...['21 Nov 2026, 09:14 UTC from 203.0.113.9', 'active until 2 Jan 2099, 23:59 UTC'],
    ],
  ])
  expect(found.html).toContain('<time datetime="2026-11-21T09:14:00.000Z">21 Nov 2026, 09:14 UTC</time>')

  const list = async (query: string) => namesOf(await browser.get(`/admin/tokens?${query}`))
  expect(await list('search=WIDE@partner')).toEqual(['Wide 100% wide@partner.example'])
  expect(await list(`search=${hint.slice(-4)}`)).toContain('Wide 100% wide@partner.example')
  expect(await list('status=revoked')).toContain('Beside')
  expect(await list('status=revoked')).not.toContain('Narrow')
  expect(await list('status=expired')).toContain('Past')
  expect(await list('permission=redeem_vouchers&search=Narrow')).toEqual([])
  expect(await list(`tenant=${shop}&search=tester`)).toEqual(['From above', 'Narrow'])
  expect(await list('tenant=corner+sh&search=tester')).toEqual(['From above', 'Narrow'])
  expect(await list(`tenant=${narrow.id + 1_000_000}`)).toEqual([])

  const none = await browser.get('/admin/tokens?search=nothing+of+the+kind')
  expect(none.text).toContain('No token matches.')
  expect(none.html).toContain('<a href="/admin/tokens">Show all active tokens</a>')
  for (const odd of ['sort=odd', 'sort=-constructor', 'sort=-ends&after=1', 'status=odd', 'search=%00', 'before=x'])
    expect((await browser.get(`/admin/tokens?${odd}`)).status, odd).toBe(200)
})

test('the list hides ended tokens, and shows tokens that were never used or end soon', async () => {
  // The search also compares the hints of secrets, which have four random characters. A name must not be part of a
  // hint.
  const make = (name: string, days = 90) =>
    build.token([], { name: `Needed ${name}`, expiresAt: new Date(Date.now() + days * 86_400_000) })
  await revokeToken(pool, tester, (await make('ended')).id)
  const [soon, , used] = [await make('soon', 13), await make('later', 15), await make('used')]
  await database.platform`update gateway.token set last_used_at = now() where id in (${soon.id}, ${used.id})`
  const list = async (query: string) => namesOf(await browser.get(`/admin/tokens?search=Needed${query}`))
  expect(await list('')).toEqual(['Needed used', 'Needed later', 'Needed soon'])
  expect(await list('&status=any')).toEqual(['Needed used', 'Needed later', 'Needed soon', 'Needed ended'])
  expect(await list('&status=unused')).toEqual(['Needed later'])
  expect(await list('&status=expiring')).toEqual(['Needed soon'])
  const { html } = await browser.get('/admin/tokens')
  expect(html).toMatch(/<a href="\/admin\/tokens\?status=expiring&amp;sort=ends">\d+ tokens? will expire/)
})

test('each column orders the list in both directions, over all pages', async () => {
  const names = Array.from({ length: 55 }, (_, index) => `Sorted ${String(index).padStart(2, '0')}`)
  const tenants = await Promise.all([1, 2].map(() => build.tenant()))
  for (const [index, name] of names.entries()) {
    const permissions = index % 2 === 0 ? (['view_vouchers'] as const) : []
    const { id } = await build.token(tenants.slice(0, index % 3), { name, permissions: [...permissions] })
    // Some tokens were never used, and some have no end.
    await database.platform`
      update gateway.token set last_used_at = now() - make_interval(days => ${index > 5 ? index : null}),
             expires_at = now() + make_interval(days => ${index < 50 ? index + 1 : null}) where id = ${id}`
  }
  const read = async (sort: string) => {
    const first = await browser.get(`/admin/tokens?search=Sorted&sort=${sort}`)
    const second = await browser.get(findPagerLink(first, 'next') ?? '')
    expect([namesOf(first).length, findPagerLink(first, 'prev') ?? findPagerLink(second, 'next')], sort).toEqual([
      50,
      undefined,
    ])
    expect(namesOf(await browser.get(findPagerLink(second, 'prev') ?? '')), sort).toEqual(namesOf(first))
    return [...namesOf(first), ...namesOf(second)]
  }
  for (const order of ['created', 'name', 'token', 'tenants', 'permissions', 'used', 'ends']) {
    const ascending = await read(order)
    expect([...ascending].sort(), order).toEqual(names)
    expect(await read(`-${order}`), order).toEqual(ascending.toReversed())
  }
  expect(await read('name')).toEqual(names)
  expect((await read('used')).slice(0, 7)).toEqual([...names.slice(0, 6), 'Sorted 54'])
  expect((await read('ends')).at(-1)).toBe('Sorted 54')
})

test('an unknown token gives a 404 page', async () => {
  for (const path of ['/999999', '/abc', '/0', '/1e3', '/999999/edit', '/999999/rotate', '/999999/revoke']) {
    const page = await browser.get(`/admin/tokens${path}`)
    expect([page.status, page.headers['content-type']], path).toEqual([404, 'text/html; charset=utf-8'])
  }
})
