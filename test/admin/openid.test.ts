import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { AuthorizationResponseError, ResponseBodyError } from 'openid-client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createLoginThrottle } from '../../src/admin/auth/login-throttle.ts'
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
const byGroup = await createApp(database, { ...environment, OIDC_GROUPS: 'gateway-admins' })
const domainsAndGroups = { OIDC_DOMAINS: 'example.com', OIDC_GROUPS: 'gateway-admins' }
const byEither = await createApp(database, { ...environment, ...domainsAndGroups })

beforeEach(async () => {
  await database.platform`delete from gateway.administrator`
})

afterEach(provider.answerAsUsual)

/** Returns a browser with a new address, so that each test has its own number of sign-in attempts. */
let addressCount = 0
const createNewBrowser = (client = byDomain) =>
  createBrowser(client.app, { origin, address: `10.1.${++addressCount >> 8}.${addressCount & 255}` })
const ann: Person = { sub: 'ann-1', email: 'Ann@Example.com', email_verified: true }

/** Signs in at the provider. Returns the path and query of the callback, which the browser has not requested yet. */
async function signInAtProvider(browser: Browser, person: Person | null, path = '/admin/login/openid') {
  const gone = await browser.get(path)
  expect(gone.status).toBe(303)
  const back = new URL(await provider.visit(gone.location ?? '', person))
  expect(back.origin + back.pathname).toBe(`${origin}${callback}`)
  return back.pathname + back.search
}

function changeStateCookie({ jar }: Browser, changes: object): void {
  const kept = JSON.parse(Buffer.from(jar.get('__Host-openid') ?? '', 'base64url').toString())
  jar.set('__Host-openid', Buffer.from(JSON.stringify({ ...kept, ...changes })).toString('base64url'))
}

const signInByProvider = async (browser: Browser, person: Person | null) =>
  browser.get(await signInAtProvider(browser, person))
const listPeople = async () => (await listAdministrators(pool)).map(({ email, hasOpenId }) => ({ email, hasOpenId }))

/** Yields the chunks of an answer of 100 MB. */
function* endless(onChunk: () => void) {
  for (let chunk = 0; chunk < 100; chunk++) {
    onChunk()
    yield Buffer.alloc(1_000_000, ' ')
  }
}

const readRefusedSignIns = () => pool<{ actor: string; reason: string }[]>`
  select actor, detail ->> 'reason' as reason from gateway.audit_entry
  where action = 'administrator.sign_in_refused' order by id desc`

test('the sign-in page links to a configured provider, and the redirect stores its state in a cookie', async () => {
  const browser = createNewBrowser()
  const login = await browser.get('/admin/login?next=%2Fadmin%2Faudit')
  expect(login.html).toContain('href="/admin/login/openid?next=%2Fadmin%2Faudit"')
  const gone = await browser.get('/admin/login/openid')
  expect(new URL(gone.location ?? '').searchParams.get('code_challenge_method')).toBe('S256')
  const cookie = gone.cookies.find(each => each.startsWith('__Host-openid='))
  expect(cookie?.split('; ').slice(1).sort()).toEqual(['HttpOnly', 'Max-Age=600', 'Path=/', 'SameSite=Lax', 'Secure'])
  const without = await createApp(database)
  expect((await createBrowser(without.app).get('/admin/login')).text).not.toContain('organisation')
  expect((await createBrowser(without.app).get('/admin/login/openid')).status).toBe(404)
})

describe('a person who returns', () => {
  test('a person from an allowed domain becomes an administrator, and is redirected to the requested page', async () => {
    const browser = createNewBrowser()
    const page = await browser.get(await signInAtProvider(browser, ann, '/admin/login/openid?next=/admin/audit'))
    expect(page).toMatchObject({ status: 200, headers: { refresh: '0;url=/admin/audit' } })
    expect(browser.jar.has('__Host-openid')).toBe(false)
    expect((await browser.get('/admin/account')).text).toContain('ann@example.com')
    expect(await listPeople()).toEqual([{ email: 'ann@example.com', hasOpenId: true }])
    expect(await inviteFirstAdministrator(pool, tester)).toBeNull()
    const entries =
      await pool`select action, detail from gateway.audit_entry where actor = 'ann@example.com' order by id`
    expect(entries).toMatchObject([{ action: 'administrator.create' }, { detail: { means: 'openid' } }])
  })

  const noDomain = 'the claim email has no allowed domain'
  const notVerified = 'the claim email_verified is not true'
  const otherDomain = 'the claim xms_edov is not true'
  const missing = 'the claim email_verified is missing'
  const [email, verified] = ['eve@example.com', { email_verified: true }]
  const eve = { sub: 'x', email, ...verified }
  const unknown = { ...eve, email_verified: undefined }
  test.each<[string, Person, string]>([
    ['another domain', { ...eve, email: 'eve@evil.example' }, noDomain],
    ['a domain below', { ...eve, email: 'eve@mail.example.com' }, noDomain],
    ['a domain that ends alike', { ...eve, email: 'eve@notexample.com' }, noDomain],
    ['two at signs', { ...eve, email: 'eve@example.com@evil.example' }, noDomain],
    ['an e-mail that is not verified', { ...eve, email_verified: false }, notVerified],
    ['an e-mail that the text says is not', { ...eve, email_verified: 'false' }, notVerified],
    ['an e-mail that only the user info verifies', { ...eve, idToken: { email, email_verified: false } }, notVerified],
    ['a domain that only the user info verifies', { ...eve, idToken: { email, xms_edov: false } }, otherDomain],
    ['both verifications', { ...eve, email_verified: false, xms_edov: true }, notVerified],
    ['a domain that is not verified', { ...unknown, xms_edov: 0 }, otherDomain],
    ['no e-mail', { sub: 'x', ...verified }, 'the claim email is missing'],
    ['an e-mail that the user info does not have', { ...eve, email: 'eve@evil.example', idToken: { email } }, missing],
    ['an e-mail that only the ID token has', { ...unknown, idToken: { email } }, missing],
    ['a verification without its e-mail', { ...unknown, idToken: verified }, missing],
    ['a group that is not configured', { sub: 'x', groups: ['gateway-admins'] }, 'the claim email is missing'],
  ])('from %s is rejected, and the reason names the claim', async (_what, person, reason) => {
    const browser = createNewBrowser()
    const text = expect.stringContaining(`you are not allowed to use this page: ${reason}.`)
    expect(await signInByProvider(browser, person)).toMatchObject({ status: 403, text })
    expect(browser.jar.has('__Host-session')).toBe(false)
    expect(await listPeople()).toEqual([])
    expect((await readRefusedSignIns())[0]?.reason).toBe(`openid: ${reason}`)
  })

  test.each([
    { email_verified: 'true' },
    { email_verified: 1 },
    ...[true, 'true', 1, '1'].map(xms_edov => ({ email_verified: undefined, xms_edov })),
    { email: 'ann@evil.example', idToken: { email: 'ann@example.com', email_verified: true } },
    { email: 'ann@example.com', idToken: { email: 'ann@example.com' } },
    { email: 'ann@example.com', email_verified: undefined, xms_edov: true, idToken: { email: 'ann@example.com' } },
  ])('with an e-mail that is verified in another form or place is accepted: %j', async claims => {
    expect((await signInByProvider(createNewBrowser(), { ...ann, ...claims })).status).toBe(200)
    expect(await listPeople()).toEqual([{ email: 'ann@example.com', hasOpenId: true }])
  })

  test('a person in one or several groups is accepted when one of the groups is allowed', async () => {
    for (const groups of ['gateway-admins', ['others', 'gateway-admins']]) {
      const page = await signInByProvider(createNewBrowser(byGroup), { ...ann, groups })
      expect(page.status).toBe(200)
    }
    for (const groups of ['gateway', ['gateway-admins-not'], [['gateway-admins']], { 'gateway-admins': true }, null]) {
      expect((await signInByProvider(createNewBrowser(byGroup), { ...ann, groups })).status).toBe(403)
      expect((await readRefusedSignIns())[0]?.reason).toBe('openid: the claim groups has no allowed group')
    }
    const neither = await signInByProvider(createNewBrowser(byEither), { sub: 'z' })
    expect(neither.text).toContain('the claim email is missing, and the claim groups is missing.')
  })

  test('a person is bound to the account with the same e-mail, and then no other person can be bound to that account', async () => {
    await createAccount(database, 'ann@example.com')
    expect((await signInByProvider(createNewBrowser(), ann)).status).toBe(200)
    expect(await listPeople()).toEqual([{ email: 'ann@example.com', hasOpenId: true }])
    // The binding adds a way to sign in to the account, so the audit has an entry.
    const bound = () => pool`select actor, detail from gateway.audit_entry where action = 'administrator.bind'`
    const detail = { email: 'ann@example.com', subject: `${provider.issuer} ann-1` }
    expect(await bound()).toEqual([{ actor: 'ann@example.com', detail }])
    expect((await signInByProvider(createNewBrowser(), ann)).status).toBe(200)
    expect(await bound()).toHaveLength(1)
    // After the binding, the subject identifies the person, even when the e-mail changes.
    expect((await signInByProvider(createNewBrowser(), { ...ann, email: 'ann.new@example.org' })).status).toBe(200)
    expect(await listPeople()).toHaveLength(1)
    const text = expect.stringContaining('belongs to another person')
    expect(await signInByProvider(createNewBrowser(), { ...ann, sub: 'ann-2' })).toMatchObject({ status: 403, text })
    expect((await readRefusedSignIns())[0]).toEqual({ actor: 'ann@example.com', reason: 'openid: account' })
  })

  test('a person is rejected by subject, e-mail and group after the removal of the account', async () => {
    const [bob, eve] = [
      { ...ann, sub: 'bob', email: 'bob@example.com' },
      { sub: 'eve', groups: 'gateway-admins' },
    ]
    await createAccount(database, bob.email)
    await signInByProvider(createNewBrowser(), ann)
    await signInByProvider(createNewBrowser(byGroup), eve)
    await pool`update gateway.administrator set removed_at = now()`
    for (const person of [ann, { ...ann, sub: 'ann-3' }, bob]) {
      expect((await signInByProvider(createNewBrowser(), person)).status).toBe(403)
    }
    for (const sub of ['eve', 'e'.repeat(255)])
      expect((await signInByProvider(createNewBrowser(byGroup), { ...eve, sub })).status).toBe(403)
    expect(await listPeople()).toEqual([])
  })

  test.each<[string, Omit<Person, 'sub'>]>([
    ['no e-mail', {}],
    ['an e-mail without a verification', { email: 'ann@example.com' }],
    ['an e-mail that is not verified', { email: 'ann@example.com', email_verified: false }],
    ['an e-mail whose domain is not verified', { email: 'ann@example.com', xms_edov: false }],
    ['an e-mail that is verified elsewhere', { email: 'ann@example.com', idToken: { email_verified: true } }],
  ])('in an allowed group with %s is bound only to the subject', async (_what, claims) => {
    await createAccount(database, 'ann@example.com')
    const eve = { sub: 'Eve@1', groups: 'gateway-admins', ...claims }
    for (const client of [byGroup, byEither])
      expect((await signInByProvider(createNewBrowser(client), eve)).status).toBe(200)
    expect(await listPeople()).toEqual([
      { email: 'ann@example.com', hasOpenId: false },
      { email: 'eve%401@127.0.0.1.invalid', hasOpenId: true },
    ])
    // A person with the same e-mail, verified, can still sign in to the account.
    expect((await signInByProvider(createNewBrowser(byGroup), { ...ann, groups: 'gateway-admins' })).status).toBe(200)
    expect(await listPeople()).toContainEqual({ email: 'ann@example.com', hasOpenId: true })
  })
})

test('a person who is removed during the sign-in is rejected', async () => {
  await signInByProvider(createNewBrowser(), ann)
  await createAccount(database)
  const browser = createNewBrowser()
  const path = await signInAtProvider(browser, ann)
  const [removed, entered] = await atOnce<unknown>(database.platform, 'gateway.administrator', [
    () => removeAdministrator(pool, tester, 'ann@example.com'),
    () => browser.get(path),
  ])
  expect(removed?.status).toBe('fulfilled')
  expect(entered).toMatchObject({ status: 'fulfilled', value: { status: 403 } })
  const sessions = await pool`
    select from gateway.session join gateway.administrator on id = administrator_id where email = 'ann@example.com'`
  expect(sessions).toHaveLength(0)
})

test('a failed callback counts as a wrong attempt of its address, and a successful sign-in does not count', async () => {
  const address = '10.7.7.7'
  const throttle = createLoginThrottle(pool)
  for (let attempt = 1; attempt < 20; attempt++) {
    await throttle.signIn({ name: `guess${attempt}@example.com`, address }, async () => null)
  }
  expect((await signInByProvider(createBrowser(byDomain.app, { origin, address }), ann)).status).toBe(200)
  const browser = createBrowser(byDomain.app, { origin, address })
  for (const status of [403, 429]) {
    await browser.get('/admin/login/openid')
    expect((await browser.get(`${callback}?code=x&state=y`)).status).toBe(status)
  }
})

describe('a callback is rejected', () => {
  test('when the callback comes from another browser, comes twice, has another state, or has an error of the provider', async () => {
    const browser = createNewBrowser()
    const path = await signInAtProvider(browser, ann)
    const text = expect.stringContaining('was started in another browser')
    expect(await createNewBrowser().get(path)).toMatchObject({ status: 403, text })
    const kept = browser.jar.get('__Host-openid') ?? ''
    expect((await browser.get(path)).status).toBe(200)
    browser.jar.set('__Host-openid', kept)
    expect((await browser.get(path)).status).toBe(403)

    const victim = createNewBrowser()
    await victim.get('/admin/login/openid')
    expect((await victim.get(await signInAtProvider(createNewBrowser(), ann))).status).toBe(403)
    expect((await signInByProvider(createNewBrowser(), null)).text).toContain('Your organisation did not sign you in.')
    const broken = createNewBrowser()
    broken.jar.set('__Host-openid', 'nonsense')
    expect((await broken.get(`${callback}?code=x&state=y`)).status).toBe(403)
    expect(await listPeople()).toHaveLength(1)
  })

  test('when the callback lacks the state, the nonce or the verifier', async () => {
    for (const name of ['state', 'nonce', 'verifier']) {
      const browser = createNewBrowser()
      const path = await signInAtProvider(browser, ann)
      changeStateCookie(browser, { [name]: 'A'.repeat(43) })
      expect((await browser.get(path)).status).toBe(403)
    }
    expect(await listPeople()).toEqual([])
  })
})

describe('the ID token', async () => {
  const { lines, log } = collectLog()
  const logged = await createApp(database, { ...environment, OIDC_DOMAINS: 'example.com', LOG_LEVEL: 'trace' }, log)
  const other = createSigningKey(provider.key.publicJwk.kid)
  const now = () => Math.floor(Date.now() / 1000)

  /** Makes the provider answer with an ID token that `change` returns for the original token. */
  const answerWith = (change: (token: ReturnType<typeof readJwt>, text: string) => string) =>
    provider.answer('/token', body => {
      const text = String(body.id_token)
      return { ...body, id_token: change(readJwt(text), text) }
    })
  type Change = Parameters<typeof answerWith>[0]
  const withHeader =
    (header: object, key: Parameters<typeof writeJwt>[1]): Change =>
    token =>
      writeJwt({ header: { ...token.header, ...header }, claims: token.claims }, key)
  const withClaims =
    (claims: () => object): Change =>
    token =>
      writeJwt({ header: token.header, claims: { ...token.claims, ...claims() } }, provider.key.privateKey)

  test.each<[string, Change]>([
    ['that another key has signed, under the same kid', withHeader({}, other.privateKey)],
    ['without a signature', (_, text) => text.replace(/[^.]*$/, '')],
    ['that has expired', withClaims(() => ({ exp: now() - 301, iat: now() - 400 }))],
    ['that is issued later than now', withClaims(() => ({ iat: now() + 330 }))],
    ['that is issued before the sign-in', withClaims(() => ({ iat: now() - 901 }))],
    ['whose person is authenticated later than now', withClaims(() => ({ auth_time: now() + 330 }))],
    ['for another client', withClaims(() => ({ aud: 'another' }))],
    ['of another issuer', withClaims(() => ({ iss: 'https://evil.example' }))],
    ['of another sign-in', withClaims(() => ({ nonce: 'another' }))],
    ['with another subject than the user info', withClaims(() => ({ sub: 'somebody-else' }))],
  ])('%s is rejected with 403 and an audit entry', async (_what, change) => {
    const browser = createNewBrowser(logged)
    const path = await signInAtProvider(browser, ann)
    answerWith(change)
    const before = (await readRefusedSignIns()).length
    const page = await browser.get(path)
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('Your organisation did not sign you in.')])
    expect(browser.jar.has('__Host-session')).toBe(false)
    expect(await listPeople()).toEqual([])
    const entries = await readRefusedSignIns()
    expect(entries).toHaveLength(before + 1)
    expect(entries[0]).toEqual({ actor: 'no e-mail', reason: 'openid: provider' })
    const written = lines().filter(({ msg }) => msg === 'sign-in through the OpenID provider failed')
    expect(written.at(-1)).toMatchObject({ level: 30, reqId: expect.any(String) })
  })

  test.each<[string, Change]>([
    ['made like the rejected ones, but unchanged', withClaims(() => ({}))],
    ['that expired minutes ago, by our clock', withClaims(() => ({ exp: now() - 270 }))],
    ['that is issued in some minutes, by our clock', withClaims(() => ({ iat: now() + 270, nbf: now() + 270 }))],
    ['that is as old as the sign-in', withClaims(() => ({ iat: now() - 870, auth_time: 1 }))],
  ])('%s is accepted', async (_what, change) => {
    const browser = createNewBrowser()
    const path = await signInAtProvider(browser, ann)
    answerWith(change)
    expect((await browser.get(path)).status).toBe(200)
  })

  test('is accepted when the new key of the provider signed it, and rejected when the former key signed it', async () => {
    expect((await signInByProvider(createNewBrowser(), ann)).status).toBe(200)
    const next = createSigningKey('next')
    provider.answer('/jwks', () => ({ keys: [next.publicJwk] }))
    answerWith(withHeader({ kid: 'next' }, next.privateKey))
    expect((await signInByProvider(createNewBrowser(), ann)).status).toBe(200)
    // The provider still signs with its former key, which it no longer publishes.
    answerWith((_, text) => text)
    expect((await signInByProvider(createNewBrowser(), ann)).status).toBe(403)
  })

  test.each([
    '',
    '/',
  ])('is accepted when OIDC_ISSUER ends with "%s" and its issuer differs only in the slash at the end', async end => {
    const configured = `${provider.issuer}/of/shop${end}`
    const issuer = `${provider.issuer}/of/shop${end ? '' : '/'}`
    const client = await createApp(database, { ...environment, OIDC_ISSUER: configured, OIDC_DOMAINS: 'example.com' })
    provider.answer('/.well-known/openid-configuration', body => ({ ...body, issuer }))
    answerWith(withClaims(() => ({ iss: issuer })))
    const browser = createNewBrowser(client)
    const back = (await signInAtProvider(browser, ann)).replace(/(?<=[?&]iss=)[^&]*/, encodeURIComponent(issuer))
    expect((await browser.get(back)).status).toBe(200)
  })

  test('is rejected with a remedy when the provider leaves groups out because there are too many', async () => {
    const browser = createNewBrowser(byGroup)
    const path = await signInAtProvider(browser, ann)
    answerWith(withClaims(() => ({ _claim_names: { groups: 'src1' } })))
    expect((await browser.get(path)).text).toContain(
      'the claim groups is left out, because it has too many values (_claim_names): configure the provider to send only the',
    )
  })

  test.each([
    [byDomain, { email: 'ann@example.com', email_verified: true }, [403, 502], 200],
    [byGroup, { groups: 'gateway-admins' }, [403, 502], 200],
    [byGroup, {}, [401, 403], 403],
    [byGroup, {}, [429, 502], 503],
  ])('suffices when the provider refuses user info, or else the error names the missing claim: %#', async (client, idToken, answers, status) => {
    for (const answer of answers) {
      provider.answer('/me', () => answer)
      const page = await signInByProvider(createNewBrowser(client), { sub: `ann-${status}`, idToken })
      expect([answer, page.status]).toEqual([answer, status])
      if (status === 403) expect(page.text).toContain('the claim groups is missing')
    }
  })

  test.each<Parameters<typeof provider.answer>>([
    ['/.well-known/openid-configuration', () => 404],
    ['/.well-known/openid-configuration', body => ({ ...body, issuer: 'https://another.example' })],
    ['/token', () => 401],
  ])('answers 500 and not to try again when %s will never do', async (path, answer) => {
    const browser = createNewBrowser()
    const back = await signInAtProvider(browser, ann)
    provider.answer(path, answer)
    const page = await browser.get(back)
    expect([page.status, page.headers['retry-after']]).toEqual([500, undefined])
    expect(page.text).toContain('The operator finds the cause with `voucher-gateway doctor`.')
  })

  test.each<[string, Change]>([
    ['that is not signed', withHeader({ alg: 'none' }, '')],
    ['that is signed with the client secret', withHeader({ alg: 'HS256' }, 'a-secret-of-the-client')],
    [
      'that is signed with the public key as a secret',
      withHeader({ alg: 'HS256' }, provider.key.publicKey.export({ type: 'spki', format: 'pem' })),
    ],
  ])('%s is rejected with 500, whatever the provider says it signs with', async (_what, change) => {
    for (const id_token_signing_alg_values_supported of [['RS256', 'HS256', 'none'], ['RS256'], undefined]) {
      const browser = createNewBrowser()
      const path = await signInAtProvider(browser, ann)
      answerWith(change)
      provider.answer('/.well-known/openid-configuration', body => ({ ...body, id_token_signing_alg_values_supported }))
      expect([(await browser.get(path)).status, browser.jar.has('__Host-session')]).toEqual([500, false])
    }
  })

  test.each([
    ['/.well-known/openid-configuration', 500],
    ['/token', 500],
    ['/jwks', 500],
    ['/me', 403],
  ])('the service answers 503 when %s gives an error, and reads little of an answer that does not end', async (path, status) => {
    const browser = createNewBrowser()
    const back = await signInAtProvider(browser, ann)
    provider.answer(path, () => 'Bad gateway')
    const page = await browser.get(back)
    expect([page.status, page.headers['retry-after']]).toEqual([503, '30'])
    let sent = 0
    const other = createNewBrowser()
    provider.answerAsUsual()
    const again = await signInAtProvider(other, ann)
    provider.answer(path, () => Readable.from(endless(() => sent++)))
    expect((await other.get(again)).status).toBe(status)
    expect(sent).toBeLessThan(50)
    expect(await listPeople()).toEqual([])
  })
})

const createFetchError = (code: string) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(), { code }) })
const createErrorBody = (error: string, status: number) =>
  new ResponseBodyError('', { cause: { error }, response: new Response(null, { status }) })
const createErrorAnswer = (error: string) =>
  new AuthorizationResponseError('', { cause: new URLSearchParams({ error }) })

test.each<[ReturnType<typeof failureKindOf>, Error[]]>([
  ['temporary', [createErrorBody('slow_down', 429), createErrorBody('temporarily_unavailable', 400)]],
  ['temporary', [createErrorAnswer('temporarily_unavailable'), ...['ECONNREFUSED', 'EAI_AGAIN'].map(createFetchError)]],
  ['invalid', [createErrorAnswer('access_denied'), createErrorBody('invalid_grant', 400)]],
  ['refused', [createErrorBody('invalid_client', 401), ...['ENOTFOUND', 'CERT_HAS_EXPIRED'].map(createFetchError)]],
  ['refused', ['ERR_TLS_CERT_ALTNAME_INVALID', 'SELF_SIGNED_CERT_IN_CHAIN'].map(createFetchError)],
])('a failure is %s', (kind, failures) => {
  expect(failures.map(failureKindOf)).toEqual(failures.map(() => kind))
})

test('the callback validates the requested page again', async () => {
  const browser = createNewBrowser()
  const path = await signInAtProvider(browser, ann)
  changeStateCookie(browser, { next: 'https://evil.example/admin/tokens' })
  expect((await browser.get(path)).headers.refresh).toBe('0;url=/admin/tokens')
})

test('a provider that is down gives 503, passwords keep working, and a later sign-in succeeds', async () => {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const client = await createApp(database, { ...environment, OIDC_ISSUER: issuer, OIDC_DOMAINS: 'example.com' })
  await createAccount(database)
  const browser = createNewBrowser(client)
  const page = await browser.get('/admin/login/openid')
  expect(page).toMatchObject({ status: 503, text: expect.stringContaining('or sign in with a password') })
  expect((await browser.submit('/admin/login', root)).status).toBe(303)

  const back = createServer((_request, response) => {
    const authorization_endpoint = `${issuer}/authorize`
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ issuer, authorization_endpoint }))
  })
  await new Promise<void>(resolve => back.listen(port, '127.0.0.1', resolve))
  expect((await createNewBrowser(client).get('/admin/login/openid')).status).toBe(303)
  await new Promise(resolve => back.close(resolve))
})
