import { beforeEach, describe, expect, test } from 'vitest'
import { listAdministrators, removeAdministrator } from '../../src/domain/administrator/administrator.ts'
import { createAdministrator } from '../../src/domain/administrator/administrator-password.ts'
import {
  acceptInvitation,
  inviteAdministrator,
  inviteFirstAdministrator,
} from '../../src/domain/administrator/invitation.ts'
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
const newPassword = { password: root.password, again: root.password }
const visitPath = (path: string) => createBrowser(client.app).get(path)
const statusOf = async (secret: string | null) => (await visitPath(pathOf(secret))).status
const emails = async () => (await listAdministrators(pool)).map(({ email }) => email)
const readLastEntries = () => pool<{ actor: string; action: string }[]>`
  select actor, action, address from gateway.audit_entry order by id desc limit 2`

describe('the sign-in without an administrator', () => {
  const notice = 'There is no administrator yet'
  const signInPages = ['/admin/login', '/admin/login?because=out', '/admin/login?next=%2Fadmin%2Faudit']

  test('explains how to create the first administrator, even after the last one is removed, and shows no pending link', async () => {
    const browser = createBrowser(client.app)
    const { location = '' } = await browser.get('/admin')
    for (const path of [location, ...signInPages]) {
      const { text } = await browser.get(path)
      for (const part of [notice, 'npm run cli -- admin create --email you@example.com', 'docker run'])
        expect(text).toContain(part)
    }
    const text = expect.stringContaining(notice)
    expect(await browser.submit('/admin/login', root)).toMatchObject({ status: 422, text })

    await createAccount(database)
    for (const path of signInPages) expect((await browser.get(path)).text).not.toContain('no administrator')
    await database.platform`update gateway.administrator set removed_at = now()`
    const secret = await inviteFirstAdministrator(pool, tester)
    const { html } = await browser.get('/admin/login')
    expect(html).toContain(notice)
    expect(html).not.toContain(secret)
  })
})

describe('the link of the first administrator', () => {
  test('creates the administrator, signs in, and works once', async () => {
    const path = pathOf(await inviteFirstAdministrator(pool, tester))
    const browser = createBrowser(client.app)
    expect((await browser.get(path)).text).toContain('Set up the first administrator')
    const answer = await browser.submit(path, { email: ' Root@Example.com', ...newPassword })
    expect(answer).toMatchObject({ status: 303, location: '/admin/tokens' })
    expect((await browser.get('/admin/account')).text).toContain('root@example.com')
    expect(await readLastEntries()).toEqual([
      { actor: root.email, action: 'administrator.sign_in', address: '127.0.0.1' },
      { actor: root.email, action: 'administrator.create', address: '127.0.0.1' },
    ])
    expect(await visitPath(path)).toMatchObject({
      status: 404,
      text: expect.stringContaining('This link is not valid'),
    })
  })

  test('shows an error at each invalid field, and works afterwards', async () => {
    const path = pathOf(await inviteFirstAdministrator(pool, tester))
    const browser = createBrowser(client.app)
    const email = 'long.enough@example.com'
    for (const [sentence, to, password, again = password] of [
      ['Give an e-mail, such as ann@example.com.', 'nobody', root.password],
      ['at least 12 characters', email, 'elevenchars'],
      ['at most 200 characters', email, 'x'.repeat(201)],
      ['The two passwords are not the same.', email, root.password, `${root.password}!`],
      ['not your e-mail', email, 'Long.Enough@example.com'],
    ] as const) {
      const answer = await browser.submit(path, { email: to, password, again })
      expect(answer).toMatchObject({ status: 422, text: expect.stringContaining(sentence) })
      expect(answer.html).not.toContain(`value="${password}"`)
    }
    expect((await browser.submit(path, { email: root.email, ...newPassword })).status).toBe(303)
  })

  test.each([
    ['three posts', 1],
    ['the posts of three links', 3],
  ])('creates one account when two requests come at the same time from %s', async (_, links) => {
    const paths: string[] = []
    for (let link = 0; link < links; link++) paths.push(pathOf(await inviteFirstAdministrator(pool, tester)))
    const posts = ['one@example.com', 'two@example.com', 'three@example.com'].map(async (email, index) => {
      const browser = createBrowser(client.app)
      const form = await browser.load(paths[index % links] ?? '', { ...newPassword, email })
      return () => browser.send(form)
    })
    const outcomes = await atOnce(database.platform, 'gateway.invitation', await Promise.all(posts))
    const statuses = outcomes.map(outcome => (outcome.status === 'fulfilled' ? outcome.value.status : 0))
    expect(statuses.sort()).toEqual([303, 404, 404])
    expect(await emails()).toHaveLength(1)
  })

  test('stays valid after a newer link, and becomes invalid after 24 hours or when an administrator exists', async () => {
    const old = await inviteFirstAdministrator(pool, tester)
    await database.platform`
      update gateway.invitation set created_at = created_at - interval '24 hours', expires_at = expires_at - interval '24 hours'`
    expect(await statusOf(old)).toBe(404)

    const first = await inviteFirstAdministrator(pool, tester)
    const newer = await inviteFirstAdministrator(pool, tester)
    const browser = createBrowser(client.app)
    expect(await statusOf(first)).toBe(200)
    // An expired link does not invalidate the other links.
    expect(await acceptInvitation(pool, rootActor, old ?? '', { email: null }, root.password)).toBeNull()
    const form = await browser.load(pathOf(newer), { email: root.email, ...newPassword })
    await createAccount(database, 'sooner@example.com')
    expect((await browser.send(form)).status).toBe(404)
    expect(await statusOf(first)).toBe(404)
    expect(await inviteFirstAdministrator(pool, tester)).toBeNull()
    expect(await emails()).toEqual(['sooner@example.com'])
  })

  test('is stored only as a hash', async () => {
    const secret = await inviteFirstAdministrator(pool, tester)
    expect(secret).toMatch(/^[\w-]{43}$/)
    const [row] = await pool<{ text: string }[]>`select invitation::text as text from gateway.invitation`
    expect(row?.text).not.toContain(secret)
  })
})

describe('the link of an account', () => {
  test('resets a lost password, and ends the open sessions', async () => {
    const browser = await signIn(client, database)
    const path = pathOf(await inviteAdministrator(pool, tester, root.email))
    const fresh = { password: 'quite another password', again: 'quite another password' }
    expect((await createBrowser(client.app).submit(path, fresh)).status).toBe(303)
    expect((await browser.get('/admin/account')).status).toBe(303)
    expect((await readLastEntries())[1]).toMatchObject({ actor: root.email, action: 'administrator.change_password' })
    const signInWith = (password: string) => createBrowser(client.app).submit('/admin/login', { ...root, password })
    expect([(await signInWith(root.password)).status, (await signInWith(fresh.password)).status]).toEqual([422, 303])
  })

  test('starts no session that outlives a password change at the same time', async () => {
    await createAccount(database)
    const browser = createBrowser(client.app)
    const path = pathOf(await inviteAdministrator(pool, tester, root.email))
    await atOnce<unknown>(database.platform, 'gateway.administrator', [
      () => browser.submit(path, newPassword),
      () => createAdministrator(pool, tester, root.email, root.password),
    ])
    expect((await browser.get('/admin/account')).status).toBe(303)
  })

  test('becomes invalid after a newer link, or after the removal of the account', async () => {
    await createAccount(database)
    await createAccount(database, 'ann@example.com')
    const older = await inviteAdministrator(pool, tester, 'ann@example.com')
    const newer = await inviteAdministrator(pool, tester, 'ann@example.com')
    expect(await statusOf(older)).toBe(404)
    await removeAdministrator(pool, tester, 'ann@example.com')
    expect(await statusOf(newer)).toBe(404)
  })
})
