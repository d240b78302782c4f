import { beforeEach, describe, expect, test } from 'vitest'
import { listAdministrators, removeAdministrator } from '../../src/domain/administrator/administrator.ts'
import { inviteAdministrator } from '../../src/domain/administrator/invitation.ts'
import { tester } from '../support/builders.ts'
import { startService } from '../support/service.ts'
import { atOnce } from './contention.ts'
import { type Browser, createAccount, createBrowser, formsOf, readTableRows, root, signIn } from './support.ts'

const { database, client } = await startService()
const { pool } = database

let browser: Browser

beforeEach(async () => {
  await database.platform`delete from gateway.administrator`
  await database.platform`delete from gateway.invitation`
  browser = await signIn(client, database)
})

const statusOf = async (link: string) => (await createBrowser(client.app).get(link)).status

const linkOn = (text: string) => /(\/admin\/setup\/[\w-]{43})/.exec(text)?.[1] ?? ''

const idOf = async (email: string) => (await listAdministrators(pool)).find(each => each.email === email)?.id

test('the list shows administrators, how each of them signs in, and open invitations', async () => {
  await pool`insert into gateway.administrator (email, subject) values ('olga@example.com', 'https://id.example 7')`
  const page = await browser.get('/admin/administrators')
  const rows = readTableRows(page.html).map(cells => cells.join(' '))
  expect(rows.find(row => row.includes('olga'))).toMatch(/OpenID.*never/s)
  expect(rows.find(row => row.includes(root.email))).toMatch(/password.*This is you/s)
  expect(page.text).not.toContain('Pending invitations')
})

describe('inviting', () => {
  test('shows the invitation link once, and the link lets the invited person sign in', async () => {
    const made = await browser.submit('/admin/administrators', { email: 'Ann@example.com' })
    expect(made).toMatchObject({ status: 201, headers: { 'cache-control': 'private, no-store' } })
    const link = linkOn(made.text)
    expect(made.text).toContain(`http://localhost:8080${link}`)
    const listed = await browser.get('/admin/administrators')
    expect(listed.text).toContain('Pending invitations')
    expect(listed.html).not.toContain(link)
    const password = 'a password of my own'
    const invited = createBrowser(client.app)
    expect((await invited.get(link)).text).toContain('ann@example.com')
    // The link determines the account. The e-mail in the form is ignored.
    const fields = { email: 'eve@example.com', password, again: password }
    expect((await invited.submit(link, fields)).status).toBe(303)
    expect((await listAdministrators(pool)).map(({ email }) => email)).toEqual(['ann@example.com', root.email])
    expect(await statusOf(link)).toBe(404)
    expect((await browser.get('/admin/administrators')).text).not.toContain('Pending invitations')
    const entries = await pool`
      select actor, action, detail from gateway.audit_entry where detail ->> 'email' = 'ann@example.com' order by id`
    expect(entries).toEqual([
      { actor: root.email, action: 'administrator.invite', detail: { email: 'ann@example.com' } },
      { actor: 'ann@example.com', action: 'administrator.create', detail: { email: 'ann@example.com' } },
    ])
  })

  test('rejects the e-mail of an existing administrator, because the link would take over that account', async () => {
    await createAccount(database, 'ann@example.com')
    const text = expect.stringContaining('This is an administrator already.')
    const answer = await browser.submit('/admin/administrators', { email: 'ANN@example.com' })
    expect(answer).toMatchObject({ status: 422, text })
  })
})

describe('an invitation', () => {
  test('is invalid after its creator is removed, even when the invitation is created during the removal', async () => {
    const ann = await signIn(client, database, { email: 'ann@example.com' })
    const link = linkOn((await ann.submit('/admin/administrators', { email: 'back@example.com' })).text)
    const kept = linkOn((await browser.submit('/admin/administrators', { email: 'bob@example.com' })).text)
    expect((await browser.get('/admin/administrators')).text).toMatch(/back@example\.com .{1,60}ann@example\.com/)
    expect(await statusOf(link)).toBe(200)

    const id = await idOf('ann@example.com')
    await browser.submit(`/admin/administrators/${id}/remove`)
    expect(await statusOf(link)).toBe(404)
    expect(await pool`select email from gateway.invitation`).toEqual([{ email: 'bob@example.com' }])
    expect(await statusOf(kept)).toBe(200)

    const late = await inviteAdministrator(pool, tester, 'back@example.com', { id: id ?? 0, email: 'ann@example.com' })
    expect(await statusOf(`/admin/setup/${late}`)).toBe(404)
    expect((await browser.get('/admin/administrators')).text).not.toContain('back@example.com')
  })

  test('can be withdrawn until it is used, and the withdrawal has an audit entry', async () => {
    const link = linkOn((await browser.submit('/admin/administrators', { email: 'ann@example.com' })).text)
    await inviteAdministrator(pool, tester, 'bob@example.com')
    expect((await browser.get('/admin/administrators')).text).toMatch(/bob@example\.com .{1,60}the command line/)
    const { html } = await browser.get('/admin/administrators')
    const form = formsOf(html).find(({ fields }) => fields.get('email') === 'ann@example.com')!
    expect(await browser.send(form)).toMatchObject({ status: 303, location: '/admin/administrators' })
    const listed = (await browser.get('/admin/administrators')).text
    expect(listed).toMatch(/The invitation of ann@example\.com is withdrawn\..*bob@example\.com/)
    expect(await statusOf(link)).toBe(404)
    const entries = await pool`select actor, detail from gateway.audit_entry where action = 'administrator.withdraw'`
    expect(entries).toEqual([{ actor: root.email, detail: { email: 'ann@example.com' } }])
    expect((await browser.send(form)).status).toBe(404)
  })
})

describe('removing', () => {
  test('asks for confirmation, ends the sessions of the removed account, and has an audit entry', async () => {
    const ann = await signIn(client, database, { email: 'ann@example.com' })
    const path = `/admin/administrators/${await idOf('ann@example.com')}/remove`
    expect((await browser.get(path)).text).toContain('Remove ann@example.com?')
    expect((await ann.get('/admin/account')).status).toBe(200)
    expect(await browser.submit(path)).toMatchObject({ status: 303, location: '/admin/administrators' })
    expect((await browser.get('/admin/administrators')).text).toContain('ann@example.com is removed')
    expect((await ann.get('/admin/account')).status).toBe(303)
    const login = { email: 'ann@example.com', password: root.password }
    expect((await createBrowser(client.app).submit('/admin/login', login)).status).toBe(422)
    expect((await browser.get(path)).status).toBe(404)
    const [entry] = await pool`select actor, detail from gateway.audit_entry where action = 'administrator.remove'`
    expect(entry).toEqual({ actor: root.email, detail: { email: 'ann@example.com' } })

    // An invitation for the same e-mail restores the removed account.
    const made = await browser.submit('/admin/administrators', { email: 'ann@example.com' })
    const chosen = { password: 'a password of my own', again: 'a password of my own' }
    expect((await createBrowser(client.app).submit(linkOn(made.text), chosen)).status).toBe(303)
  })

  test('nobody can remove their own account or the last administrator', async () => {
    await createAccount(database, 'ann@example.com')
    const own = await idOf(root.email)
    const path = `/admin/administrators/${own}/remove`
    expect(await browser.get(path)).toMatchObject({ status: 422 })
    const other = `/admin/administrators/${await idOf('ann@example.com')}/remove`
    expect((await browser.submit(other, {}, { action: other })).status).toBe(303)
    await expect(removeAdministrator(pool, tester, root.email)).rejects.toMatchObject({ code: 'BAD_USER_INPUT' })
    await expect(removeAdministrator(pool, tester, 'nobody@example.com')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('when two administrators remove each other at the same time, one of them stays', async () => {
    await createAccount(database, 'ann@example.com')
    const removals = [root.email, 'ann@example.com'].map(email => () => removeAdministrator(pool, tester, email))
    const outcomes = await atOnce(database.platform, 'gateway.administrator', removals)
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await listAdministrators(pool)).toHaveLength(1)
  })
})
