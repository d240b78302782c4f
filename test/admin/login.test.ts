import { describe, expect, test } from 'vitest'
import { createAdministrator } from '../../src/domain/administrator/administrator-password.ts'
import { hashPassword } from '../../src/domain/administrator/password.ts'
import { createApp } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { startService } from '../support/service.ts'
import { createAccount, createBrowser, root, signIn } from './support.ts'

const { database, client } = await startService()
await createAccount(database)

/** A browser from an address of its own, so that tests do not spend each other's attempts. */
let addresses = 0
const stranger = (app = client.app) => createBrowser(app, { address: `127.1.0.${++addresses}` })

/** The entries of the audit about signing in, newest first. */
const audited = (actor: string) => database.pool<{ action: string; detail: { reason?: string }; address: string }[]>`
  select action, detail, address from gateway.audit_entry where actor = ${actor} order by id desc`

describe('the sign-in', () => {
  test('accepts the e-mail in any case, and redirects to the requested page', async () => {
    const browser = stranger()
    const turned = await browser.get('/admin/audit?from=1')
    expect(turned.status).toBe(303)
    const answer = await browser.submit(turned.location ?? '', { email: ' ROOT@example.com ', password: root.password })
    expect(answer).toMatchObject({ status: 303, location: '/admin/audit?from=1' })
    expect((await browser.get('/admin/account')).text).toContain(root.email)
    expect((await audited(root.email))[0]).toMatchObject({
      action: 'administrator.sign_in',
      detail: { means: 'password' },
    })
    expect(await browser.get('/admin/login')).toMatchObject({ status: 303, location: '/admin/tokens' })
  })

  test.each([
    '//evil.example/admin',
    'https://evil.example/admin/tokens',
    '/\\evil.example/admin',
    '/admin/..//evil.example',
    '/administrator',
    '/graphiql',
    'javascript:alert(1)',
    '/admin\r\nX-Evil: 1',
    ' ',
  ])('does not redirect to other sites: next=%j', async next => {
    const answer = await stranger().submit('/admin/login', { email: root.email, password: root.password, next })
    expect(answer).toMatchObject({ status: 303, location: '/admin/tokens' })
  })

  test('redirects to the first page instead of a path of more than 2,000 characters', async () => {
    const home = '/admin/tokens'
    for (const [next, location] of [
      [`/admin/audit?actor=${'a'.repeat(1_981)}`, `/admin/audit?actor=${'a'.repeat(1_981)}`],
      [`/admin/audit?actor=${'a'.repeat(1_982)}`, home],
      [`/admin/audit?actor=${'a'.repeat(50_000)}`, home],
      [`//${'\u4e00\u5345'.repeat(3_000)}`, home],
      [`//a${'\u0300\u0323'.repeat(3_000)}`, home],
    ] as const) {
      const answer = await stranger().submit('/admin/login', { email: root.email, password: root.password, next })
      expect(answer).toMatchObject({ status: 303, location })
    }
  })

  test('compares a password in either normal form, and none of more than 2,000 units', async () => {
    const composed = '\u1eaf'.repeat(200)
    // Its normal form is 18 times as long.
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
      const answer = await stranger().submit('/admin/login', { email: email(name), password })
      expect([name, password.length, answer.status]).toEqual([name, password.length, status])
    }
  })

  test('reads a form of up to 128 KiB', async () => {
    const browser = stranger()
    const form = await browser.load('/admin/login', { email: '' })
    const send = (length: number) => {
      const fields = new URLSearchParams(form.fields)
      fields.set('email', 'a'.repeat(length - fields.toString().length))
      return browser.post('/admin/login', fields)
    }
    expect((await send(128 * 1024)).status).not.toBe(413)
    const answer = await send(128 * 1024 + 1)
    expect(answer.status).toBe(413)
    expect(answer.text).toContain('The request body is too large.')
  })

  test('gives one answer, after the same work, to a wrong password, an unknown e-mail and a text that is no e-mail', async () => {
    const tries = [
      { email: root.email, password: 'not this one, surely' },
      { email: 'nobody@example.com', password: root.password },
      { email: 'no e-mail at all', password: root.password },
    ]
    const said = []
    for (const fields of tries) {
      const browser = stranger()
      const answer = await browser.submit('/admin/login', fields)
      expect(answer.status).toBe(422)
      expect(answer.cookies.join()).not.toContain('session=')
      expect(answer.html).toContain(`value="${fields.email}"`)
      expect(answer.html).not.toContain(fields.password)
      said.push(answer.text)
    }
    expect(new Set(said).size).toBe(1)
    expect(said[0]).toContain('The e-mail or the password is wrong.')
    expect((await audited('nobody@example.com'))[0]).toMatchObject({
      action: 'administrator.sign_in_refused',
      detail: { reason: 'wrong password' },
    })
    // Text in the wrong field may be a password.
    expect(await audited('no e-mail at all')).toEqual([])

    const time = async (email: string) => {
      const began = performance.now()
      await stranger().submit('/admin/login', { email, password: 'not this one, surely' })
      return performance.now() - began
    }
    const known = Math.min(await time('nobody1@example.com'), await time('nobody2@example.com'))
    expect(known).toBeGreaterThan(10)
  })

  test('names the missing field', async () => {
    const browser = stranger()
    expect((await browser.submit('/admin/login', { password: 'x' })).text).toContain('Give your e-mail.')
    expect((await browser.submit('/admin/login', { email: 'a@b.c' })).text).toContain('Give your password.')
  })
})

describe('the limits', () => {
  test('allow five wrong attempts for an account from all addresses, then not even the right password', async () => {
    const app = await createApp(database)
    const fields = { email: 'limited@example.com', password: 'wrong wrong wrong' }
    await createAccount(database, fields.email)
    for (let attempt = 0; attempt < 5; attempt++) {
      expect((await stranger(app.app).submit('/admin/login', fields)).status).toBe(422)
    }
    const rejected = await stranger(app.app).submit('/admin/login', { ...fields, password: root.password })
    expect(rejected.status).toBe(429)
    expect(Number(rejected.headers['retry-after'])).toBeGreaterThan(800)
    expect(Number(rejected.headers['retry-after'])).toBeLessThanOrEqual(900)
    expect(rejected.text).toContain('Try again in 15 minutes.')
    expect((await stranger(app.app).submit('/admin/login', fields)).status).toBe(429)
    // Each wrong attempt is recorded, and the first over the limit.
    const entries = await audited(fields.email)
    expect(entries.map(entry => entry.detail.reason)).toEqual(['too many attempts', ...Array(5).fill('wrong password')])
    const others = await stranger(app.app).submit('/admin/login', { email: root.email, password: root.password })
    expect(others.status).toBe(303)
  })

  test('are reset for the account by a right password', async () => {
    const app = await createApp(database)
    const browser = stranger(app.app)
    const wrong = { email: root.email, password: 'wrong wrong wrong' }
    for (let round = 0; round < 2; round++) {
      for (let attempt = 0; attempt < 4; attempt++) {
        expect((await browser.submit('/admin/login', wrong)).status).toBe(422)
      }
      expect((await browser.submit('/admin/login', { ...wrong, password: root.password })).status).toBe(303)
      browser.jar.clear()
    }
  })
})

test('a flood of sign-ins is answered 503 beyond the limit of concurrent checks', async () => {
  const app = await createApp(database)
  const browsers = Array.from({ length: 40 }, () => stranger(app.app))
  const forms = await Promise.all(
    browsers.map((browser, index) =>
      browser.load('/admin/login', { email: `flood${index}@example.com`, password: 'wrong wrong wrong' }),
    ),
  )
  const answers = await Promise.all(browsers.map((browser, index) => browser.send(forms[index]!)))
  const away = answers.filter(({ status }) => status === 503)
  expect(answers.filter(({ status }) => status === 422)).toHaveLength(40 - away.length)
  // On a slow machine some of the checks reach the deadline, which is 503 too.
  const refused = away.filter(({ text }) => text.includes('Too many passwords are being checked. Try again in a few'))
  expect(refused.length).toBeGreaterThan(0)
  expect(refused[0]?.headers['retry-after']).toBe('5')
  // Checks whose requests reached the deadline go on, and would delay the sign-ins of the next tests.
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
  expect((await audited(root.email))[0]?.action).toBe('administrator.sign_out')
  expect((await browser.submit('/admin/login?because=<b>', { email: 'x@y.z' })).status).toBe(422)
})
