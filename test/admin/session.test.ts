import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { verifyCredentials } from '../../src/domain/administrator/administrator-password.ts'
import { deleteExpiredSessions, signOutEverywhere, startSession } from '../../src/domain/administrator/session.ts'
import { createApp } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { startService } from '../support/service.ts'
import { atOnce } from './contention.ts'
import { type Browser, changePassword, createAccount, createBrowser, root, signIn } from './support.ts'

const { database, client } = await startService()
const { pool, platform } = database
const publicOrigin = 'https://gateway.example.com'
const publicBrowserOptions = { origin: publicOrigin }
const publicClient = await createApp(database, { PUBLIC_URL: publicOrigin })

const countSessions = async () => (await pool<{ count: number }[]>`select count(*) from gateway.session`)[0]?.count ?? 0

/** Reads the session id from the cookie of a browser. The database stores only the hash of the id. */
const readSessionId = ({ jar }: Browser) => decodeURIComponent(jar.get('vgw-session') ?? '').split('.')[0] ?? ''
const hashSessionId = (browser: Browser) => createHash('sha256').update(readSessionId(browser)).digest()

async function readStoredSession(browser: Browser) {
  const [row] = await pool<{ data: string; lifetime: string; usedAt: string }[]>`
    select session::text as data, (expires_at - created_at)::text as lifetime, used_at as "usedAt"
    from gateway.session where id_hash = ${hashSessionId(browser)}`
  return row!
}

describe('a session', () => {
  test('exists only after a sign-in, and the database stores only the hash of its id', async () => {
    const before = await countSessions()
    const stranger = createBrowser(client.app)
    for (const path of ['login', 'tokens', 'nowhere']) await stranger.get(`/admin/${path}`)
    expect([stranger.jar.has('vgw-session'), await countSessions()]).toEqual([false, before])

    const browser = await signIn(client, database)
    expect(await countSessions()).toBe(before + 1)
    expect((await readStoredSession(browser)).data).not.toContain(readSessionId(browser))
  })

  test('gets a new id at the sign-in, and the old id becomes invalid (session fixation)', async () => {
    const attacker = await signIn(client, database, { email: 'attacker@example.com' })
    const planted = attacker.jar.get('vgw-session') ?? ''
    const victim = createBrowser(client.app)
    victim.jar.set('vgw-session', planted)
    // The sign-in page redirects a signed-in administrator, so the form of another page is posted, as an attacker would
    // do.
    const { fields } = await attacker.load('/admin/tokens', root)
    for (const [name, value] of attacker.jar) victim.jar.set(name, value)
    expect((await victim.post('/admin/login', fields)).status).toBe(303)
    expect(victim.jar.get('vgw-session')).not.toBe(planted)
    expect((await victim.get('/admin/account')).text).toContain(root.email)
    expect((await attacker.get('/admin/account')).status).toBe(303)

    const made = createBrowser(client.app)
    made.jar.set('vgw-session', 'chosen-by-me.and-signed-by-nobody')
    await made.submit('/admin/login', { email: root.email, password: root.password })
    expect(made.jar.get('vgw-session')).not.toContain('chosen-by-me')
  })

  test('ends 12 hours after the sign-in, or after an hour without use', async () => {
    for (const change of [
      platform`created_at = now() - interval '12 hours', expires_at = now() - interval '1 second'`,
      platform`used_at = now() - interval '61 minutes'`,
    ]) {
      const browser = await signIn(client, database)
      expect((await readStoredSession(browser)).lifetime).toBe('12:00:00')
      await platform`update gateway.session set ${change} where id_hash = ${hashSessionId(browser)}`
      expect((await browser.get('/admin/account')).status).toBe(303)
      const before = await countSessions()
      await deleteExpiredSessions(pool)
      expect(await countSessions()).toBe(before - 1)
    }
  })

  test('saves its last use once a minute', async () => {
    const browser = await signIn(client, database)
    const usedAt = async () => (await readStoredSession(browser)).usedAt
    const first = await usedAt()
    await browser.get('/admin/account')
    expect(await usedAt()).toBe(first)
    await pool`update gateway.session set used_at = now() - interval '61 seconds'`
    const aged = await usedAt()
    await browser.get('/admin/account')
    expect(Date.parse(await usedAt())).toBeGreaterThan(Date.parse(aged) + 60_000)
  })

  test('ends with all other sessions of the account by “sign out everywhere”', async () => {
    const one = await signIn(client, database)
    const other = await signIn(client, database)
    const somebodyElse = await signIn(client, database, { email: 'else@example.com' })
    // `createAccount` ends the sessions of an existing administrator, so the first session has already ended.
    expect((await one.get('/admin/account')).status).toBe(303)
    await one.submit('/admin/login', root)
    expect((await other.get('/admin/account')).text.match(/Firefox on Linux/g)).toHaveLength(2)
    await one.submit('/admin/account', {}, { action: '/admin/account/sign-out-everywhere' })
    for (const browser of [one, other]) expect((await browser.get('/admin/account')).status).toBe(303)
    expect((await somebodyElse.get('/admin/account')).status).toBe(200)
    const [entry] = await pool`select action, detail from gateway.audit_entry order by id desc limit 1`
    expect(entry).toEqual({ action: 'administrator.sign_out_everywhere', detail: { sessions: 2 } })
  })

  test('does not start when its password was verified before a “sign out everywhere”', async () => {
    await signIn(client, database)
    const verified = await verifyCredentials(pool, root.email, root.password)
    if (!verified) throw new Error('The password is right.')
    await signOutEverywhere(pool, tester, verified.id)
    expect(await startSession(pool, tester, verified, { id: 'late', userAgent: null }, 'password')).toBe(false)
  })
})

describe('the password', () => {
  test('can be changed with the current password; all other sessions end, and this session gets a new id', async () => {
    const browser = await signIn(client, database, { email: 'changes@example.com' })
    const other = createBrowser(client.app)
    await other.submit('/admin/login', { email: 'changes@example.com', password: root.password })
    const before = browser.jar.get('vgw-session') ?? ''
    const next = 'another quiet lot of water'
    for (const [current, again, sentence] of [
      ['wrong wrong wrong', next, 'This is not your current password.'],
      [root.password, 'x', 'The two passwords are not the same.'],
      ['', next, 'Give your current password.'],
    ] as const) {
      const answer = await changePassword(browser, current, next, again)
      expect([answer.status, answer.text]).toEqual([422, expect.stringContaining(sentence)])
      expect(answer.html).not.toContain(next)
    }
    expect((await other.get('/admin/account')).status).toBe(200)

    expect(await changePassword(browser, root.password, next)).toMatchObject({ status: 303 })
    expect((await browser.get('/admin/account')).text).toContain('Your password is changed.')
    expect((await browser.get('/admin/account')).text).not.toContain('Your password is changed.')
    expect((await other.get('/admin/account')).status).toBe(303)
    other.jar.set('vgw-session', before)
    expect((await other.get('/admin/account')).status).toBe(303)
    for (const [password, status] of [
      [root.password, 422],
      [next, 303],
    ] as const) {
      const fields = { email: 'changes@example.com', password }
      expect((await createBrowser(client.app).submit('/admin/login', fields)).status).toBe(status)
    }
  })

  test('attempts on the account page are limited, and are counted apart from attempts at the sign-in page', async () => {
    const limited = await createApp(database)
    const email = 'envied@example.com'
    const browser = await signIn(limited, database, { email })
    const statuses = []
    for (let attempt = 0; attempt < 6; attempt++) {
      const stranger = createBrowser(limited.app, { address: `127.3.0.${attempt}` })
      statuses.push((await stranger.submit('/admin/login', { email, password: 'wrong wrong wrong' })).status)
    }
    expect((await changePassword(browser, root.password, root.password)).status).toBe(303)
    for (let attempt = 0; attempt < 6; attempt++) {
      statuses.push((await changePassword(browser, 'wrong wrong wrong', 'a new long password')).status)
    }
    const limit = [422, 422, 422, 422, 422, 429]
    expect(statuses).toEqual([...limit, ...limit])
  })

  test('a failed change keeps the session', async () => {
    const browser = await signIn(client, database)
    const cookie = browser.jar.get('vgw-session')
    const fields = { current: root.password, password: 'a new long password', again: 'a new long password' }
    const form = await browser.load('/admin/account', fields, '/admin/account/password')
    await database.platform`alter table gateway.audit_entry rename to audit_entry_away`
    const answer = await browser.send(form)
    await database.platform`alter table gateway.audit_entry_away rename to audit_entry`
    expect(answer.status).toBe(500)
    expect(browser.jar.get('vgw-session')).toBe(cookie)
    expect((await browser.get('/admin/account')).status).toBe(200)
    expect((await browser.send(form)).status).toBe(303)
  })
})

describe('a password change during a sign-in with the old password', () => {
  const next = 'another quiet lot of water'

  test.each([true, false])('ends the session of that sign-in too (the sign-in is first: %s)', async first => {
    const email = 'meanwhile@example.com'
    const changing = await signIn(client, database, { email })
    const browser = createBrowser(client.app)
    const enter = () => browser.submit('/admin/login', { email, password: root.password })
    const change = () => changePassword(changing, root.password, next)
    const acts = first ? [enter, change] : [change, enter]
    const outcomes = await atOnce(database.platform, 'gateway.administrator', acts)
    // A sign-in with the old password after the change gets 422.
    const statuses = first ? [303, 303] : [303, 422]
    expect(outcomes).toMatchObject(statuses.map(status => ({ value: { status } })))
    expect((await browser.get('/admin/account')).status).toBe(303)
    expect((await changing.get('/admin/account')).status).toBe(200)
  })

  test('is changed only once by two changes at the same time', async () => {
    const email = 'twice@example.com'
    const one = await signIn(client, database, { email })
    const other = createBrowser(client.app)
    await other.submit('/admin/login', { email, password: root.password })
    const acts = [
      () => changePassword(one, root.password, next),
      () => changePassword(other, root.password, 'quite another password'),
    ]
    const outcomes = await atOnce(database.platform, 'gateway.administrator', acts)
    expect(outcomes).toMatchObject([{ value: { status: 303 } }, { value: { status: 422 } }])
    expect((await one.get('/admin/account')).status).toBe(200)
    expect((await other.get('/admin/account')).status).toBe(303)
  })
})

test.each([
  ['https', publicClient, publicBrowserOptions, ['__Host-', 'Secure'], expect.stringContaining('max-age=31536000')],
  ['http on this machine', client, {}, ['vgw-'], undefined],
])('over %s cookies are for this host and for no script', async (_, { app }, options, [prefix, ...secure], hsts) => {
  await createAccount(database)
  const browser = createBrowser(app, options)
  const login = await browser.get('/admin/login')
  expect(login.headers['strict-transport-security']).toEqual(hsts)
  const answer = await browser.submit('/admin/login', root)
  const attributesOf = (cookies: string[], name: string) =>
    cookies
      .find(each => each.startsWith(`${prefix}${name}=`))
      ?.split('; ')
      .slice(1)
      .sort()
  expect(attributesOf(login.cookies, 'csrf')).toEqual(['HttpOnly', 'Path=/', 'SameSite=Lax', ...secure])
  expect(attributesOf(answer.cookies, 'session')).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict', ...secure])
  // The flash message is saved even when TLS ends at a proxy that is not trusted.
  expect((await changePassword(browser, root.password, root.password)).status).toBe(303)
  expect((await browser.get('/admin/account')).text).toContain('Your password is changed.')
})

test('the headers of each page allow no other origin, and forbid caches', async () => {
  const browser = await signIn(client, database)
  for (const path of ['/admin/account', '/admin/login?next=x', '/admin/nowhere', '/admin']) {
    const { headers } = await browser.get(path)
    const policy = String(headers['content-security-policy']).split(';').sort().join('; ')
    const strict = "base-uri 'none'; default-src 'self'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    expect(policy).toBe(strict)
    expect(headers).toMatchObject({
      'cache-control': 'private, no-store',
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    })
  }
  const page = await browser.get('/admin/account')
  expect(page.html).not.toMatch(/<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=/)
})

test('the service does not serve files outside the folder of the assets', async () => {
  const browser = createBrowser(client.app)
  for (const path of ['/assets/', '/assets/scalar', '/assets/page.tsx', '/assets/..%2fguides.json']) {
    expect((await browser.get(path)).status).toBe(404)
  }
})

test.each([
  [
    'over https',
    publicClient,
    publicBrowserOptions,
    ['http://gateway.example.com', `${publicOrigin}.evil.example`, `${publicOrigin}:8443`],
  ],
  ['on this machine', client, {}, ['http://127.0.0.1:8080', 'http://localhost:8081', 'https://localhost:8080']],
])('%s: a request from another origin neither signs in nor signs out', async (_, service, options, similar) => {
  const browser = await signIn(service, database, options)
  const login = createBrowser(service.app, options)
  for (const origin of ['https://evil.example', 'null', undefined, ...similar]) {
    const headers = { origin }
    const answer = await browser.submit('/admin/account', {}, { action: '/admin/logout', headers })
    const text = expect.stringContaining('was not sent from a page of this service')
    expect(answer, origin).toMatchObject({ status: 403, text })
    expect((await login.submit('/admin/login', root, { headers })).status, origin).toBe(403)
    expect((await browser.delete('/admin/session', headers)).status, origin).toBe(403)
  }
  expect((await browser.get('/admin/account')).status).toBe(200)
})

test('with a loopback PUBLIC_URL the sign-in works for that host, as at the mapped port of a container', async () => {
  const mapped = await createApp(database, { PUBLIC_URL: 'http://localhost:9090' })
  const browser = await signIn(mapped, database, { origin: 'http://localhost:9090', address: '172.17.0.1' })
  expect((await browser.get('/admin/account')).status).toBe(200)
  const text = expect.stringContaining('available only at http://localhost:9090')
  for (const host of ['localhost:8080', '127.0.0.1:9090', 'gateway.example.com:9090', 'localhost'])
    expect(await browser.get('/admin/account', { host })).toMatchObject({ status: 403, text })
})

describe('a form', () => {
  const everywhere = '/admin/account/sign-out-everywhere'
  const csrfOf = async (browser: Browser, path: string) => (await browser.load(path)).fields.get('_csrf') ?? ''

  test('is rejected without a CSRF token, with a wrong token, and with the token of another session', async () => {
    const browser = await signIn(client, database)
    const other = await signIn(client, database, { email: 'other@example.com' })
    const foreign = await csrfOf(other, '/admin/account')
    const own = await csrfOf(browser, '/admin/account')
    const early = createBrowser(client.app)
    early.jar.set('vgw-csrf', browser.jar.get('vgw-csrf') ?? '')
    const before = await csrfOf(early, '/admin/login')
    const text = expect.stringContaining('Go back, reload the page and try again.')
    for (const fields of [{}, { _csrf: '' }, { _csrf: `${own}x` }, { _csrf: foreign }, { _csrf: before }])
      expect(await browser.post(everywhere, fields)).toMatchObject({ status: 403, text })
    // The form is rejected even with the CSRF cookie of the other session.
    browser.jar.set('vgw-csrf', other.jar.get('vgw-csrf') ?? '')
    expect((await browser.post(everywhere, { _csrf: foreign })).status).toBe(403)
    expect((await browser.get('/admin/account')).status).toBe(200)
  })

  const ofToken = ['edit', 'rotate', 'revoke'].map(name => `/tokens/1/${name}`)
  const both = ['/tokens/new', ...ofToken, '/dashboard', '/administrators', '/administrators/1/remove']
  const pages = ['/account', '/tokens', '/tokens/1', '/audit', '/audit.csv', ...both]
  const actions = ['/account/password', '/account/sign-out-everywhere', '/tenants', '/administrators/withdraw', ...both]

  test('at each address a page needs a session, and a form needs a session, the CSRF token and the origin of the service', async () => {
    const stranger = createBrowser(client.app)
    for (const path of pages) {
      const answer = await stranger.get(`/admin${path}`)
      const login = `/admin/login?next=${encodeURIComponent(`/admin${path}`)}`
      expect([answer.status, answer.location, answer.html], path).toEqual([303, login, ''])
    }
    const lost = '/admin/login?because=lost'
    expect((await stranger.get(lost)).text).toContain('what you sent was not saved')
    const browser = await signIn(client, database)
    const _csrf = await csrfOf(browser, '/admin/account')
    for (const path of actions) {
      const answer = await stranger.post(`/admin${path}`, {})
      expect([answer.status, answer.location, answer.html], path).toEqual([303, lost, ''])
      expect((await browser.post(`/admin${path}`, {})).status, path).toBe(403)
      const elsewhere = await browser.post(`/admin${path}`, { _csrf }, { origin: 'https://evil.example' })
      expect(elsewhere.status, path).toBe(403)
    }
    expect((await browser.get('/admin/account')).status).toBe(200)
  })

  test('the CSRF token of a form contains no part of the session cookie', async () => {
    const browser = await signIn(client, database)
    const token = await csrfOf(browser, '/admin/account')
    const [, signature = ''] = decodeURIComponent(browser.jar.get('vgw-session') ?? '').split('.')
    const plain = (text: string) => text.replaceAll(/[+/_-]/g, '_').slice(0, 43)
    expect(signature.length).toBeGreaterThanOrEqual(43)
    expect(plain(token)).not.toBe(plain(signature))
  })

  test('the CSRF token of a form is checked on the sign-in page too', async () => {
    const browser = createBrowser(client.app)
    expect((await browser.post('/admin/login', root)).status).toBe(403)
    const token = await csrfOf(createBrowser(client.app), '/admin/login')
    await browser.get('/admin/login')
    expect((await browser.post('/admin/login', { ...root, _csrf: token })).status).toBe(403)
  })

  test('the CSRF token of a form stays valid when a link on another site opens the page', async () => {
    const browser = await signIn(client, database)
    const form = await browser.load('/admin/account', {}, everywhere)
    const session = browser.jar.get('vgw-session') ?? ''
    browser.jar.delete('vgw-session')
    const linked = await browser.get('/admin/tokens?x=1', { 'sec-fetch-site': 'cross-site' })
    expect(linked).toMatchObject({ status: 200, headers: { refresh: '0;url=/admin/tokens?x=1' } })
    browser.jar.set('vgw-session', session)
    expect((await browser.send(form)).status).toBe(303)
  })

  test('a form that is sent as JSON is rejected', async () => {
    const browser = await signIn(client, database)
    const answer = await browser.post(everywhere, {}, { 'content-type': 'application/json' })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.html).toContain('<h1>')
  })
})

test('DELETE /admin/session ends the session, and succeeds without a session too', async () => {
  const browser = await signIn(client, database)
  expect(await browser.delete('/admin/session')).toMatchObject({ status: 204, html: '' })
  expect(browser.jar.has('vgw-session')).toBe(false)
  expect(await browser.get('/admin/tokens')).toMatchObject({ status: 303 })
  expect((await createBrowser(client.app).delete('/admin/session')).status).toBe(204)
})

describe('an error', () => {
  test('is shown as a page, with and without a sign-in', async () => {
    const browser = await signIn(client, database)
    for (const visitor of [browser, createBrowser(client.app)]) {
      for (const path of ['/admin/nowhere', '/admin/tokens/1/nowhere', '/admin/login/callback']) {
        expect(await visitor.get(path)).toMatchObject({ status: 404, html: expect.stringContaining('Not found</h1>') })
      }
    }
    expect((await browser.post('/admin/nowhere', {})).status).toBe(404)
    for (const path of ['/admin', '/admin/'])
      expect(await browser.get(path)).toMatchObject({ status: 303, location: '/admin/tokens' })
  })

  test('shows no details of internal errors', async () => {
    const browser = await signIn(client, database)
    await database.platform`alter table gateway.session rename to session_away`
    try {
      const { status, text } = await browser.get('/admin/account')
      expect([status, text]).toEqual([500, expect.stringContaining('The service failed to answer.')])
      expect(text).not.toContain('session')
    } finally {
      await database.platform`alter table gateway.session_away rename to session`
    }
  })
})
