import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import { listTokens } from '../../src/domain/token/list.ts'
import { createAccount } from '../admin/support.ts'
import { tester, whole } from '../support/builders.ts'
import { until } from '../support/until.ts'
import { signIn } from './admin-actions.ts'
import { openDashboard, rateLimited, typeToken } from './dashboard-page.ts'
import { look } from './look.ts'
import { keptBeyondTab, startSite } from './site.ts'

const { database, build, client, origin, browser } = await startSite({ GRAPHQL_DOCUMENTS: 'trusted' })
// Its operations are trusted documents: it needs no others.

const group = await build.tenant({ name: 'Hollis Leisure' })
const north = await build.tenant({ name: 'Hollis North', parent_id: group })
const mill = await build.tenant({ name: 'The Old Mill', parent_id: north, time_zone: 'Asia/Kolkata' })
const bistro = await build.tenant({ name: 'Bistro Verde' })
await createAccount(database)
const vouchers = ['view_vouchers', 'view_orders'] as const

const createSecret = async (name = 'Viewer', permissions: readonly (typeof vouchers)[number][] = vouchers) =>
  build.token([whole(group), whole(bistro)], { name, permissions: [...permissions] })
const { secret } = await createSecret()

const open = (query = '', token: string | null = secret) => openDashboard(browser, origin, query, token)

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
const tree = (page: Page) => page.getByRole('list', { name: 'Tenants', exact: true })
const queryOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)
const focused = (page: Page) =>
  page.evaluate<string>(`document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent`)

test('a token that is typed shows its tenants, and is kept in the tab only', async () => {
  const { page, requested } = await open('', 'two words')
  await page.getByText('This is not a token').waitFor()
  await typeToken(page, `${secret}x`)
  await page.getByRole('alert').getByText('not valid any more').waitFor()
  await typeToken(page, ` Bearer ${secret} `)
  await heading(page, 'Bistro Verde')
  await page.getByText('Viewer', { exact: true }).waitFor()
  await page.reload()
  await heading(page, 'Bistro Verde')

  expect(await keptBeyondTab(page)).not.toContain(secret)
  expect(requested.join()).not.toContain(secret)
  expect(requested.filter(url => !url.startsWith(`${origin}/`))).toEqual([])
  const other = await page.context().newPage()
  await other.goto(`${origin}/dashboard`)
  await other.getByLabel('Token', { exact: true }).waitFor()

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Token', { exact: true }).waitFor()
  expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}')
  await page.reload()
  await page.getByLabel('Token', { exact: true }).waitFor()
})

test('the policy allows scripts of the service only', async () => {
  const { headers } = await client.ask({ url: '/dashboard' })
  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  )
  const script = await client.ask({ url: '/assets/dashboard.js' })
  expect(script.headers['content-type']).toBe('text/javascript; charset=utf-8')
  expect(script.text).not.toMatch(/\beval\(|new Function/)
})

test('the address reproduces the view, and back returns to the one before', async () => {
  const { page } = await open()
  await heading(page, 'Bistro Verde')
  await tree(page).getByRole('link', { name: 'Hollis Leisure' }).click()
  await heading(page, 'Hollis Leisure')
  await page.getByLabel('Period', { exact: true }).selectOption('Last 30 days')
  await page.getByLabel('By', { exact: true }).selectOption('Week')
  await page.getByLabel('With tenants below').uncheck()
  expect(queryOf(page)).toEqual({ tenant: String(group), below: 'no', period: 'last-30-days', by: 'week' })

  const copy = await open(new URL(page.url()).search.slice(1))
  await heading(copy.page, 'Hollis Leisure')
  expect(await copy.page.getByLabel('Period', { exact: true }).inputValue()).toBe('last-30-days')
  expect(await copy.page.getByLabel('By', { exact: true }).inputValue()).toBe('WEEK')
  expect(await copy.page.getByLabel('With tenants below').isChecked()).toBe(false)

  await page.goBack()
  await page.getByRole('checkbox', { name: 'With tenants below', checked: true }).waitFor()
  await page.goBack()
  await page.goBack()
  await until(
    'the first period',
    async () => (await page.getByLabel('Period', { exact: true }).inputValue()) === 'last-12-months',
  )
  await page.goBack()
  await heading(page, 'Bistro Verde')
  await page.goForward()
  await heading(page, 'Hollis Leisure')
})

test('a period of its own has a first and a last day, of the time zone of the tenant', async () => {
  const { page } = await open(`tenant=${mill}&period=this-year`)
  await heading(page, 'The Old Mill')
  await page.getByText('days in Asia/Kolkata').waitFor()
  await page.getByLabel('Period', { exact: true }).first().selectOption('From … to …')
  await page.getByLabel('From', { exact: true }).fill('2026-03-10')
  await page.getByLabel('To', { exact: true }).fill('2026-02-01')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.getByText('The first day must not be after the last day.').waitFor()
  await page.getByLabel('From', { exact: true }).fill('2026-01-31')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.getByText('31 Jan 2026 to 1 Feb 2026').waitFor()
  expect(queryOf(page)).toEqual({ tenant: String(mill), from: '2026-01-31', to: '2026-02-01' })
})

test('a tenant is found and chosen by keyboard alone', async () => {
  const { page } = await open()
  await heading(page, 'Bistro Verde')
  // Once all tenants are known, only one with tenants below it has a button.
  await expect.poll(() => tree(page).getByRole('button').count()).toBe(1)
  await page.getByRole('link', { name: 'Voucher Gateway' }).focus()
  // From the brand: four links, the sign-out, the search, and the tree.
  for (let step = 0; step < 7; step++) await page.keyboard.press('Tab')
  expect(await focused(page)).toBe('Bistro Verde')
  await page.keyboard.press('Tab')
  expect(await focused(page)).toBe('Tenants below Hollis Leisure')
  await page.keyboard.press('Enter')
  await tree(page).getByRole('link', { name: 'Hollis North' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  expect(await focused(page)).toBe('Tenants below Hollis North')
  await page.keyboard.press('Space')
  await tree(page).getByRole('link', { name: 'The Old Mill' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await heading(page, 'The Old Mill')
  expect(queryOf(page)).toEqual({ tenant: String(mill), period: 'last-12-months' })
  expect(await focused(page)).toBe('The Old Mill')

  await page.getByLabel('Find a tenant').focus()
  await page.keyboard.type('hollis')
  await page.getByRole('status').getByText('2 tenants found.').waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await heading(page, 'Hollis Leisure')
})

test('a link to a tenant opens the tree down to it; one that the token may not see is named', async () => {
  const { page } = await open(`tenant=${mill}`)
  await heading(page, 'The Old Mill')
  expect(await tree(page).getByRole('link', { name: 'The Old Mill' }).getAttribute('aria-current')).toBe('true')
  await page.getByRole('navigation', { name: 'Tenants above' }).getByRole('link', { name: 'Hollis North' }).click()
  await heading(page, 'Hollis North')

  const foreign = await build.tenant({ name: 'Elsewhere' })
  const denied = await open(`tenant=${foreign}`)
  await denied.page.getByText('There is no such tenant, or this token is not authorised for it.').waitFor()
  expect(await denied.page.locator('.warning').count()).toBe(1)
  expect(await denied.page.content()).not.toContain('Elsewhere')
  await tree(denied.page).getByRole('link', { name: 'Bistro Verde' }).click()
  await heading(denied.page, 'Bistro Verde')
  expect(await denied.page.getByText('There is no such tenant').count()).toBe(0)
})

test('with a thousand tenants, the tree loads opened levels and the way down to a link, and a search finds all', async () => {
  const large = await build.tenant({ name: 'Level 1' })
  await database.platform`
    insert into tenant (parent_id, name)
    select ${large}, 'Branch ' || to_char(number, 'FM0000') from generate_series(1, 1000) number`
  let deepest = large
  for (let level = 2; level <= 13; level++) deepest = await build.tenant({ name: `Level ${level}`, parent_id: deepest })
  const token = await build.token([whole(large)], { permissions: [...vouchers] })
  const { page } = await open(`tenant=${deepest}`, token.secret)
  await heading(page, 'Level 13')
  await tree(page).getByRole('link', { name: 'Level 13' }).waitFor()
  const path = page.getByRole('navigation', { name: 'Tenants above' }).getByRole('link')
  expect(await path.allInnerTexts()).toEqual(Array.from({ length: 12 }, (_, index) => `Level ${index + 1}`))

  await tree(page).getByRole('link', { name: 'Branch 0100' }).waitFor()
  expect(await tree(page).getByRole('link', { name: 'Branch 0900' }).count()).toBe(0)
  await page.getByLabel('Find a tenant').fill('0937')
  await page.getByRole('link', { name: 'Branch 0937' }).click()
  await heading(page, 'Branch 0937')
  await page.getByLabel('Find a tenant').fill('')
  await tree(page).getByRole('link', { name: 'Branch 0900' }).waitFor()
})

test('an administrator opens it with a token that is in no address and not in the history', async () => {
  const { page, requested } = await open('', null)
  await signIn(page, origin)
  await page.getByRole('link', { name: 'Open the dashboard' }).click()
  await page.getByText('Only some tenants').click()
  await look(page, 'dashboard-open')
  await page.getByRole('button', { name: 'Open the dashboard' }).last().click()
  await page.waitForURL(/\/dashboard(\?|$)/)
  await page.getByText('Dashboard of root@example.com').waitFor()
  const [token] = (await listTokens(database.pool, { limit: 1 })).rows
  const typed = await page.evaluate<string>(`sessionStorage.getItem('voucher-gateway:token')`)
  expect(typed).toMatch(/^vgw_/)
  expect(typed.startsWith(token!.hint.slice(0, 8))).toBe(true)
  expect(requested.join()).not.toContain(typed)
  await page.goBack()
  await page.getByRole('heading', { name: 'Open the dashboard' }).waitFor()
  expect(await page.content()).not.toContain(typed)

  await page.goForward()
  await page.getByText('Dashboard of root@example.com').waitFor()
  // An answer that comes after the revocation would end the token before the reload.
  await page.waitForLoadState('networkidle')
  await revokeToken(database.pool, tester, token!.id)
  await until('revoked', async () => (await client.rest(typed, '/tenants')).status === 401, 5_000)
  await page.reload()
  await page.getByRole('alert').getByText('not valid any more').waitFor()
  expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}')
})

test('a second click on the button that opens it sends nothing, so that the first answer is shown', async () => {
  const { page } = await open('', null)
  await signIn(page, origin)
  await page.goto(`${origin}/admin/dashboard`)
  let posts = 0
  let release = () => {}
  const clicked = new Promise<void>(resolve => {
    release = resolve
  })
  await page.route('**/admin/dashboard', async route => {
    posts++
    // The second click comes before the answer.
    await clicked
    await route.continue()
  })
  await page.getByRole('button', { name: 'Open the dashboard' }).last().dblclick()
  release()
  await page.getByText('Dashboard of root@example.com').waitFor()
  expect(posts).toBe(1)
})

test('it waits when the rate is used up, and reports a service that is out of reach', async () => {
  const { page } = await open('', null)
  let isSeen = false
  await page.route('**/graphql', route => (isSeen ? route.continue() : route.fulfill(rateLimited(5))))
  await typeToken(page, secret)
  await page.getByText('The rate of this token is used up.').waitFor()
  isSeen = true
  await heading(page, 'Bistro Verde')
  await until(
    'the notice is gone',
    async () => (await page.getByText('The rate of this token is used up.').count()) === 0,
    15_000,
  )
  await page.unroute('**/graphql')

  await page.route('**/graphql', route => route.abort())
  await page.reload()
  await page.getByText('The service does not answer.').first().waitFor()
  await page.unroute('**/graphql')
  await page.getByRole('button', { name: 'Try again' }).first().click()
  await heading(page, 'Bistro Verde')
})

test('the page names the permission that a token lacks', async () => {
  const limited = await createSecret('Products', ['view_vouchers'])
  const { page } = await open('table=vouchers', limited.secret)
  await page.getByText('This token lacks view_orders').waitFor()
  await page.waitForLoadState('networkidle')
  expect(await page.locator('.warning').count()).toBe(1)
  expect(await page.locator('.placeholder').count()).toBe(0)

  const marketing = await build.token([whole(group)], { permissions: ['export_customer_information'] })
  const consents = await open('table=vouchers', marketing.secret)
  await consents.page.getByText('This token lacks view_vouchers and view_orders').waitFor()
  await consents.page.getByRole('figure', { name: 'Consents to marketing' }).waitFor()
  expect(await consents.page.locator('.placeholder').count()).toBe(0)
})

test('it is accessible and fits, wide and narrow, light and dark', async () => {
  const signedOut = await open('', null)
  await look(signedOut.page, 'dashboard-sign-in')
  const { page } = await open(`tenant=${mill}&from=2026-01-01&to=2026-03-31`)
  await heading(page, 'The Old Mill')
  await look(page, 'dashboard')
  await page.setViewportSize({ width: 390, height: 900 })
  await page.getByRole('button', { name: 'Choose a tenant' }).click()
  await page.getByLabel('Find a tenant').fill('hollis')
  await page.getByText('2 tenants found.').waitFor()
  await look(page, 'dashboard-search')
})
