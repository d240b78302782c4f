/** The one-click sign-in exists only in the demo, and only for browsers on the same machine. */
import { expect, test } from 'vitest'
import { removeAdministrator } from '../../src/domain/administrator/administrator.ts'
import { createApp } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { createAccount, createBrowser } from './support.ts'

const database = await createDatabase()

const { app: demo } = await createApp({ ...database, demoToken: 'vgw_demo' })
const path = '/admin/login/demo'
const origin = 'https://gateway.example.com'

test('one button signs in, and then shows the requested page', async () => {
  const browser = createBrowser(demo)
  const login = await browser.get('/admin/login?next=/admin/audit')
  expect(login.text).toContain('Sign in to the demo')
  expect(login.text).not.toContain('There is no administrator yet')
  const answer = await browser.submit('/admin/login?next=/admin/audit', {}, { action: path })
  expect(answer).toMatchObject({ status: 303, location: '/admin/audit' })
  expect((await browser.get('/admin/account')).text).toContain('demo@example.com')
  const [entry] = await database.pool`
    select actor, detail from gateway.audit_entry where action = 'administrator.sign_in' order by id desc limit 1`
  expect(entry).toEqual({ actor: 'demo@example.com', detail: { means: 'demo' } })
})

test('the sign-in is rejected without the CSRF token of the page, or from another origin', async () => {
  const browser = createBrowser(demo)
  expect(await browser.post(path, {})).toMatchObject({ status: 403 })
  const headers = { origin: 'http://localhost:9999' }
  expect(await browser.submit('/admin/login', {}, { action: path, headers })).toMatchObject({ status: 403 })
  expect(await browser.get('/admin/tokens')).toMatchObject({ status: 303 })
})

test('an administrator of the demo cannot sign in after being removed', async () => {
  expect(await createBrowser(demo).submit('/admin/login', {}, { action: path })).toMatchObject({ status: 303 })
  await createAccount(database)
  await removeAdministrator(database.pool, tester, 'demo@example.com')
  const answer = await createBrowser(demo).submit('/admin/login', {}, { action: path })
  expect(answer).toMatchObject({ status: 403, text: expect.stringContaining('was removed') })
})

test.each([
  ['outside the demo', null, 'http://localhost:8080', {}],
  ['with a PUBLIC_URL, which others can reach,', 'vgw_demo', origin, { PUBLIC_URL: origin }],
])('%s the page has no button and no token, and the path of the button is unknown', async (_, demoToken, origin, environment) => {
  const { app } = await createApp({ ...database, demoToken }, environment)
  const browser = createBrowser(app, { origin })
  expect((await browser.get('/admin/login')).text).not.toContain('demo')
  expect((await browser.post(path, {})).status).toBe(404)
  expect((await app.inject({ url: '/demo-token', headers: { host: 'localhost' } })).statusCode).toBe(404)
})
