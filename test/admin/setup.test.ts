import { beforeEach, describe, expect, test } from 'vitest'
import { listAdministrators, removeAdministrator } from '../../src/domain/administrator/administrator.ts'
import { createAdministrator } from '../../src/domain/administrator/administrator-password.ts'
import {
  acceptInvitation,
  findInvitation,
  inviteAdministrator,
  inviteFirstAdministrator,
} from '../../src/domain/administrator/invitation.ts'
import { verifyOpenIdAdministrator } from '../../src/domain/administrator/openid.ts'
import { countCalls, unlessKept } from '../graphql/statements.ts'
import { createApp } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { startService } from '../support/service.ts'
import { atOnce } from './contention.ts'
import { createAccount, createBrowser, root, signIn } from './support.ts'

const { database, client } = await startService()
const { pool } = database

beforeEach(async () => {
  await database.platform`delete from gateway.administrator`
  await database.platform`delete from gateway.invitation`
})

const pathOf = (secret: string | null) => `/admin/setup/${secret}`
const rootActor = { name: root.email, address: '127.0.0.1' }
const chosen = { password: root.password, again: root.password }
const emails = async () => (await listAdministrators(pool)).map(({ email }) => email)
const acts = () => pool<{ actor: string; action: string }[]>`
  select actor, action, address from gateway.audit_entry order by id desc limit 2`

describe('the sign-in without an administrator', () => {
  const notice = 'There is no administrator yet'
  const command = 'npm run cli -- admin create --email you@example.com'
  const signInPages = ['/admin/login', '/admin/login?because=out', '/admin/login?next=%2Fadmin%2Faudit']

  test('explains how to create the first one, also after the last one is removed', async () => {
    const browser = createBrowser(client.app)
    const { location = '' } = await browser.get('/admin')
    for (const path of [location, ...signInPages]) {
      const { status, text } = await browser.get(path)
      expect(status).toBe(200)
      expect(text).toContain(notice)
      expect(text).toContain(command)
      expect(text).toContain('docker run')
      expect(text).not.toContain('your organisation')
    }
    const rejected = await browser.submit('/admin/login', root)
    expect(rejected.status).toBe(422)
    expect(rejected.text).toContain(command)

    await createAccount(database)
    for (const path of signInPages) expect((await browser.get(path)).text).not.toContain('no administrator')
    const wrong = await browser.submit('/admin/login', { ...root, password: 'not the right one' })
    expect(wrong.text).not.toContain('no administrator')

    await database.platform`update gateway.administrator set removed_at = now()`
    expect((await browser.get('/admin/login')).text).toContain(notice)
  })

  test('shows no pending link', async () => {
    const secret = await inviteFirstAdministrator(pool, tester)
    const { html } = await createBrowser(client.app).get('/admin/login')
    expect(html).toContain(notice)
    expect(html).not.toContain(secret)
  })

  test('names the OpenID provider where one is configured, until an account is created through it', async () => {
    const openId = await createApp(database, {
      PUBLIC_URL: 'http://localhost:8080',
      OIDC_ISSUER: 'http://localhost:1',
      OIDC_CLIENT_ID: 'gateway',
      OIDC_CLIENT_SECRET: 'secret',
      OIDC_DOMAINS: 'example.com',
    })
    const browser = createBrowser(openId.app)
    expect((await browser.get('/admin/login')).text).toContain('Or sign in with your organisation.')
    await verifyOpenIdAdministrator(pool, tester, {
      subject: 'issuer 1',
      email: 'ann@example.com',
      name: 'ann@example.com',
    })
    expect((await browser.get('/admin/login')).text).not.toContain('no administrator')
  })

  test('costs one statement', async () => {
    const calls = await countCalls(database, () => createBrowser(client.app).get('/admin/login'))
    expect(unlessKept(calls)).toEqual({ 'administrator.exists': 1 })
  })
})

describe('the link of the first administrator', () => {
  test('creates the administrator, signs in, and works once', async () => {
    const path = pathOf(await inviteFirstAdministrator(pool, tester))
    const browser = createBrowser(client.app)
    expect((await browser.get(path)).text).toContain('Set up the first administrator')
    const answer = await browser.submit(path, { email: ' Root@Example.com', ...chosen })
    expect(answer).toMatchObject({ status: 303, location: '/admin/tokens' })
    expect((await browser.get('/admin/account')).text).toContain('root@example.com')
    expect(await acts()).toEqual([
      { actor: root.email, action: 'administrator.sign_in', address: '127.0.0.1' },
      { actor: root.email, action: 'administrator.create', address: '127.0.0.1' },
    ])
    const [invited] = await pool`
      select actor, detail from gateway.audit_entry where action = 'administrator.invite' order by id desc limit 1`
    expect(invited).toEqual({ actor: tester.name, detail: { reason: 'there is no administrator' } })
    const again = await createBrowser(client.app).get(path)
    expect(again.status).toBe(404)
    expect(again.text).toContain('This link is not valid')
    expect((await createBrowser(client.app).submit('/admin/login', root)).status).toBe(303)
  })

  test('shows errors at the fields, and works afterwards', async () => {
    const path = pathOf(await inviteFirstAdministrator(pool, tester))
    const browser = createBrowser(client.app)
    const mistakes: [Record<string, string>, string][] = [
      [{ email: 'nobody', ...chosen }, 'Give an e-mail, such as ann@example.com.'],
      [{ email: 'a@b.c', password: 'elevenchars', again: 'elevenchars' }, 'at least 12 characters'],
      [{ email: 'a@b.c', password: 'x'.repeat(201), again: 'x'.repeat(201) }, 'at most 200 characters'],
      [{ email: 'a@b.c', password: root.password, again: `${root.password}!` }, 'The two passwords are not the same.'],
      [
        { email: 'long.enough@example.com', password: 'Long.Enough@example.com', again: 'Long.Enough@example.com' },
        'not your e-mail',
      ],
      [{ email: 'nul\0@example.com', ...chosen }, 'Give an e-mail, such as ann@example.com.'],
    ]
    for (const [fields, sentence] of mistakes) {
      const answer = await browser.submit(path, fields)
      expect(answer.status).toBe(422)
      expect(answer.text).toContain(sentence)
      expect(answer.html).not.toContain(`value="${fields.password}"`)
    }
    expect((await browser.submit(path, { email: root.email, ...chosen })).status).toBe(303)
  })

  /** Fills in the form of a link; what is returned posts it. */
  async function fill(path: string, fields: Record<string, string>) {
    const browser = createBrowser(client.app)
    const form = await browser.load(path, { ...chosen, ...fields })
    return () => browser.send(form)
  }

  test.each([
    ['three posts', 1],
    ['the posts of three links', 3],
  ])('creates one account from %s at the same time', async (_, links) => {
    const paths: string[] = []
    for (let link = 0; link < links; link++) paths.push(pathOf(await inviteFirstAdministrator(pool, tester)))
    const names = ['one@example.com', 'two@example.com', 'three@example.com']
    const posts = await Promise.all(names.map((email, index) => fill(paths[index % links] ?? '', { email })))
    const outcomes = await atOnce(database.platform, 'gateway.invitation', posts)
    const statuses = outcomes.map(outcome => (outcome.status === 'fulfilled' ? outcome.value.status : 0))
    expect(statuses.sort()).toEqual([303, 404, 404])
    expect(await emails()).toHaveLength(1)
  })

  test('stays valid after a newer one, and is invalid after 24 hours or once an administrator exists', async () => {
    const old = await inviteFirstAdministrator(pool, tester)
    expect(
      await pool`select 1 from gateway.invitation where expires_at = created_at + interval '24 hours'`,
    ).toHaveLength(1)
    await database.platform`update gateway.invitation set created_at = now() - interval '25 hours', expires_at = now() - interval '1 second'`
    expect((await createBrowser(client.app).get(pathOf(old))).status).toBe(404)

    const first = await inviteFirstAdministrator(pool, tester)
    const newer = await inviteFirstAdministrator(pool, tester)
    const browser = createBrowser(client.app)
    expect((await browser.get(pathOf(first))).status).toBe(200)
    // An expired link does not void the others either.
    expect(await acceptInvitation(pool, rootActor, old ?? '', { email: null }, root.password)).toBeNull()
    const form = await browser.load(pathOf(newer), { email: root.email, ...chosen })
    await createAccount(database, 'sooner@example.com')
    expect((await browser.send(form)).status).toBe(404)
    expect((await browser.get(pathOf(first))).status).toBe(404)
    expect(await inviteFirstAdministrator(pool, tester)).toBeNull()
    expect(await emails()).toEqual(['sooner@example.com'])
  })

  test('stays valid after a wrong link is used', async () => {
    const path = pathOf(await inviteFirstAdministrator(pool, tester))
    const browser = createBrowser(client.app)
    const form = await browser.load(path, { email: root.email, ...chosen })
    expect((await browser.post(pathOf('A'.repeat(43)), form.fields)).status).toBe(404)
    const wrong = await acceptInvitation(pool, rootActor, 'A'.repeat(43), { email: null }, root.password)
    expect(wrong).toBeNull()
    expect((await browser.send(form)).status).toBe(303)
  })

  test('is stored as a hash', async () => {
    const secret = await inviteFirstAdministrator(pool, tester)
    expect(secret).toMatch(/^[\w-]{43}$/)
    const [row] = await pool<{ text: string }[]>`select invitation::text as text from gateway.invitation`
    expect(row?.text).not.toContain(secret)
    expect(await findInvitation(pool, secret ?? '')).toEqual({ email: null })
  })
})

describe('the link of an account', () => {
  test('resets a lost password, and ends the open sessions', async () => {
    const browser = await signIn(client, database)
    const path = pathOf(await inviteAdministrator(pool, tester, root.email))
    const fresh = { password: 'quite another password', again: 'quite another password' }
    expect((await createBrowser(client.app).submit(path, fresh)).status).toBe(303)
    expect((await browser.get('/admin/account')).status).toBe(303)
    expect((await acts())[1]).toMatchObject({ actor: root.email, action: 'administrator.change_password' })
    expect((await createBrowser(client.app).submit('/admin/login', root)).status).toBe(422)
    const known = await createBrowser(client.app).submit('/admin/login', { ...root, password: fresh.password })
    expect(known.status).toBe(303)
  })

  test('starts no session that survives a password change at the same time', async () => {
    await createAccount(database)
    const browser = createBrowser(client.app)
    const path = pathOf(await inviteAdministrator(pool, tester, root.email))
    await atOnce<unknown>(database.platform, 'gateway.administrator', [
      () => browser.submit(path, { password: 'quite another password', again: 'quite another password' }),
      () => createAdministrator(pool, tester, root.email, root.password),
    ])
    expect((await createBrowser(client.app).submit('/admin/login', root)).status).toBe(303)
    expect((await browser.get('/admin/account')).status).toBe(303)
  })

  test('is invalid after a newer one, or the removal of the account', async () => {
    await createAccount(database)
    await createAccount(database, 'ann@example.com')
    const older = await inviteAdministrator(pool, tester, 'ann@example.com')
    const newer = await inviteAdministrator(pool, tester, 'ann@example.com')
    expect((await createBrowser(client.app).get(pathOf(older))).status).toBe(404)
    await removeAdministrator(pool, tester, 'ann@example.com')
    expect((await createBrowser(client.app).get(pathOf(newer))).status).toBe(404)
  })
})
