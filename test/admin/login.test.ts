import { describe, expect, test } from 'vitest'
import { createAdministrator } from '../../src/domain/administrator/administrator-password.ts'
import { hashPassword } from '../../src/domain/administrator/password.ts'
import { createApp } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { startService } from '../support/service.ts'
import { createAccount, createBrowser, root, signIn } from './support.ts'

const { database, client } = await startService()
await createAccount(database)

/** Returns a browser with a new address, so that each test has its own number of sign-in attempts. */
let addressCount = 0
const createStranger = (app = client.app) => createBrowser(app, { address: `127.1.0.${++addressCount}` })

/** Reads the audit entries about sign-ins, newest first. */
const readSignInEntries = (actor: string) => database.pool<
  { action: string; detail: { reason?: string }; address: string }[]
>`
  select action, detail, address from gateway.audit_entry where actor = ${actor} order by id desc`

describe('the sign-in', () => {
  test('accepts the e-mail in any case, and redirects to the requested page', async () => {
    const browser = createStranger()
    const turned = await browser.get('/admin/audit?from=1')
    expect(turned.status).toBe(303)
    const answer = await browser.submit(turned.location ?? '', { email: ' ROOT@example.com ', password: root.password })
    expect(answer).toMatchObject({ status: 303, location: '/admin/audit?from=1' })
    expect((await browser.get('/admin/account')).text).toContain(root.email)
    const [entry] = await readSignInEntries(root.email)
    expect(entry).toMatchObject({ action: 'administrator.sign_in', detail: { means: 'password' } })
    expect(await browser.get('/admin/login')).toMatchObject({ status: 303, location: '/admin/tokens' })
  })

  test('redirects to the first page when `next` is another site, or a path of more than 2,000 characters', async () => {
    const longest = `/admin/audit?actor=${'a'.repeat(1_981)}`
    const signIn = async (next: string) =>
      (await createStranger().submit('/admin/login', { email: root.email, password: root.password, next })).location
    expect(await signIn(longest)).toBe(longest)
    for (const next of [
      ...['//evil.example/admin', 'https://evil.example/admin/tokens', '/\\evil.example/admin'],
      ...['/admin/..//evil.example', '/administrator', '/graphiql', 'javascript:alert(1)', '/admin\r\nX-Evil: 1', ' '],
      ...[`${longest}a`, longest.repeat(25), `//${'\u4e00\u5345'.repeat(3_000)}`, `//a${'\u0300\u0323'.repeat(3_000)}`],
    ]) {
      expect(await signIn(next), next.slice(0, 100)).toBe('/admin/tokens')
    }
  })

  test('accepts a password in either Unicode normal form, and rejects one of more than 2,000 UTF-16 units', async () => {
    const composed = '\u1eaf'.repeat(200)
    // The NFKC form of this character is 18 times as long.
    const ligatures = '\ufdfa'.repeat(150)
    const email = (name: string) => `${name}@example.com`
    await createAdministrator(database.pool, tester, email('composed'), composed)
    await createAdministrator(database.pool, tester, email('ligatures'), ligatures)
    for (const [name, password, status] of [
      ['composed', composed, 303],
      ['composed', composed.normalize('NFD'), 303],
      ['composed', `${composed} `, 422],
      ['ligatures', ligatures, 303],
      ['ligatures', ligatures.normalize('NFKC'), 422],
      ['ligatures', `a${'\u0300\u0323'.repeat(5_000)}`, 422],
    ] as const) {
      const answer = await createStranger().submit('/admin/login', { email: email(name), password })
      expect([name, password.length, answer.status]).toEqual([name, password.length, status])
    }
  })

  test('reads a form of up to 128 KiB', async () => {
    for (const [length, status] of [
      [127 * 1024, 422],
      [128 * 1024, 413],
    ] as const)
      expect((await createStranger().submit('/admin/login', { email: 'a'.repeat(length) })).status).toBe(status)
  })

  test('gives the same answer after the same work for a wrong password, an unknown e-mail and a text that is no e-mail', async () => {
    const tries = [
      { email: root.email, password: 'not this one, surely' },
      { email: 'nobody@example.com', password: root.password },
      { email: 'no e-mail at all', password: root.password },
    ]
    const said = []
    for (const fields of tries) {
      const browser = createStranger()
      const answer = await browser.submit('/admin/login', fields)
      expect(answer.status).toBe(422)
      expect(answer.cookies.join()).not.toContain('session=')
      expect(answer.html).not.toContain(fields.password)
      said.push(answer.text)
    }
    expect(new Set(said).size).toBe(1)
    expect(said[0]).toContain('The e-mail or the password is wrong.')
    expect((await readSignInEntries('nobody@example.com'))[0]).toMatchObject({
      action: 'administrator.sign_in_refused',
    })
    // The audit does not store a text that is no e-mail, because the text may be a password.
    expect(await readSignInEntries('no e-mail at all')).toEqual([])

    const began = performance.now()
    await createStranger().submit('/admin/login', { email: 'nobody1@example.com', password: 'not this one, surely' })
    expect(performance.now() - began).toBeGreaterThan(10)
  })
})

describe('the limits', () => {
  test('allow five wrong attempts per account from all addresses, and then reject even the right password', async () => {
    const app = await createApp(database)
    const fields = { email: 'limited@example.com', password: 'wrong wrong wrong' }
    await createAccount(database, fields.email)
    for (let attempt = 0; attempt < 5; attempt++) {
      expect((await createStranger(app.app).submit('/admin/login', fields)).status).toBe(422)
    }
    const rejected = await createStranger(app.app).submit('/admin/login', { ...fields, password: root.password })
    expect(rejected).toMatchObject({ status: 429, text: expect.stringContaining('Try again in 15 minutes.') })
    expect(Number(rejected.headers['retry-after'])).toBeGreaterThan(800)
    // The audit records each wrong attempt, and the first attempt over the limit.
    const entries = await readSignInEntries(fields.email)
    expect(entries.map(entry => entry.detail.reason)).toEqual(['too many attempts', ...Array(5).fill('wrong password')])
    const others = await createStranger(app.app).submit('/admin/login', { email: root.email, password: root.password })
    expect(others.status).toBe(303)
  })

  test('are reset for an account when the right password is entered', async () => {
    const app = await createApp(database)
    const [wrong, right] = ['wrong wrong wrong', root.password]
    for (const password of [wrong, wrong, wrong, wrong, right, wrong, wrong, wrong, wrong, right]) {
      const answer = await createStranger(app.app).submit('/admin/login', { email: root.email, password })
      expect(answer.status).toBe(password === right ? 303 : 422)
    }
  })
})

test('sign-ins beyond the limit of concurrent password checks get 503', async () => {
  const app = await createApp(database)
  const forms = Array.from({ length: 40 }, async (_, index) => {
    const browser = createStranger(app.app)
    const form = await browser.load('/admin/login', { email: `flood${index}@example.com`, password: 'wrong wrong' })
    return () => browser.send(form)
  })
  const answers = await Promise.all((await Promise.all(forms)).map(send => send()))
  const away = answers.filter(({ status }) => status === 503)
  expect(answers.filter(({ status }) => status === 422)).toHaveLength(40 - away.length)
  // On a slow machine some checks reach the deadline, which gives 503 too.
  const refused = away.filter(({ text }) => text.includes('Too many passwords are being checked. Try again in a few'))
  expect(refused.length).toBeGreaterThan(0)
  expect(refused[0]?.headers['retry-after']).toBe('5')
  // A check continues after the deadline of its request. Without this wait, the check would delay the sign-ins of the
  // next tests.
  await hashPassword(root.password)
})

test('signing out ends the session and deletes its cookie', async () => {
  const browser = await signIn(client, database, { address: '127.2.0.1' })
  const cookie = browser.jar.get('vgw-session') ?? ''
  const answer = await browser.submit('/admin/account', {}, { action: '/admin/logout' })
  expect(answer).toMatchObject({ status: 303, location: '/admin/login?because=out' })
  expect(browser.jar.has('vgw-session')).toBe(false)
  expect((await browser.get(answer.location ?? '')).text).toContain('You are signed out.')
  browser.jar.set('vgw-session', cookie)
  expect((await browser.get('/admin/account')).status).toBe(303)
  expect((await readSignInEntries(root.email))[0]?.action).toBe('administrator.sign_out')
  expect((await browser.submit('/admin/login?because=<b>', { email: 'x@y.z' })).status).toBe(422)
})
