import { expect, test } from 'vitest'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
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
import { createBrowser, type Fields, formsOf, linkOf, type Page, root, rowsOf, signIn } from './support.ts'

const { database, build, client: otherInstance } = await startService()
const { pool } = database
const { log, text: logged } = collectLog()
const client = await createApp(database, { LOG_LEVEL: 'trace' }, log)
const browser = await signIn(client, database)

const chain = await build.tenant({ name: 'Chain' })
const shop = await build.tenant({ name: 'Corner Shop', parent_id: chain, subdomain: 'corner' })
const mill = await build.tenant({ name: 'The Old Mill' })
await projected(pool)

const entriesOf = ({ html }: Page) => rowsOf(html).slice(1)

const namesOf = (page: Page) => entriesOf(page).map(row => row[0])

const secretOf = ({ html }: Page) => /id="secret"[^>]*>(vgw_\w+)</.exec(html)?.[1] ?? ''

const form: Fields = { do: 'save', name: 'Till', tenant: String(mill), permission: ['view_vouchers'] }

async function create(fields: Fields = {}): Promise<{ id: number; secret: string; page: Page }> {
  const page = await browser.submit('/admin/tokens/new', { ...form, ...fields })
  expect(page.status, page.text).toBe(201)
  return { id: Number(/\/admin\/tokens\/(\d+)"/.exec(page.html)?.[1]), secret: secretOf(page), page }
}

const instances = [client, otherInstance]
const statusesOf = (secret: string, path = '/tenants') =>
  Promise.all(instances.map(async instance => (await instance.rest(secret, path)).status))
const statusOf = async (secret: string, path?: string) => (await statusesOf(secret, path))[0]

const answersWithinASecond = (status: number, secret: string, path?: string) =>
  until(`the answer is ${status}`, async () => (await statusesOf(secret, path)).every(is => is === status), 1_000)

const auditOf = (id: number) => database.platform<{ action: string; actor: string; address: string; detail: object }[]>`
  select action, actor, address, detail from gateway.audit_entry where token_id = ${id} order by id`

const all = async () => (await listTokens(pool, { limit: 10_000 })).rows

test('a token is created; its secret works, is shown once, and is stored nowhere', async () => {
  const { id, secret, page } = await create({
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
  expect(token).toMatchObject({ contact: 'ops@partner.example', createdBy: root.email, rateLimit: 77 })
  expect(Date.parse(token.expiresAt ?? '') - Date.now()).toBeGreaterThan(89.9 * 86_400_000)
  expect(Date.parse(token.expiresAt ?? '') - Date.now()).toBeLessThan(90.1 * 86_400_000)
  const [entry, ...others] = await auditOf(id)
  expect(others).toEqual([])
  expect(entry).toMatchObject({ action: 'token.create', actor: root.email, address: '127.0.0.1' })
  expect(entry?.detail).toEqual({
    name: 'Partner till',
    contact: 'ops@partner.example',
    rateLimit: 77,
    permissions: ['view_vouchers', 'export_customer_information'],
    tenants: [
      { tenantId: chain, withDescendants: true },
      { tenantId: mill, withDescendants: false },
    ],
    expiresAt: expect.any(String),
  })

  for (const path of ['', `/${id}`, `/${id}/edit`, `/${id}/rotate`, `/${id}/revoke`]) {
    const other = await browser.get(`/admin/tokens${path}`)
    expect(other.status, path).toBe(200)
    expect(other.html, path).toContain('Partner till')
    expect(other.html, path).not.toContain(secret.slice(8, -4))
  }
  client.app.log.info('the log is read here')
  expect(logged()).toContain('the log is read here')
  expect(logged()).not.toContain(secret.slice(8, -4))
})

test('a form creates one token at all instances together, by creation and rotation, also after a restart', async () => {
  const beside = createBrowser(otherInstance.app)
  for (const [name, value] of browser.jar) beside.jar.set(name, value)
  const before = (await all()).length
  const { id } = await build.token([mill], { name: 'To be turned' })
  for (const [path, fields] of [
    ['/admin/tokens/new', { ...form, name: 'Once everywhere' }],
    [`/admin/tokens/${id}/rotate`, {}],
  ] as const) {
    const filled = await browser.load(path, fields)
    const clicks = await Promise.all([browser, beside, browser, beside].map(each => each.send(filled)))
    expect(clicks.map(({ status }) => status).sort()).toEqual([201, 303, 303, 303])
    const made = clicks.find(({ status }) => status === 201)
    const restarted = createBrowser((await createApp(database)).app)
    for (const [name, value] of browser.jar) restarted.jar.set(name, value)
    for (const again of [...clicks.filter(({ status }) => status === 303), await restarted.send(filled)]) {
      expect(again.status).toBe(303)
      expect(made?.html).toContain(`href="${again.location}"`)
      expect(again.html).not.toContain('vgw_')
    }
    expect((await browser.get(clicks.find(({ status }) => status === 303)?.location ?? '')).text).toContain(
      'cannot be shown again',
    )
  }
  expect(await all()).toHaveLength(before + 3)
})

test('an error is shown at its field, and all values stay', async () => {
  const before = (await all()).length
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
    expect(page.html, name).toMatch(new RegExp(`<(input|div)[^>]* id="${name}"`))
  }
  expect(page.html).toContain('value="&lt;b>me&lt;/b>"')
  const kept = formsOf(page.html).at(-1)?.fields
  expect(kept?.get('rateLimit')).toBe('many')
  expect(kept?.getAll('permission')).toEqual(['view_orders'])
  expect(kept?.get('expiry')).toBe('date')
  expect(kept?.get('expiresAt')).toBe('2020-02-30')
  expect(page.text).toContain('v1 also needs view_vouchers')

  const wrong: [Fields, string][] = [
    [{ tenant: '999999' }, 'No such tenant: 999999'],
    [{ rateLimit: '0' }, 'whole number'],
    [{ rateLimit: '1.5' }, 'whole number'],
    [{ name: '🎁'.repeat(201) }, '200 characters'],
    [{ contact: '🎁'.repeat(201) }, '200 characters'],
    [{ expiry: 'date', expiresAt: '2020-01-01' }, 'in the future'],
    [{ expiry: 'never', expiresAt: '2100-01-01' }, 'leave the date empty'],
    [{ expiry: '-5' }, 'Choose when the token ends'],
  ]
  for (const [fields, said] of wrong) {
    const rejected = await browser.submit('/admin/tokens/new', { ...form, ...fields })
    expect(rejected.status, said).toBe(422)
    expect(rejected.text).toContain(said)
  }
  expect(await all()).toHaveLength(before)
  // Browsers count the units of UTF-16.
  expect((await browser.get('/admin/tokens/new')).html).not.toMatch(/<input [^>]*maxlength[^>]* id="name"/)
  const longest = { name: '🎁'.repeat(200), contact: '🎁'.repeat(200) }
  expect(await getToken(pool, (await create(longest)).id)).toMatchObject(longest)
})

test('a token ends at the chosen time', async () => {
  const endOf = async (fields: Fields) => (await getToken(pool, (await create(fields)).id)).expiresAt
  expect(await endOf({ expiry: 'never' })).toBe(null)
  expect(await endOf({ expiry: 'date', expiresAt: '2099-12-31' })).toBe('2099-12-31T23:59:59.000000Z')
  expect(Date.parse((await endOf({ expiry: '365' })) ?? '') - Date.now()).toBeGreaterThan(364 * 86_400_000)
})

test('a token is rejected from the moment it ends', async () => {
  const expiresAt = new Date(Date.now() + 5_000)
  const { secret } = await build.token([], { expiresAt })
  expect(await statusesOf(secret)).toEqual([200, 200])
  await expect.poll(() => Date.now()).toBeGreaterThan(expiresAt.getTime())
  expect(await statusesOf(secret)).toEqual([401, 401])
})

test('an edit changes what v1 allows within a second, and is audited', async () => {
  const { id, secret } = await create({ name: 'Edited', contact: 'old@example.com' })
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
  await answersWithinASecond(200, secret, `/tenants/${shop}/catalog/vouchers`)
  expect(await statusOf(secret, `/tenants/${mill}/catalog/vouchers`)).toBe(403)
  expect((await client.rest(secret, '/tenants')).headers['ratelimit-limit']).toBe('55')
  const [, entry, ...others] = await auditOf(id)
  expect(others).toEqual([])
  expect(entry).toMatchObject({ action: 'token.edit', actor: root.email })
  expect(entry?.detail).toEqual({
    contact: { from: 'old@example.com', to: 'new@example.com' },
    rateLimit: { from: null, to: 55 },
    permissions: { from: ['view_vouchers'], to: ['view_vouchers', 'redeem_vouchers'] },
    tenants: { from: [{ tenantId: mill, withDescendants: false }], to: [{ tenantId: chain, withDescendants: true }] },
  })

  await browser.submit(`/admin/tokens/${id}/edit`, { do: 'save', permission: ['redeem_vouchers'] })
  await answersWithinASecond(403, secret, `/tenants/${shop}/catalog/vouchers`)
  await browser.submit(`/admin/tokens/${id}/edit`, { do: 'save' })
  expect(await auditOf(id), 'an edit that changes nothing is no edit').toHaveLength(3)
})

test('a rotation: both are valid during the overlap, the new one inherits all, and its secret is shown once', async () => {
  const { id, secret } = await create({
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
  const inherited = ['name', 'contact', 'permissions', 'rateLimit', 'tenants'] as const
  for (const name of inherited) expect(after[name], name).toEqual(before[name])
  expect(after.rotatedFrom).toBe(id)
  const ends = Date.parse(before.expiresAt ?? '') - Date.now()
  expect(ends).toBeGreaterThan(23.9 * 3_600_000)
  expect(ends).toBeLessThan(24.1 * 3_600_000)
  expect(Date.parse(after.expiresAt ?? '') - Date.now()).toBeGreaterThan(89 * 86_400_000)
  expect((await auditOf(id)).at(-1)).toMatchObject({
    action: 'token.rotate',
    actor: root.email,
    detail: { successor: after.id, endsAt: expect.any(String), successorExpiresAt: expect.any(String) },
  })

  const reloaded = await browser.send(rotation)
  expect([reloaded.status, reloaded.location]).toEqual([303, `/admin/tokens/${after.id}`])
  const again = await browser.get(`/admin/tokens/${id}/rotate`)
  expect(again.text).toContain(`Token ${after.id} already replaces this token`)
  expect((await browser.get(`/admin/tokens/${id}`)).html).toContain(`<a href="/admin/tokens/${after.id}">`)
  expect((await browser.get(`/admin/tokens/${after.id}`)).html).toContain(`<a href="/admin/tokens/${id}">`)
  const row = entriesOf(await browser.get('/admin/tokens?search=Turning')).find(cells => cells[1] === before.hint)
  expect(row?.[6]).toMatch(/^replaced, ends \d+ \w+ \d{4}, \d\d:\d\d UTC$/)
})

test('a rotation without an overlap: the old token is rejected within a second', async () => {
  const { id, secret } = await create({ name: 'At once' })
  expect(await statusOf(secret)).toBe(200)
  const page = await browser.submit(`/admin/tokens/${id}/rotate`, { overlap: '0', expiresAt: 'never' })
  await answersWithinASecond(401, secret)
  expect(await statusOf(secretOf(page))).toBe(200)
  expect((await getToken(pool, (await getToken(pool, id)).rotatedTo ?? 0)).expiresAt).toBe(null)
})

test('the old token never ends later than its own end', async () => {
  const expiresAt = new Date(Date.now() + 7_200_000)
  const { id } = await build.token([mill], { expiresAt })
  const page = await browser.submit(`/admin/tokens/${id}/rotate`, { overlap: '604800', expiresAt: '90' })
  expect(page.status).toBe(201)
  const before = await getToken(pool, id)
  expect(Date.parse(before.expiresAt ?? '')).toBe(expiresAt.getTime())
  const after = await getToken(pool, before.rotatedTo ?? 0)
  expect(Date.parse(after.expiresAt ?? '') - Date.now()).toBeGreaterThan(89 * 86_400_000)
})

test('of two rotations at the same time one gets an error; values that were not offered are rejected', async () => {
  const { id } = await build.token([mill])
  const both = await Promise.allSettled(
    [1, 2].map(() => rotateToken(pool, tester, id, { overlap: 60, expiresAt: 'inherit' })),
  )
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(both.find(each => each.status === 'rejected')?.reason).toMatchObject({ code: 'BAD_USER_INPUT' })

  const other = await build.token([mill])
  const page = await browser.submit(`/admin/tokens/${other.id}/rotate`, { overlap: '99999999', expiresAt: 'never' })
  expect(page.status).toBe(422)
  expect(page.html).toContain('id="overlap-error"')
  expect(page.html).toContain('id="expiresAt-error"')
  expect((await getToken(pool, other.id)).rotatedTo).toBe(null)
})

test('a revocation asks for confirmation; the token is then rejected within a second, and cannot be edited or rotated', async () => {
  const { id, secret } = await create({ name: 'Leaked' })
  expect(await statusOf(secret)).toBe(200)
  const asked = await browser.get(`/admin/tokens/${id}/revoke`)
  expect(asked.text).toContain('Leaked')
  expect(asked.text).toContain((await getToken(pool, id)).hint)
  expect((await getToken(pool, id)).revokedAt).toBe(null)
  const page = await browser.submit(`/admin/tokens/${id}/revoke`)
  expect([page.status, page.location]).toEqual([303, `/admin/tokens/${id}`])
  await answersWithinASecond(401, secret)
  const detail = await browser.get(`/admin/tokens/${id}`)
  expect(detail.text).toContain('The token is revoked.')
  expect(detail.html).not.toContain(`/admin/tokens/${id}/edit`)
  expect((await auditOf(id)).slice(1)).toEqual([
    { action: 'token.revoke', actor: root.email, address: '127.0.0.1', detail: {} },
  ])
  for (const name of ['edit', 'rotate', 'revoke']) {
    expect((await browser.get(`/admin/tokens/${id}/${name}`)).text).toContain('is not active')
  }
})

test('an expired token cannot be edited', async () => {
  const { id } = await build.token([mill], { name: 'Past' })
  const late = await browser.load(`/admin/tokens/${id}/edit`, { do: 'save', name: 'Future' })
  await database.platform`
    update gateway.token set created_at = now() - interval '2 days', expires_at = now() - interval '1 day' where id = ${id}`
  const rejected = await browser.send(late)
  expect(rejected.status).toBe(422)
  expect(rejected.text).toContain('is not active')
  expect((await getToken(pool, id)).name).toBe('Past')
})

test('the list shows each token, and applies search and filters', async () => {
  const many: number[] = []
  for (let number = 1; number <= 5; number++) many.push(await build.tenant({ name: `Branch ${number}` }))
  await projected(pool)
  const wide = await create({
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
  const above = await build.token([{ tenantId: chain, withDescendants: true }], { name: 'From above' })
  const beside = await build.token([chain], { name: 'Beside' })
  await revokeToken(pool, tester, beside.id)

  const found = await browser.get('/admin/tokens?search=wide+100%25')
  const { hint } = await getToken(pool, wide.id)
  expect(entriesOf(found)).toEqual([
    [
      'Wide 100% wide@partner.example',
      hint,
      'Branch 1 and all below Branch 2 Branch 3 and 2 more',
      'view_vouchers export_customer_information personal data',
      expect.stringMatching(/^\d+ \w+ \d{4}, \d\d:\d\d UTC by root@example\.com$/),
      '21 Nov 2026, 09:14 UTC from 203.0.113.9',
      'active until 2 Jan 2099, 23:59 UTC',
    ],
  ])
  expect(found.html).toContain('<time datetime="2026-11-21T09:14:00.000Z">21 Nov 2026, 09:14 UTC</time>')
  expect(found.html).toContain(`href="/admin/tokens/${wide.id}"`)

  const list = async (query: string) => namesOf(await browser.get(`/admin/tokens?${query}`))
  expect(await list('search=WIDE@partner')).toEqual(['Wide 100% wide@partner.example'])
  expect(await list(`search=${hint.slice(-4)}`)).toContain('Wide 100% wide@partner.example')
  expect(await list('status=revoked')).toContain('Beside')
  expect(await list('status=revoked')).not.toContain('Narrow')
  expect(await list('status=active')).not.toContain('Beside')
  expect(await list('status=expired')).toContain('Past')
  expect(await list('status=expired')).not.toContain('Narrow')
  expect(await list('permission=redeem_vouchers&search=Narrow')).toEqual([])
  expect(await list(`tenant=${shop}&search=tester`)).toEqual(['From above', 'Narrow'])
  expect(await list('tenant=corner+sh&search=tester')).toEqual(['From above', 'Narrow'])
  expect(await list(`tenant=${narrow.id + 1_000_000}`)).toEqual([])
  expect(above.id).toBeGreaterThan(narrow.id)

  const none = await browser.get('/admin/tokens?search=nothing+of+the+kind')
  expect(none.text).toContain('No token matches.')
  expect(none.html).toContain('<a href="/admin/tokens">Show all active tokens</a>')
  for (const odd of [
    'sort=odd',
    'sort=-',
    'sort=-constructor',
    'status=any&sort=-ends&after=1',
    'before=x',
    'status=odd',
    'search=%00',
    'tenant=99999999999999999999',
    'before=0',
  ]) {
    expect((await browser.get(`/admin/tokens?${odd}`)).status, odd).toBe(200)
  }
})

test('the list hides ended tokens, and shows tokens that were never used or end soon', async () => {
  // The search finds hints of secrets, too: a part of one has four random characters.
  const options = (name: string, expiresAt: Date) => ({ name: `Needed ${name}`, expiresAt })
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)
  const ended = await build.token([], { name: 'Needed ended' })
  await revokeToken(pool, tester, ended.id)
  const soon = await build.token([], options('soon', inDays(13)))
  await build.token([], options('later', inDays(15)))
  const used = await build.token([], { name: 'Needed used' })
  await database.platform`update gateway.token set last_used_at = now() where id in (${soon.id}, ${used.id})`
  const list = async (query: string) => namesOf(await browser.get(`/admin/tokens?search=Needed${query}`))
  expect(await list('')).toEqual(['Needed used', 'Needed later', 'Needed soon'])
  expect(await list('&status=any')).toEqual(['Needed used', 'Needed later', 'Needed soon', 'Needed ended'])
  expect(await list('&status=unused')).toEqual(['Needed later'])
  expect(await list('&status=expiring')).toEqual(['Needed soon'])
  const page = await browser.get('/admin/tokens')
  expect(page.html).toMatch(/<a href="\/admin\/tokens\?status=expiring&amp;sort=ends">\d+ tokens? will expire/)
  expect(page.html).toMatch(/<a href="\/admin\/tokens\?status=unused">\d+ tokens? never used/)
})

test('each column orders the list, in both directions and over pages', async () => {
  const names = Array.from({ length: 55 }, (_, index) => `Sorted ${String(index).padStart(2, '0')}`)
  const tenants = await Promise.all([1, 2].map(() => build.tenant()))
  for (const [index, name] of names.entries()) {
    const { id } = await build.token(tenants.slice(0, index % 3), {
      name,
      permissions: index % 2 === 0 ? ['view_vouchers'] : [],
    })
    // Some were never used, and some have no end.
    if (index > 5)
      await database.platform`update gateway.token set last_used_at = now() - make_interval(days => ${index}) where id = ${id}`
    if (index < 50)
      await database.platform`update gateway.token set expires_at = now() + make_interval(days => ${index + 1}) where id = ${id}`
  }
  const read = async (sort: string) => {
    const first = await browser.get(`/admin/tokens?search=Sorted&sort=${sort}`)
    const second = await browser.get(linkOf(first, 'next') ?? '')
    expect([namesOf(first).length, linkOf(first, 'prev'), linkOf(second, 'next')], sort).toEqual([
      50,
      undefined,
      undefined,
    ])
    expect(namesOf(await browser.get(linkOf(second, 'prev') ?? '')), sort).toEqual(namesOf(first))
    return { first, names: [...namesOf(first), ...namesOf(second)] }
  }
  for (const order of ['created', 'name', 'token', 'tenants', 'permissions', 'used', 'ends']) {
    const { first, names: ascending } = await read(order)
    expect([...ascending].sort(), order).toEqual(names)
    expect(first.html.match(/aria-sort="ascending"/g), order).toHaveLength(1)
    expect((await read(`-${order}`)).names, order).toEqual(ascending.toReversed())
  }
  expect((await read('name')).names).toEqual(names)
  expect((await read('used')).names.slice(0, 7)).toEqual([...names.slice(0, 6), 'Sorted 54'])
  expect((await read('ends')).names.at(-1)).toBe('Sorted 54')
  const { first } = await read('name')
  expect(first.html).toContain('href="/admin/tokens?search=Sorted&amp;sort=-name"')
})

test('an unknown token gives a 404 page', async () => {
  for (const path of ['/999999', '/abc', '/0', '/1e3', '/999999/edit', '/999999/rotate', '/999999/revoke']) {
    const page = await browser.get(`/admin/tokens${path}`)
    expect(page.status, path).toBe(404)
    expect(page.headers['content-type'], path).toContain('text/html')
  }
})
