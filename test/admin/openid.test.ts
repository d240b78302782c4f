import { createServer } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { listAdministrators, removeAdministrator } from '../../src/domain/administrator/administrator.ts'
import { createAdministrator } from '../../src/domain/administrator/administrator-password.ts'
import { inviteFirstAdministrator } from '../../src/domain/administrator/invitation.ts'
import { createApp } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { collectLog } from '../support/log.ts'
import { atOnce } from './contention.ts'
import { readJwt, writeJwt } from './jwt.ts'
import { createSigningKey, type Person, startProvider } from './provider.ts'
import { type Browser, createBrowser, root } from './support.ts'

const origin = 'https://gateway.example.com'
const callback = '/admin/login/callback'

const database = await createDatabase()
const { pool } = database
const provider = await startProvider([`${origin}${callback}`])
const environment = { PUBLIC_URL: origin, ...provider.environment }
const byDomain = await createApp(database, { ...environment, OIDC_DOMAINS: 'Example.com,example.org' })
const byGroup = await createApp(database, {
  ...environment,
  OIDC_GROUPS: 'gateway-admins',
  OIDC_GROUPS_CLAIM: 'groups',
})

beforeEach(async () => {
  await database.platform`delete from gateway.administrator`
})

afterEach(provider.answerAsUsual)

/** A browser at an address of its own, so that tests do not spend each other's attempts. */
let addresses = 0
const open = (client = byDomain) =>
  createBrowser(client.app, { origin, address: `10.1.${++addresses >> 8}.${addresses & 255}` })
const ann: Person = { sub: 'ann-1', email: 'Ann@Example.com', email_verified: true }

/** Goes to the provider and comes back, as far as the callback. */
async function journey(browser: Browser, person: Person | null, path = '/admin/login/openid') {
  const gone = await browser.get(path)
  expect(gone.status).toBe(303)
  const back = new URL(await provider.visit(gone.location ?? '', person))
  expect(back.origin + back.pathname).toBe(`${origin}${callback}`)
  return back.pathname + back.search
}

const enter = async (browser: Browser, person: Person | null) => browser.get(await journey(browser, person))
const people = async () => (await listAdministrators(pool)).map(({ email, hasOpenId }) => ({ email, hasOpenId }))
const failures = () => pool<{ actor: string; reason: string }[]>`
  select actor, detail ->> 'reason' as reason from gateway.audit_entry
  where action = 'administrator.sign_in_refused' order by id desc`

test('the redirect to the provider is a link where a provider is configured, and keeps its state in a cookie', async () => {
  const browser = open()
  const login = await browser.get('/admin/login?next=%2Fadmin%2Faudit')
  expect(login.html).toContain('href="/admin/login/openid?next=%2Fadmin%2Faudit"')
  const gone = await browser.get('/admin/login/openid')
  const target = new URL(gone.location ?? '')
  expect(target.origin).toBe(provider.issuer)
  expect(Object.fromEntries(target.searchParams)).toMatchObject({
    response_type: 'code',
    code_challenge_method: 'S256',
    redirect_uri: `${origin}${callback}`,
    scope: 'openid email groups',
    state: expect.stringMatching(/.{20}/),
    nonce: expect.stringMatching(/.{20}/),
  })
  const cookie = gone.cookies.find(each => each.startsWith('__Host-openid='))
  expect(cookie?.split('; ').slice(1).sort()).toEqual(['HttpOnly', 'Max-Age=600', 'Path=/', 'SameSite=Lax', 'Secure'])
  const without = await createApp(database)
  expect((await createBrowser(without.app).get('/admin/login')).text).not.toContain('organisation')
  expect((await createBrowser(without.app).get('/admin/login/openid')).status).toBe(404)
})

describe('a person who returns', () => {
  test('from an allowed domain becomes an administrator, and is redirected to the requested page', async () => {
    const browser = open()
    const page = await browser.get(await journey(browser, ann, '/admin/login/openid?next=/admin/audit'))
    expect(page.status).toBe(200)
    expect(page.headers.refresh).toBe('0;url=/admin/audit')
    expect(page.html).toContain('href="/admin/audit"')
    expect(browser.jar.has('__Host-openid')).toBe(false)
    expect((await browser.get('/admin/account')).text).toContain('ann@example.com')
    expect(await people()).toEqual([{ email: 'ann@example.com', hasOpenId: true }])
    expect(await inviteFirstAdministrator(pool, tester)).toBeNull()
    await enter(open(), ann)
    expect(await people()).toHaveLength(1)
    const entries =
      await pool`select action, detail from gateway.audit_entry where actor = 'ann@example.com' order by id`
    expect(entries.map(({ action }) => action)).toEqual([
      'administrator.create',
      'administrator.sign_in',
      'administrator.sign_in',
    ])
    expect(entries[1]?.detail).toEqual({ means: 'openid' })
  })

  test.each<[string, Person]>([
    ['another domain', { sub: 'x', email: 'eve@evil.example', email_verified: true }],
    ['a domain below', { sub: 'x', email: 'eve@mail.example.com', email_verified: true }],
    ['a domain that ends alike', { sub: 'x', email: 'eve@notexample.com', email_verified: true }],
    ['two at signs', { sub: 'x', email: 'eve@example.com@evil.example', email_verified: true }],
    ['an e-mail that is not verified', { sub: 'x', email: 'eve@example.com', email_verified: false }],
    ['an e-mail without a verification', { sub: 'x', email: 'eve@example.com' }],
    ['an e-mail with a verification as text', { sub: 'x', email: 'eve@example.com', email_verified: 'true' }],
    ['no e-mail', { sub: 'x' }],
    ['a group that is not configured', { sub: 'x', groups: ['gateway-admins'] }],
  ])('from %s is rejected', async (_what, person) => {
    const browser = open()
    const page = await enter(browser, person)
    expect(page.status).toBe(403)
    expect(page.text).toContain('you are not allowed to use this page')
    expect(browser.jar.has('__Host-session')).toBe(false)
    expect(await people()).toEqual([])
    expect((await failures())[0]?.reason).toBe('openid: stranger')
  })

  test('in an allowed group is accepted, with one group or several', async () => {
    for (const groups of ['gateway-admins', ['others', 'gateway-admins']]) {
      const page = await enter(open(byGroup), { ...ann, groups })
      expect(page.status).toBe(200)
    }
    for (const groups of ['gateway', ['gateway-admins-not'], [['gateway-admins']], { 'gateway-admins': true }, null]) {
      expect((await enter(open(byGroup), { ...ann, groups })).status).toBe(403)
    }
    const nameless = await enter(open(byGroup), { sub: 'y', groups: 'gateway-admins', email: 'y@example.com' })
    expect(nameless.status).toBe(403)
    expect(nameless.text).toContain('has not verified your e-mail')
  })

  test('is identified by the subject when the e-mail changes', async () => {
    await enter(open(), ann)
    const browser = open()
    expect((await enter(browser, { ...ann, email: 'ann.new@example.org' })).status).toBe(200)
    expect(await people()).toEqual([{ email: 'ann@example.com', hasOpenId: true }])
    expect((await browser.get('/admin/account')).text).toContain('ann@example.com')
  })

  test('is bound once to the account of the e-mail, and no other person is', async () => {
    await createAdministrator(pool, tester, 'ann@example.com', root.password)
    expect((await enter(open(), ann)).status).toBe(200)
    expect(await people()).toEqual([{ email: 'ann@example.com', hasOpenId: true }])
    // The binding is a new means of sign-in: it is audited.
    const entries = await pool`
      select actor, detail from gateway.audit_entry where action = 'administrator.bind' order by id`
    const detail = { email: 'ann@example.com', subject: `${provider.issuer} ann-1` }
    expect(entries).toEqual([{ actor: 'ann@example.com', detail }])
    expect((await enter(open(), ann)).status).toBe(200)
    expect(await pool`select 1 from gateway.audit_entry where action = 'administrator.bind'`).toHaveLength(1)
    const other = await enter(open(), { ...ann, sub: 'ann-2' })
    expect(other.status).toBe(403)
    expect(other.text).toContain('belongs to another person')
    expect((await failures())[0]).toEqual({ actor: 'ann@example.com', reason: 'openid: account' })
  })

  test('is rejected after the removal of the account, by subject and by e-mail', async () => {
    await createAdministrator(pool, tester, 'bob@example.com', root.password)
    await enter(open(), ann)
    await pool`update gateway.administrator set removed_at = now()`
    for (const person of [
      ann,
      { ...ann, sub: 'ann-3' },
      { sub: 'bob', email: 'bob@example.com', email_verified: true },
    ]) {
      expect((await enter(open(), person)).status).toBe(403)
    }
    expect(await people()).toEqual([])
  })
})

describe('the e-mail', () => {
  const eve = { sub: 'eve', email: 'eve@evil.example', email_verified: true }

  test('and its verification come from the same source', async () => {
    for (const person of [
      { ...eve, idToken: { email: 'eve@example.com' } },
      { ...eve, email: 'eve@example.com', email_verified: undefined, idToken: { email_verified: true } },
    ]) {
      expect((await enter(open(), person)).status).toBe(403)
    }
    expect(await people()).toEqual([])
  })

  test('may come from the ID token', async () => {
    expect((await enter(open(), { ...eve, idToken: { email: 'eve@example.com', email_verified: true } })).status).toBe(
      200,
    )
    expect(await people()).toEqual([{ email: 'eve@example.com', hasOpenId: true }])
  })
})

test('a person who is removed during the sign-in is rejected', async () => {
  await enter(open(), ann)
  await createAdministrator(pool, tester, root.email, root.password)
  const browser = open()
  const path = await journey(browser, ann)
  const [removed, entered] = await atOnce<unknown>(database.platform, 'gateway.administrator', [
    () => removeAdministrator(pool, tester, 'ann@example.com'),
    () => browser.get(path),
  ])
  expect(removed?.status).toBe('fulfilled')
  expect(entered).toMatchObject({ status: 'fulfilled', value: { status: 403 } })
  expect(
    await pool`select 1 from gateway.session join gateway.administrator on id = administrator_id
                    where email = 'ann@example.com'`,
  ).toEqual([])
})

test('an address is throttled after twenty failed callbacks', async () => {
  const client = await createApp(database, { ...environment, OIDC_DOMAINS: 'example.com' })
  const browser = createBrowser(client.app, { origin, address: '10.7.7.7' })
  const statuses = []
  for (let attempt = 0; attempt < 21; attempt++) {
    await browser.get('/admin/login/openid')
    statuses.push((await browser.get(`${callback}?code=x&state=y`)).status)
  }
  expect(statuses).toEqual([...Array(20).fill(403), 429])
  const elsewhere = open(client)
  for (let attempt = 0; attempt < 25; attempt++) expect((await enter(elsewhere, ann)).status).toBe(200)
})

describe('a callback is rejected', () => {
  test('from another browser, when repeated, with another state, or with an error of the provider', async () => {
    const browser = open()
    const path = await journey(browser, ann)
    const elsewhere = await open().get(path)
    expect(elsewhere.status).toBe(403)
    expect(elsewhere.text).toContain('was started in another browser')
    const kept = browser.jar.get('__Host-openid') ?? ''
    expect((await browser.get(path)).status).toBe(200)
    browser.jar.set('__Host-openid', kept)
    expect((await browser.get(path)).status).toBe(403)

    const victim = open()
    await victim.get('/admin/login/openid')
    expect((await victim.get(await journey(open(), ann))).status).toBe(403)
    const declined = await enter(open(), null)
    expect(declined.status).toBe(403)
    expect(declined.text).toContain('Your organisation did not sign you in.')
    const broken = open()
    broken.jar.set('__Host-openid', 'nonsense')
    expect((await broken.get(`${callback}?code=x&state=y`)).status).toBe(403)
    expect(await people()).toHaveLength(1)
  })

  test('without the state, the nonce or the verifier', async () => {
    for (const name of ['state', 'nonce', 'verifier']) {
      const browser = open()
      const path = await journey(browser, ann)
      const kept = JSON.parse(Buffer.from(browser.jar.get('__Host-openid') ?? '', 'base64url').toString())
      const bent = { ...kept, [name]: 'A'.repeat(43) }
      browser.jar.set('__Host-openid', Buffer.from(JSON.stringify(bent)).toString('base64url'))
      expect((await browser.get(path)).status).toBe(403)
    }
    expect(await people()).toEqual([])
  })
})

describe('the ID token', () => {
  const other = createSigningKey(provider.key.publicJwk.kid)
  const now = () => Math.floor(Date.now() / 1000)
  type Jwt = ReturnType<typeof readJwt>

  /** Makes the provider answer with an ID token that is built from its original one. */
  const answerWith = (change: (token: Jwt, text: string) => string) =>
    provider.answer('/token', body => {
      const text = String(body.id_token)
      return { ...body, id_token: change(readJwt(text), text) }
    })
  const signed = ({ header, claims }: Jwt) => writeJwt({ header, claims }, provider.key.privateKey)
  const withClaims = (changes: (claims: Jwt['claims']) => object) => (token: Jwt) =>
    signed({ header: token.header, claims: { ...token.claims, ...changes(token.claims) } })
  const withHeader = (header: object, key: Parameters<typeof writeJwt>[1]) => (token: Jwt) =>
    writeJwt({ header: { ...token.header, ...header }, claims: token.claims }, key)

  test.each<[string, Parameters<typeof answerWith>[0]]>([
    ['that another key has signed, under the same kid', withHeader({}, other.privateKey)],
    ['that is not signed', withHeader({ alg: 'none' }, '')],
    ['without a signature', (_, text) => text.replace(/[^.]*$/, '')],
    ['that is signed with the client secret', withHeader({ alg: 'HS256' }, 'a-secret-of-the-client')],
    [
      'that is signed with the public key as a secret',
      withHeader({ alg: 'HS256' }, provider.key.publicKey.export({ type: 'spki', format: 'pem' })),
    ],
    ['that has expired', withClaims(() => ({ exp: now() - 60, iat: now() - 120 }))],
    ['that never expires', withClaims(() => ({ exp: undefined }))],
    ['that is not valid yet', withClaims(() => ({ nbf: now() + 600 }))],
    ['for another client', withClaims(() => ({ aud: 'another' }))],
    ['for several clients', withClaims(() => ({ aud: ['gateway', 'another'] }))],
    ['of another issuer', withClaims(() => ({ iss: 'https://evil.example' }))],
    ['of another sign-in', withClaims(() => ({ nonce: 'another' }))],
    ['of no sign-in', withClaims(() => ({ nonce: undefined }))],
    ['without a subject', withClaims(() => ({ sub: undefined }))],
    ['with another subject than the user info', withClaims(() => ({ sub: 'somebody-else' }))],
    ['that is none', () => 'nonsense'],
  ])('%s is rejected with 403 and an audit entry', async (_what, change) => {
    const { lines, log } = collectLog()
    const client = await createApp(database, { ...environment, OIDC_DOMAINS: 'example.com', LOG_LEVEL: 'trace' }, log)
    const browser = open(client)
    const path = await journey(browser, ann)
    answerWith(change)
    const algorithms = ['RS256', 'HS256', 'none']
    provider.answer('/.well-known/openid-configuration', body => ({
      ...body,
      id_token_signing_alg_values_supported: algorithms,
    }))
    const before = (await failures()).length
    const page = await browser.get(path)
    expect(page.status).toBe(403)
    expect(page.text).toContain('Your organisation did not sign you in.')
    expect(browser.jar.has('__Host-session')).toBe(false)
    expect(await people()).toEqual([])
    const entries = await failures()
    expect(entries).toHaveLength(before + 1)
    expect(entries[0]).toEqual({ actor: 'no e-mail', reason: 'openid: provider' })
    expect(lines().filter(({ level }) => level > 30)).toEqual([])
    expect(lines()).toContainEqual(
      expect.objectContaining({ msg: 'sign-in through the OpenID provider failed', reqId: expect.any(String) }),
    )
  })

  test.each<[string, Parameters<typeof answerWith>[0]]>([
    ['as it comes', (_, text) => text],
    ['made like the rejected ones, but unchanged', signed],
    ['that expired seconds ago, within the clock tolerance', withClaims(() => ({ exp: now() - 5 }))],
  ])('%s is accepted', async (_what, change) => {
    const browser = open()
    const path = await journey(browser, ann)
    answerWith(change)
    expect((await browser.get(path)).status).toBe(200)
  })

  test('is accepted after the provider rotates its key, and rejected when the former key signed it', async () => {
    expect((await enter(open(), ann)).status).toBe(200)
    const next = createSigningKey('next')
    provider.answer('/jwks', () => ({ keys: [next.publicJwk] }))
    answerWith(withHeader({ kid: 'next' }, next.privateKey))
    expect((await enter(open(), ann)).status).toBe(200)
    const again = createSigningKey('next')
    provider.answer('/jwks', () => ({ keys: [again.publicJwk] }))
    expect((await enter(open(), ann)).status).toBe(403)
    answerWith(withHeader({ kid: 'next' }, again.privateKey))
    expect((await enter(open(), ann)).status).toBe(200)
    answerWith((_, text) => text)
    expect((await enter(open(), ann)).status).toBe(403)
  })

  test('answers 503 when the provider does not answer with it, or with its keys', async () => {
    for (const path of ['/.well-known/openid-configuration', '/token', '/jwks', '/me']) {
      const browser = open()
      const back = await journey(browser, ann)
      provider.answer(path, () => 'Bad gateway')
      const page = await browser.get(back)
      expect(page.status, path).toBe(503)
      expect(page.headers['retry-after']).toBe('30')
      provider.answerAsUsual()
    }
    expect(await people()).toEqual([])
  })
})

test('the requested page is validated again at the callback', async () => {
  const browser = open()
  const path = await journey(browser, ann)
  const kept = JSON.parse(Buffer.from(browser.jar.get('__Host-openid') ?? '', 'base64url').toString())
  const bent = { ...kept, next: 'https://evil.example/admin/tokens' }
  browser.jar.set('__Host-openid', Buffer.from(JSON.stringify(bent)).toString('base64url'))
  const page = await browser.get(path)
  expect(page.headers.refresh).toBe('0;url=/admin/tokens')
  expect(page.html).not.toContain('evil.example')
})

test('a provider that is down gives 503, passwords keep working, and a later sign-in succeeds', async () => {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const client = await createApp(database, { ...environment, OIDC_ISSUER: issuer, OIDC_DOMAINS: 'example.com' })
  await createAdministrator(pool, tester, root.email, root.password)
  const browser = open(client)
  const page = await browser.get('/admin/login/openid')
  expect(page.status).toBe(503)
  expect(page.headers['retry-after']).toBe('30')
  expect(page.text).toContain('or sign in with a password')
  expect((await browser.submit('/admin/login', root)).status).toBe(303)

  const back = createServer((_request, response) => {
    const authorization_endpoint = `${issuer}/authorize`
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ issuer, authorization_endpoint }))
  })
  await new Promise<void>(resolve => back.listen(port, '127.0.0.1', resolve))
  expect((await open(client).get('/admin/login/openid')).status).toBe(303)
  await new Promise(resolve => back.close(resolve))
  // The metadata is cached.
  expect((await open(client).get('/admin/login/openid')).status).toBe(303)
})
