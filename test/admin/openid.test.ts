import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { AuthorizationResponseError, ResponseBodyError } from 'openid-client'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { listAdministrators, removeAdministrator } from '../../src/domain/administrator/administrator.ts'
import { inviteFirstAdministrator } from '../../src/domain/administrator/invitation.ts'
import { failureKindOf } from '../../src/openid/provider.ts'
import { createApp } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { collectLog } from '../support/log.ts'
import { atOnce } from './contention.ts'
import { readJwt, writeJwt } from './jwt.ts'
import { createSigningKey, type Person, startProvider } from './provider.ts'
import { type Browser, createAccount, createBrowser, root } from './support.ts'

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

const byEither = await createApp(database, {
  ...environment,
  OIDC_DOMAINS: 'example.com',
  OIDC_GROUPS: 'gateway-admins',
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

/** Changes what the cookie of a sign-in keeps until the callback. */
function forge({ jar }: Browser, changes: object): void {
  const kept = JSON.parse(Buffer.from(jar.get('__Host-openid') ?? '', 'base64url').toString())
  jar.set('__Host-openid', Buffer.from(JSON.stringify({ ...kept, ...changes })).toString('base64url'))
}

const enter = async (browser: Browser, person: Person | null) => browser.get(await journey(browser, person))
const people = async () => (await listAdministrators(pool)).map(({ email, hasOpenId }) => ({ email, hasOpenId }))

/** Yields an answer of 100 MB. */
function* endless(onChunk: () => void) {
  for (let chunk = 0; chunk < 100; chunk++) {
    onChunk()
    yield Buffer.alloc(1_000_000, ' ')
  }
}

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

  const noDomain = 'the claim email has no allowed domain'
  const eve = { sub: 'x', email: 'eve@example.com', email_verified: true }
  test.each<[string, Person, string]>([
    ['another domain', { ...eve, email: 'eve@evil.example' }, noDomain],
    ['a domain below', { ...eve, email: 'eve@mail.example.com' }, noDomain],
    ['a domain that ends alike', { ...eve, email: 'eve@notexample.com' }, noDomain],
    ['two at signs', { ...eve, email: 'eve@example.com@evil.example' }, noDomain],
    ['an e-mail that is none', { ...eve, email: 'example.com' }, noDomain],
    ['an e-mail that is not verified', { ...eve, email_verified: false }, 'the claim email_verified is not true'],
    [
      'an e-mail that the text says is not',
      { ...eve, email_verified: 'false' },
      'the claim email_verified is not true',
    ],
    [
      'an e-mail that only the user info says is',
      { ...eve, idToken: { email: eve.email, email_verified: false } },
      'the claim email_verified is not true',
    ],
    [
      'a domain that only the user info says is verified',
      { ...eve, idToken: { email: eve.email, xms_edov: false } },
      'the claim xms_edov is not true',
    ],
    ['both verifications', { ...eve, email_verified: false, xms_edov: true }, 'the claim email_verified is not true'],
    [
      'a domain that is not verified',
      { ...eve, email_verified: undefined, xms_edov: 0 },
      'the claim xms_edov is not true',
    ],
    ['no verification', { ...eve, email_verified: undefined }, 'the claim email_verified is missing'],
    ['no e-mail', { sub: 'x', email_verified: true }, 'the claim email is missing'],
    ...[
      { email: 'eve@evil.example', idToken: { email: eve.email } },
      { email: eve.email, email_verified: undefined, idToken: { email: eve.email } },
      { email_verified: undefined, idToken: { email_verified: true } },
    ].map((claims): [string, Person, string] => [
      'an e-mail whose verification is elsewhere',
      { ...eve, ...claims },
      'the claim email_verified is missing',
    ]),
    ['a group that is not configured', { sub: 'x', groups: ['gateway-admins'] }, 'the claim email is missing'],
  ])('from %s is rejected, and the reason names the claim', async (_what, person, reason) => {
    const browser = open()
    const page = await enter(browser, person)
    expect(page.status).toBe(403)
    expect(page.text).toContain(`you are not allowed to use this page: ${reason}.`)
    expect(browser.jar.has('__Host-session')).toBe(false)
    expect(await people()).toEqual([])
    expect((await failures())[0]?.reason).toBe(`openid: ${reason}`)
  })

  test.each([
    { email_verified: 'true' },
    { email_verified: 1 },
    ...[true, 'true', 1, '1'].map(xms_edov => ({ email_verified: undefined, xms_edov })),
    { email: 'ann@evil.example', idToken: { email: 'ann@example.com', email_verified: true } },
    { email: 'ann@example.com', idToken: { email: 'ann@example.com' } },
    { email: 'ann@example.com', email_verified: undefined, xms_edov: true, idToken: { email: 'ann@example.com' } },
  ])('with an e-mail that is verified in another form or place is accepted: %j', async claims => {
    expect((await enter(open(), { ...ann, ...claims })).status).toBe(200)
    expect(await people()).toEqual([{ email: 'ann@example.com', hasOpenId: true }])
  })

  test('in an allowed group is accepted, with one group or several', async () => {
    for (const groups of ['gateway-admins', ['others', 'gateway-admins']]) {
      const page = await enter(open(byGroup), { ...ann, groups })
      expect(page.status).toBe(200)
    }
    for (const groups of ['gateway', ['gateway-admins-not'], [['gateway-admins']], { 'gateway-admins': true }, null]) {
      expect((await enter(open(byGroup), { ...ann, groups })).status).toBe(403)
      expect((await failures())[0]?.reason).toBe('openid: the claim groups has no allowed group')
    }
    const groupless = await enter(open(byGroup), ann)
    expect(groupless.text).toContain('you are not allowed to use this page: the claim groups is missing.')
    const neither = await enter(open(byEither), { sub: 'z' })
    expect(neither.text).toContain('the claim email is missing, and the claim groups is missing.')
  })

  test('is identified by the subject when the e-mail changes', async () => {
    await enter(open(), ann)
    const browser = open()
    expect((await enter(browser, { ...ann, email: 'ann.new@example.org' })).status).toBe(200)
    expect(await people()).toEqual([{ email: 'ann@example.com', hasOpenId: true }])
    expect((await browser.get('/admin/account')).text).toContain('ann@example.com')
  })

  test('is bound once to the account of the e-mail, and no other person is', async () => {
    await createAccount(database, 'ann@example.com')
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
    await createAccount(database, 'bob@example.com')
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

  test.each<[string, Omit<Person, 'sub'>]>([
    ['no e-mail', {}],
    ['an e-mail without a verification', { email: 'ann@example.com' }],
    ['an e-mail that is not verified', { email: 'ann@example.com', email_verified: false }],
    ['an e-mail whose domain is not verified', { email: 'ann@example.com', xms_edov: false }],
    ['an e-mail that is verified elsewhere', { email: 'ann@example.com', idToken: { email_verified: true } }],
  ])('in an allowed group with %s is bound to the subject alone', async (_what, claims) => {
    await createAccount(database, 'ann@example.com')
    const eve = { sub: 'Eve@1', groups: 'gateway-admins', ...claims }
    for (const client of [byGroup, byEither, byGroup]) {
      const browser = open(client)
      expect((await enter(browser, eve)).status).toBe(200)
      expect((await browser.get('/admin/account')).text).toContain('eve%401@127.0.0.1.invalid')
    }
    expect(await people()).toEqual([
      { email: 'ann@example.com', hasOpenId: false },
      { email: 'eve%401@127.0.0.1.invalid', hasOpenId: true },
    ])
    const created = await pool`select detail from gateway.audit_entry where detail ->> 'subject' like '%Eve@1'`
    expect(created).not.toEqual([])
    // The account of the e-mail is still there for the person whose e-mail is verified.
    expect((await enter(open(byGroup), { ...ann, groups: 'gateway-admins' })).status).toBe(200)
    expect(await people()).toContainEqual({ email: 'ann@example.com', hasOpenId: true })
  })

  test('in an allowed group is rejected after the removal of the account, and when the subject is too long', async () => {
    const group = { groups: 'gateway-admins' }
    await createAccount(database)
    await enter(open(byGroup), { sub: 'eve', ...group })
    await removeAdministrator(pool, tester, 'eve@127.0.0.1.invalid')
    for (const sub of ['eve', 'e'.repeat(255)]) {
      const page = await enter(open(byGroup), { sub, ...group })
      expect([page.status, (await failures())[0]?.reason]).toEqual([403, 'openid: account'])
    }
    expect(await people()).toHaveLength(1)
  })
})

test('a person who is removed during the sign-in is rejected', async () => {
  await enter(open(), ann)
  await createAccount(database)
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
      forge(browser, { [name]: 'A'.repeat(43) })
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
    ['without a signature', (_, text) => text.replace(/[^.]*$/, '')],
    ['that has expired', withClaims(() => ({ exp: now() - 301, iat: now() - 400 }))],
    ['that is issued in 2286', withClaims(() => ({ iat: 9_999_999_999, exp: 10_000_000_000 }))],
    ['that is issued later than now', withClaims(() => ({ iat: now() + 330 }))],
    ['that is issued before the sign-in', withClaims(() => ({ iat: now() - 901 }))],
    ['whose person is authenticated later than now', withClaims(() => ({ auth_time: now() + 330 }))],
    ['that never expires', withClaims(() => ({ exp: undefined }))],
    ['that is not valid yet', withClaims(() => ({ nbf: now() + 600 }))],
    ['for another client', withClaims(() => ({ aud: 'another' }))],
    ['for several clients', withClaims(() => ({ aud: ['gateway', 'another'] }))],
    ['for several clients, of which another may use it', withClaims(() => ({ aud: ['gateway', 'x'], azp: 'x' }))],
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
    [
      'for several clients, of which this one may use it',
      withClaims(() => ({ aud: ['gateway', 'x'], azp: 'gateway' })),
    ],
    ['that expired minutes ago, by our clock', withClaims(() => ({ exp: now() - 270 }))],
    ['that is issued in some minutes, by our clock', withClaims(() => ({ iat: now() + 270, nbf: now() + 270 }))],
    ['that is as old as the sign-in', withClaims(() => ({ iat: now() - 870, auth_time: 1 }))],
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

  test.each([
    '',
    '/',
  ])('is accepted when OIDC_ISSUER ends with "%s", and the issuer of the provider with the other', async end => {
    const configured = `${provider.issuer}/of/shop${end}`
    const issuer = `${provider.issuer}/of/shop${end ? '' : '/'}`
    const settings = { ...environment, OIDC_ISSUER: configured, OIDC_DOMAINS: 'example.com' }
    const client = await createApp(database, settings)
    provider.answer('/.well-known/openid-configuration', body => ({ ...body, issuer }))
    answerWith(withClaims(() => ({ iss: issuer })))
    const browser = open(client)
    const back = (await journey(browser, ann)).replace(/(?<=[?&]iss=)[^&]*/, encodeURIComponent(issuer))
    expect((await browser.get(back)).status).toBe(200)
  })

  test('that leaves groups out because there are too many is rejected, with what to do', async () => {
    const browser = open(byGroup)
    const path = await journey(browser, ann)
    answerWith(withClaims(() => ({ _claim_names: { groups: 'src1' } })))
    expect((await browser.get(path)).text).toContain(
      'the claim groups is left out, because it has too many values (_claim_names): configure the provider to send only the',
    )
  })

  test('suffices when the provider refuses user info; what is missing otherwise is named', async () => {
    const verified = { email: 'ann@example.com', email_verified: true }
    const cases = [
      [byDomain, verified, [403, 502], 200],
      [byGroup, { groups: 'gateway-admins' }, [403, 502], 200],
      [byGroup, verified, [401, 403], 403],
      [byGroup, verified, [429, 502], 503],
    ] as const
    for (const [client, idToken, answers, status] of cases) {
      for (const answer of answers) {
        provider.answer('/me', () => answer)
        const page = await enter(open(client), { sub: `ann-${status}`, idToken })
        expect([answer, page.status]).toEqual([answer, status])
        if (status === 403) expect(page.text).toContain('the claim groups is missing')
      }
    }
  })

  test.each([
    ['/.well-known/openid-configuration', () => 404],
    ['/.well-known/openid-configuration', body => ({ ...body, issuer: 'https://another.example' })],
    ['/token', () => 401],
    ['/jwks', () => 404],
  ] as [
    string,
    Parameters<typeof provider.answer>[1],
  ][])('answers 500 and not to try again when %s will never do', async (path, answer) => {
    const browser = open()
    const back = await journey(browser, ann)
    provider.answer(path, answer)
    const page = await browser.get(back)
    expect([page.status, page.headers['retry-after']]).toEqual([500, undefined])
    expect(page.text).toContain(
      'is not set up correctly. Sign in with a password. The operator finds the cause with `voucher-gateway doctor`.',
    )
  })

  test.each<[string, Parameters<typeof answerWith>[0]]>([
    ['that is not signed', withHeader({ alg: 'none' }, '')],
    ['that is signed with the client secret', withHeader({ alg: 'HS256' }, 'a-secret-of-the-client')],
    [
      'that is signed with the public key as a secret',
      withHeader({ alg: 'HS256' }, provider.key.publicKey.export({ type: 'spki', format: 'pem' })),
    ],
  ])('%s is rejected with 500 and without the advice to start again', async (_what, change) => {
    for (const id_token_signing_alg_values_supported of [['RS256', 'HS256', 'none'], ['RS256'], undefined]) {
      const browser = open()
      const path = await journey(browser, ann)
      answerWith(change)
      provider.answer('/.well-known/openid-configuration', body => ({ ...body, id_token_signing_alg_values_supported }))
      const page = await browser.get(path)
      expect([page.status, browser.jar.has('__Host-session')]).toEqual([500, false])
      expect(page.text).toContain('is not set up correctly. Sign in with a password.')
      expect(page.text).not.toMatch(/start (it )?again/i)
    }
    expect(await people()).toEqual([])
  })

  test.each([
    ['/.well-known/openid-configuration', 500],
    ['/token', 500],
    ['/jwks', 500],
    ['/me', 403],
  ])('answers 503 when the answer of %s is an error, and reads little of one that does not end', async (path, status) => {
    const browser = open()
    const back = await journey(browser, ann)
    provider.answer(path, () => 'Bad gateway')
    const page = await browser.get(back)
    expect([page.status, page.headers['retry-after']]).toEqual([503, '30'])
    let sent = 0
    const other = open()
    provider.answerAsUsual()
    const again = await journey(other, ann)
    provider.answer(path, () => Readable.from(endless(() => sent++)))
    expect((await other.get(again)).status).toBe(status)
    expect(sent).toBeLessThan(50)
    expect(await people()).toEqual([])
  })
})

const failedFetch = (code: string) => new TypeError('fetch failed', { cause: Object.assign(new Error(), { code }) })
const errorBody = (error: string, status: number) =>
  new ResponseBodyError('', { cause: { error }, response: new Response(null, { status }) })

test.each<[ReturnType<typeof failureKindOf>, Error]>([
  ['temporary', errorBody('slow_down', 429)],
  ['temporary', errorBody('temporarily_unavailable', 400)],
  ['temporary', new AuthorizationResponseError('', { cause: new URLSearchParams('error=temporarily_unavailable') })],
  ['invalid', new AuthorizationResponseError('', { cause: new URLSearchParams('error=access_denied') })],
  ['invalid', errorBody('invalid_grant', 400)],
  ['refused', errorBody('invalid_client', 401)],
  ...['ECONNREFUSED', 'ECONNRESET', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'].map((code): ['temporary', Error] => [
    'temporary',
    failedFetch(code),
  ]),
  ...[
    'CERT_HAS_EXPIRED',
    'CERT_SIGNATURE_FAILURE',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ENOTFOUND',
  ].map((code): ['refused', Error] => ['refused', failedFetch(code)]),
])('a failure is %s: %o', (kind, error) => {
  expect(failureKindOf(error)).toBe(kind)
})

test('the requested page is validated again at the callback', async () => {
  const browser = open()
  const path = await journey(browser, ann)
  forge(browser, { next: 'https://evil.example/admin/tokens' })
  const page = await browser.get(path)
  expect(page.headers.refresh).toBe('0;url=/admin/tokens')
  expect(page.html).not.toContain('evil.example')
})

test('a provider that is down gives 503, passwords keep working, and a later sign-in succeeds', async () => {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const { lines, log } = collectLog()
  vi.stubEnv('HTTPS_PROXY', 'http://127.0.0.1:9')
  const settings = { ...environment, OIDC_ISSUER: issuer, OIDC_DOMAINS: 'example.com', LOG_LEVEL: 'info' }
  const client = await createApp(database, settings, log)
  vi.unstubAllEnvs()
  expect(lines()[0]?.msg).toMatch(/^the OpenID provider is asked directly: HTTPS_PROXY is not used: set /)
  await createAccount(database)
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

test('an instance with a former client secret refuses sign-ins, and keeps open sessions', async () => {
  const former = await createApp(database, {
    ...environment,
    OIDC_CLIENT_SECRET: 'a former secret of the client',
    OIDC_DOMAINS: 'example.com',
  })
  const [signedIn, browser] = [open(), open(former)]
  await enter(signedIn, ann)
  for (const [name, value] of signedIn.jar) browser.jar.set(name, value)
  expect((await browser.get('/admin/account')).text).toContain('ann@example.com')
  const another = open(former)
  expect((await enter(another, ann)).status).toBe(500)
  expect((await another.get('/admin/account')).status).toBe(303)
})
