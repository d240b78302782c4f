import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createAdministrator, verifyCredentials } from '../../src/domain/administrator/administrator-password.ts'
import { inviteAdministrator } from '../../src/domain/administrator/invitation.ts'
import { deleteExpiredSessions, signOutEverywhere, startSession } from '../../src/domain/administrator/session.ts'
import { createApp } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { startService } from '../support/service.ts'
import { atOnce } from './contention.ts'
import { type Browser, changePassword, createAccount, createBrowser, root, signIn } from './support.ts'

const { database, client } = await startService()
const { pool, platform } = database
const https = await createApp(database, { PUBLIC_URL: 'https://gateway.example.com' })
const publicly = { origin: 'https://gateway.example.com' }

const rows = async () => (await pool<{ count: number }[]>`select count(*) from gateway.session`)[0]?.count ?? 0

/** The id of a browser's session, whose hash is stored. */
const idOf = ({ jar }: Browser) => decodeURIComponent(jar.get('vgw-session') ?? '').split('.')[0] ?? ''
const hashOf = (browser: Browser) => createHash('sha256').update(idOf(browser)).digest()

async function storedOf(browser: Browser) {
  const [row] = await pool<{ data: string; address: string; lifetime: string; usedAt: string }[]>`
    select session::text as data, address, (expires_at - created_at)::text as lifetime, used_at as "usedAt"
    from gateway.session where id_hash = ${hashOf(browser)}`
  return row!
}

describe('a session', () => {
  test('exists only after a sign-in, and only its hash is stored', async () => {
    const before = await rows()
    const stranger = createBrowser(client.app)
    await stranger.get('/admin/login')
    await stranger.get('/admin/tokens')
    await stranger.get('/admin/nowhere')
    expect(stranger.jar.has('vgw-session')).toBe(false)
    expect(await rows()).toBe(before)

    const browser = await signIn(client, database)
    expect(await rows()).toBe(before + 1)
    const { address, data } = await storedOf(browser)
    expect(address).toBe('127.0.0.1')
    expect(data).not.toContain(idOf(browser))
  })

  test('gets a new id at the sign-in, and the old id is invalid (session fixation)', async () => {
    const attacker = await signIn(client, database, { email: 'attacker@example.com' })
    const planted = attacker.jar.get('vgw-session') ?? ''
    const victim = createBrowser(client.app)
    victim.jar.set('vgw-session', planted)
    // The sign-in page redirects a signed-in administrator, so the form is posted as an attacker's script would post
    // it.
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

  test('ends 12 hours after the sign-in, and after an hour without use', async () => {
    for (const change of [
      platform`created_at = now() - interval '12 hours', expires_at = now() - interval '1 second'`,
      platform`used_at = now() - interval '61 minutes'`,
    ]) {
      const browser = await signIn(client, database)
      expect((await storedOf(browser)).lifetime).toBe('12:00:00')
      await platform`update gateway.session set ${change} where id_hash = ${hashOf(browser)}`
      expect((await browser.get('/admin/account')).status).toBe(303)
      const before = await rows()
      await deleteExpiredSessions(pool)
      expect(await rows()).toBe(before - 1)
    }
  })

  test('saves its last use once a minute', async () => {
    const browser = await signIn(client, database)
    const usedAt = async () => (await storedOf(browser)).usedAt
    const first = await usedAt()
    await browser.get('/admin/account')
    expect(await usedAt()).toBe(first)
    await pool`update gateway.session set used_at = now() - interval '61 seconds'`
    const aged = await usedAt()
    await browser.get('/admin/account')
    expect(Date.parse(await usedAt())).toBeGreaterThan(Date.parse(aged) + 60_000)
  })

  test('that has ended gives a message when a form is posted', async () => {
    const browser = await signIn(client, database)
    const form = await browser.load('/admin/account')
    await pool`delete from gateway.session`
    const answer = await browser.send(form)
    expect(answer).toMatchObject({ status: 303, location: '/admin/login?because=lost' })
    expect((await browser.get(answer.location ?? '')).text).toContain('what you sent was not saved')
  })

  test('ends with all others by “sign out everywhere”', async () => {
    const one = await signIn(client, database)
    const other = await signIn(client, database)
    const somebodyElse = await signIn(client, database, { email: 'else@example.com' })
    // Creating the administrator again ends its sessions: the first one has ended already.
    expect((await one.get('/admin/account')).status).toBe(303)
    await one.submit('/admin/login', root)
    expect((await other.get('/admin/account')).text.match(/Firefox on Linux/g)).toHaveLength(2)
    const answer = await one.submit('/admin/account', {}, { action: '/admin/account/sign-out-everywhere' })
    expect(answer.location).toBe('/admin/login?because=everywhere')
    for (const browser of [one, other]) expect((await browser.get('/admin/account')).status).toBe(303)
    expect((await somebodyElse.get('/admin/account')).status).toBe(200)
    const [entry] = await pool`select action, detail from gateway.audit_entry order by id desc limit 1`
    expect(entry).toEqual({ action: 'administrator.sign_out_everywhere', detail: { sessions: 2 } })
  })

  test('does not start after “sign out everywhere” when its password was verified before', async () => {
    await signIn(client, database)
    const verified = await verifyCredentials(pool, root.email, root.password)
    if (!verified) throw new Error('The password is right.')
    await signOutEverywhere(pool, tester, verified.id)
    expect(await startSession(pool, tester, verified, { id: 'late', userAgent: null }, 'password')).toBe(false)
  })
})

describe('the password', () => {
  test('is changed with the current one; all other sessions end, and this one gets a new id', async () => {
    const browser = await signIn(client, database, { email: 'changes@example.com' })
    const other = createBrowser(client.app)
    await other.submit('/admin/login', { email: 'changes@example.com', password: root.password })
    const before = browser.jar.get('vgw-session') ?? ''
    const next = 'another quiet lot of water'
    for (const [current, password, again, sentence] of [
      ['wrong wrong wrong', next, next, 'This is not your current password.'],
      [root.password, next, 'x', 'The two passwords are not the same.'],
      [root.password, 'too short', 'too short', 'at least 12 characters'],
      ['', next, next, 'Give your current password.'],
    ] as const) {
      const answer = await changePassword(browser, current, password, again)
      expect(answer.status).toBe(422)
      expect(answer.text).toContain(sentence)
      expect(answer.html).not.toContain(next)
    }
    expect((await other.get('/admin/account')).status).toBe(200)

    expect(await changePassword(browser, root.password, next)).toMatchObject({ status: 303 })
    expect((await browser.get('/admin/account')).text).toContain('Your password is changed.')
    expect((await browser.get('/admin/account')).text).not.toContain('Your password is changed.')
    expect(browser.jar.get('vgw-session')).not.toBe(before)
    expect((await other.get('/admin/account')).status).toBe(303)
    other.jar.set('vgw-session', before)
    expect((await other.get('/admin/account')).status).toBe(303)

    const later = createBrowser(client.app)
    const email = 'changes@example.com'
    expect((await later.submit('/admin/login', { email, password: root.password })).status).toBe(422)
    expect((await later.submit('/admin/login', { email, password: next })).status).toBe(303)
  })

  test('is throttled on the account page too', async () => {
    const limited = await createApp(database)
    const browser = await signIn(limited, database, { email: 'guessed@example.com' })
    const statuses = []
    for (let attempt = 0; attempt < 6; attempt++) {
      statuses.push((await changePassword(browser, 'wrong wrong wrong', 'a new long password')).status)
    }
    expect(statuses).toEqual([422, 422, 422, 422, 422, 429])
  })

  test('can be changed by its owner while others fail to sign in to the account', async () => {
    const limited = await createApp(database)
    const email = 'envied@example.com'
    const browser = await signIn(limited, database, { email })
    for (let attempt = 0; attempt < 6; attempt++) {
      const stranger = createBrowser(limited.app, { address: `127.3.0.${attempt}` })
      const status = attempt < 5 ? 422 : 429
      expect((await stranger.submit('/admin/login', { email, password: 'wrong wrong wrong' })).status).toBe(status)
    }
    expect((await changePassword(browser, root.password, root.password)).status).toBe(303)
  })

  test('that fails to change keeps the session', async () => {
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

describe('a password that changes during a sign-in with the old one', () => {
  const next = 'another quiet lot of water'

  /** Prepares each way to set it; the returned function sets it. */
  const ways: Record<string, (email: string) => Promise<() => Promise<unknown>>> = {
    'the command line': async email => () => createAdministrator(pool, tester, email, next),
    'a link': async email => {
      const path = `/admin/setup/${await inviteAdministrator(pool, tester, email)}`
      return () => createBrowser(client.app).submit(path, { password: next, again: next })
    },
    'the account page': async email => {
      const browser = createBrowser(client.app)
      await browser.submit('/admin/login', { email, password: root.password })
      return async () => {
        expect((await changePassword(browser, root.password, next)).status).toBe(303)
        expect((await browser.get('/admin/account')).text).toContain('Your password is changed.')
      }
    },
  }

  test.each(
    Object.keys(ways).flatMap(way => [true, false].map(first => [way, first] as const)),
  )('by %s ends that session too (begun first: %s)', async (way, first) => {
    const email = 'meanwhile@example.com'
    await createAccount(database, email)
    const set = await ways[way]?.(email)
    const browser = createBrowser(client.app)
    const enter = () => browser.submit('/admin/login', { email, password: root.password })
    const acts = set ? (first ? [enter, set] : [set, enter]) : []
    const outcomes = await atOnce<unknown>(database.platform, 'gateway.administrator', acts)
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    // A sign-in after the change gets the answer of a wrong password.
    if (!first) expect(outcomes[1]).toMatchObject({ value: { status: 422, text: expect.stringContaining('is wrong') } })
    expect((await browser.get('/admin/account')).status).toBe(303)
    expect((await createBrowser(client.app).submit('/admin/login', { email, password: next })).status).toBe(303)
  })

  test('is changed only once by two at the same time', async () => {
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

describe('the cookies', () => {
  test('over https', async () => {
    const browser = createBrowser(https.app, publicly)
    await signIn(https, database, publicly)
    const answer = await browser.submit('/admin/login', root)
    const cookie = answer.cookies.find(each => each.startsWith('__Host-session='))
    expect(cookie?.split('; ').slice(1).sort()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict', 'Secure'])
    const login = await createBrowser(https.app, publicly).get('/admin/login')
    const csrf = login.cookies.find(each => each.startsWith('__Host-csrf='))
    expect(csrf?.split('; ').slice(1).sort()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Lax', 'Secure'])
    expect(login.headers['strict-transport-security']).toContain('max-age=31536000')
    // The flash message is saved when TLS ends at a proxy that is not trusted.
    expect((await changePassword(browser, root.password, root.password)).status).toBe(303)
    expect((await browser.get('/admin/account')).text).toContain('Your password is changed.')
  })

  test('over http on this machine', async () => {
    const browser = createBrowser(client.app)
    const answer = await browser.submit('/admin/login', root)
    const cookie = answer.cookies.find(each => each.startsWith('vgw-session='))
    expect(cookie?.split('; ').slice(1).sort()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict'])
    expect((await browser.get('/admin/account')).headers['strict-transport-security']).toBeUndefined()
  })
})

describe('the headers', () => {
  test('allow no other origin, and forbid caches', async () => {
    const browser = await signIn(client, database)
    for (const path of ['/admin/account', '/admin/login?next=x', '/admin/nowhere', '/admin']) {
      const { headers } = await browser.get(path)
      const policy = String(headers['content-security-policy']).split(';')
      expect(policy.sort()).toEqual([
        "base-uri 'none'",
        "default-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "object-src 'none'",
      ])
      expect(headers['cache-control']).toBe('private, no-store')
      expect(headers['referrer-policy']).toBe('same-origin')
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['x-frame-options']).toBe('DENY')
    }
    const page = await browser.get('/admin/account')
    expect(page.html).not.toMatch(/<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=/)
    expect((await browser.head('/admin/account')).status).toBe(200)
    const elsewhere = await client.ask({ method: 'GET', url: '/livez' })
    expect(elsewhere.headers['content-security-policy']).toBeUndefined()
  })

  test('files next to the assets are not served', async () => {
    const browser = createBrowser(client.app)
    for (const path of ['/assets/', '/assets/scalar', '/assets/page.tsx', '/assets/..%2fguides.json']) {
      expect((await browser.get(path)).status).toBe(404)
    }
  })
})

describe('the origin of a request', () => {
  const ours = publicly.origin
  const elsewhere = ['https://evil.example', 'null', undefined]

  test.each([
    ['over https', https, publicly, ['http://gateway.example.com', `${ours}.evil.example`, `${ours}:8443`]],
    ['on this machine', client, {}, ['http://127.0.0.1:8080', 'http://localhost:8081', 'https://localhost:8080']],
  ])('%s: a form from another one is rejected', async (_, service, options, similar) => {
    const browser = await signIn(service, database, options)
    const login = createBrowser(service.app, options)
    for (const origin of [...elsewhere, ...similar]) {
      const headers = { origin }
      const answer = await browser.submit('/admin/account', {}, { action: '/admin/logout', headers })
      expect(answer.status, origin).toBe(403)
      expect(answer.text).toContain('was not sent from a page of this service')
      expect((await login.submit('/admin/login', root, { headers })).status, origin).toBe(403)
    }
    expect((await browser.get('/admin/account')).status).toBe(200)
  })
})

test('with a PUBLIC_URL of this machine it is available to requests with that host, as from the mapped port of a container', async () => {
  const mapped = await createApp(database, { PUBLIC_URL: 'http://localhost:9090' })
  const options = { origin: 'http://localhost:9090', address: '172.17.0.1' }
  const browser = await signIn(mapped, database, options)
  expect((await browser.get('/admin/account')).status).toBe(200)
  for (const host of ['localhost:8080', '127.0.0.1:9090', 'gateway.example.com:9090', 'localhost']) {
    const page = await browser.get('/admin/account', { host })
    expect(page.status).toBe(403)
    expect(page.text).toContain('available only at http://localhost:9090')
  }
})

describe('a form', () => {
  const everywhere = '/admin/account/sign-out-everywhere'
  const csrfOf = async (browser: Browser, path: string) => (await browser.load(path)).fields.get('_csrf') ?? ''

  test('without its CSRF token, with a wrong one, or with one of another session is rejected', async () => {
    const browser = await signIn(client, database)
    const other = await signIn(client, database, { email: 'other@example.com' })
    const foreign = await csrfOf(other, '/admin/account')
    const own = await csrfOf(browser, '/admin/account')
    const early = createBrowser(client.app)
    early.jar.set('vgw-csrf', browser.jar.get('vgw-csrf') ?? '')
    const before = await csrfOf(early, '/admin/login')
    const tokens = [{}, { _csrf: '' }, { _csrf: `${own}x` }, { _csrf: foreign }, { _csrf: before }]
    for (const fields of tokens) {
      const answer = await browser.post(everywhere, fields)
      expect(answer.status).toBe(403)
      expect(answer.text).toContain('Go back, reload the page and try again.')
    }
    // Rejected even with the other session's CSRF cookie.
    browser.jar.set('vgw-csrf', other.jar.get('vgw-csrf') ?? '')
    expect((await browser.post(everywhere, { _csrf: foreign })).status).toBe(403)
    expect((await browser.get('/admin/account')).status).toBe(200)
  })

  const ofToken = ['edit', 'rotate', 'revoke'].map(name => `/tokens/1/${name}`)
  const both = ['/tokens/new', ...ofToken, '/dashboard', '/administrators', '/administrators/1/remove']
  const pages = ['/account', '/tokens', '/tokens/1', '/tenants?below=1', '/audit', '/audit.csv', ...both]
  const actions = ['/account/password', '/account/sign-out-everywhere', '/tenants', '/administrators/withdraw', ...both]

  test('and a page need a session, and a form the CSRF token and the origin of the service, at each address', async () => {
    const stranger = createBrowser(client.app)
    for (const path of pages) {
      const answer = await stranger.get(`/admin${path}`)
      const login = `/admin/login?next=${encodeURIComponent(`/admin${path}`)}`
      expect([answer.status, answer.location, answer.html], path).toEqual([303, login, ''])
    }
    const browser = await signIn(client, database)
    const _csrf = await csrfOf(browser, '/admin/account')
    for (const path of actions) {
      const answer = await stranger.post(`/admin${path}`, {})
      expect([answer.status, answer.location, answer.html], path).toEqual([303, '/admin/login?because=lost', ''])
      expect((await browser.post(`/admin${path}`, {})).status, path).toBe(403)
      const elsewhere = await browser.post(`/admin${path}`, { _csrf }, { origin: 'https://evil.example' })
      expect(elsewhere.status, path).toBe(403)
    }
    expect((await browser.get('/admin/account')).status).toBe(200)
  })

  test('contains no part of the session cookie', async () => {
    const browser = await signIn(client, database)
    const token = await csrfOf(browser, '/admin/account')
    const [, signature = ''] = decodeURIComponent(browser.jar.get('vgw-session') ?? '').split('.')
    const plain = (text: string) => text.replaceAll(/[+/_-]/g, '_').slice(0, 43)
    expect(signature.length).toBeGreaterThanOrEqual(43)
    expect(plain(token)).not.toBe(plain(signature))
  })

  test('is checked before the sign-in too', async () => {
    const browser = createBrowser(client.app)
    expect((await browser.post('/admin/login', root)).status).toBe(403)
    const token = await csrfOf(createBrowser(client.app), '/admin/login')
    await browser.get('/admin/login')
    expect((await browser.post('/admin/login', { ...root, _csrf: token })).status).toBe(403)
  })

  test('stays valid when a link on another site opens the page', async () => {
    const browser = await signIn(client, database)
    const form = await browser.load('/admin/account', {}, everywhere)
    const session = browser.jar.get('vgw-session') ?? ''
    browser.jar.delete('vgw-session')
    const linked = await browser.get('/admin/tokens?x=1', { 'sec-fetch-site': 'cross-site' })
    expect(linked.status).toBe(200)
    expect(linked.headers.refresh).toBe('0;url=/admin/tokens?x=1')
    browser.jar.set('vgw-session', session)
    expect((await browser.send(form)).status).toBe(303)
  })

  test('is the only content type that is read', async () => {
    const browser = await signIn(client, database)
    const answer = await browser.post(everywhere, {}, { 'content-type': 'application/json' })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.html).toContain('<h1>')
  })
})

describe('DELETE /admin/session, with which the other pages sign out', () => {
  const del = (browser: Browser, origin: string | undefined) =>
    client.app.inject({
      method: 'DELETE',
      url: '/admin/session',
      headers: {
        host: 'localhost:8080',
        cookie: [...browser.jar].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(origin !== undefined && { origin }),
      },
    })

  test('ends the session, and is harmless without one', async () => {
    const browser = await signIn(client, database)
    const answer = await del(browser, 'http://localhost:8080')
    expect([answer.statusCode, answer.body]).toEqual([204, ''])
    expect(String(answer.headers['set-cookie'])).toMatch(/^vgw-session=;/)
    expect(await browser.get('/admin/tokens')).toMatchObject({ status: 303 })
    const [entry] = await pool`select action from gateway.audit_entry order by id desc limit 1`
    expect(entry).toEqual({ action: 'administrator.sign_out' })
    expect((await del(createBrowser(client.app), 'http://localhost:8080')).statusCode).toBe(204)
  })

  test('is refused from other origins', async () => {
    const browser = await signIn(client, database)
    for (const origin of [undefined, 'null', 'http://localhost:9999', 'https://evil.example']) {
      expect((await del(browser, origin)).statusCode, origin).toBe(403)
    }
    expect((await browser.get('/admin/tokens')).status).toBe(200)
  })
})

describe('an error', () => {
  test('is a page, with and without a sign-in', async () => {
    const browser = await signIn(client, database)
    for (const visitor of [browser, createBrowser(client.app)]) {
      for (const path of ['/admin/nowhere', '/admin/tokens/1/nowhere', '/admin/login/callback']) {
        const page = await visitor.get(path)
        expect(page.status).toBe(404)
        expect(page.html).toContain('<h1>Not found</h1>')
      }
    }
    expect((await browser.post('/admin/nowhere', {})).status).toBe(404)
    expect((await browser.get('/admin/nowhere')).text).toContain(root.email)
    expect(await browser.get('/admin')).toMatchObject({ status: 303, location: '/admin/tokens' })
    expect(await browser.get('/admin/')).toMatchObject({ status: 303, location: '/admin/tokens' })
  })

  test('shows no details of internal errors', async () => {
    const browser = await signIn(client, database)
    await database.platform`alter table gateway.session rename to session_away`
    try {
      const page = await browser.get('/admin/account')
      expect(page.status).toBe(500)
      expect(page.text).toContain('The service failed to answer.')
      expect(page.text).not.toContain('session')
    } finally {
      await database.platform`alter table gateway.session_away rename to session`
    }
  })
})
