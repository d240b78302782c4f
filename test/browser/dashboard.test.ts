import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import { listTokens } from '../../src/domain/token/list.ts'
import type { Permission } from '../../src/domain/token/permission.ts'
import { createAccount } from '../admin/support.ts'
import { tester, whole } from '../support/builders.ts'
import { signIn } from './admin-actions.ts'
import { createRateLimitAnswer, enterToken, findTable, openDashboard } from './dashboard-page.ts'
import { checkLook } from './look.ts'
import { readStoredOutsideTab, startSite } from './site.ts'

const site = await startSite({ GRAPHQL_DOCUMENTS: 'trusted' })
const { build, origin, pool, platform } = site
// The dashboard must work with trusted documents only.
const group = await build.tenant({ name: 'Hollis Leisure' })
const north = await build.tenant({ name: 'Hollis North', parent_id: group })
const mill = await build.tenant({ name: 'The Old Mill', parent_id: north, time_zone: 'Asia/Kolkata' })
const bistro = await build.tenant({ name: 'Bistro Verde' })
await createAccount(site)
const vouchers = ['view_vouchers', 'view_orders'] as const

const { secret } = await build.token([whole(group), whole(bistro)], { name: 'Viewer', permissions: [...vouchers] })

const openView = (query = '', token: string | null = secret) => openDashboard(site, query, token)

const untilHeading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
const findTree = (page: Page) => page.getByRole('list', { name: 'Tenants', exact: true })
const readQuery = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)
const readFocusedName = (page: Page) =>
  page.evaluate<string>(`document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent`)

test('a typed token shows its tenants, and is stored only in the browser tab', async () => {
  const { page, requested } = await openView('', 'two words')
  await page.getByText('This is not a token').waitFor()
  await enterToken(page, `${secret}x`)
  await page.getByRole('alert').getByText('not valid any more').waitFor()
  await enterToken(page, ` Bearer ${secret} `)
  await untilHeading(page, 'Bistro Verde')
  await page.getByText('Viewer', { exact: true }).waitFor()
  await page.reload()
  await untilHeading(page, 'Bistro Verde')

  expect(await readStoredOutsideTab(page)).not.toContain(secret)
  expect(requested.join()).not.toContain(secret)
  expect(requested.filter(url => !url.startsWith(`${origin}/`))).toEqual([])

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Token', { exact: true }).waitFor()
  expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}')
})

test('a button copies an address that reproduces the view, and the back button restores the former view', async () => {
  const { page } = await openView()
  await untilHeading(page, 'Bistro Verde')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'Copy link' }).click()
  const address = `${origin}/dashboard?tenant=${bistro}&period=last-12-months`
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(address)
  await findTree(page).getByRole('link', { name: 'Hollis Leisure' }).click()
  await untilHeading(page, 'Hollis Leisure')
  await page.getByLabel('Period', { exact: true }).selectOption('Last 30 days')
  await page.getByLabel('By', { exact: true }).selectOption('Week')
  await page.getByLabel('With tenants below').uncheck()
  expect(readQuery(page)).toEqual({ tenant: String(group), below: 'no', period: 'last-30-days', by: 'week' })

  const copy = await openView(new URL(page.url()).search.slice(1))
  await untilHeading(copy.page, 'Hollis Leisure')
  expect(await copy.page.getByLabel('Period', { exact: true }).inputValue()).toBe('last-30-days')
  expect(await copy.page.getByLabel('By', { exact: true }).inputValue()).toBe('WEEK')
  expect(await copy.page.getByLabel('With tenants below').isChecked()).toBe(false)

  await page.goBack()
  await page.getByRole('checkbox', { name: 'With tenants below', checked: true }).waitFor()
  for (let steps = 0; steps < 3; steps++) await page.goBack()
  await untilHeading(page, 'Bistro Verde')
})

test('a tenant can be found and chosen with the keyboard alone', async () => {
  const { page } = await openView()
  await untilHeading(page, 'Bistro Verde')
  // When all tenants are loaded, only a tenant with children has a button.
  await expect.poll(() => findTree(page).getByRole('button').count()).toBe(1)
  await page.getByRole('link', { name: 'Voucher Gateway' }).focus()
  // Seven Tab keys lead from the brand over four links, the sign-out and the search to the tree.
  for (let step = 0; step < 7; step++) await page.keyboard.press('Tab')
  expect(await readFocusedName(page)).toBe('Bistro Verde')
  await page.keyboard.press('Tab')
  expect(await readFocusedName(page)).toBe('Tenants below Hollis Leisure')
  await page.keyboard.press('Enter')
  await findTree(page).getByRole('link', { name: 'Hollis North' }).waitFor()
  // Three Tab keys lead over the link of the group and the button of Hollis North.
  for (let step = 0; step < 3; step++) await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await untilHeading(page, 'Hollis North')
  expect(await readFocusedName(page)).toBe('Hollis North')

  await page.getByLabel('Find a tenant').focus()
  await page.keyboard.type('hollis')
  await page.getByRole('status').getByText('2 tenants found.').waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await untilHeading(page, 'Hollis Leisure')
})

test('a link to a tenant opens the tree down to that tenant, and a link to a forbidden tenant shows a message', async () => {
  const { page } = await openView(`tenant=${mill}`)
  await untilHeading(page, 'The Old Mill')
  expect(await findTree(page).getByRole('link', { name: 'The Old Mill' }).getAttribute('aria-current')).toBe('true')
  await page.getByRole('navigation', { name: 'Tenants above' }).getByRole('link', { name: 'Hollis North' }).click()
  await untilHeading(page, 'Hollis North')

  const foreign = await build.tenant({ name: 'Elsewhere' })
  const denied = await openView(`tenant=${foreign}`)
  await denied.page.getByText('There is no such tenant, or this token is not authorised for it.').waitFor()
  expect(await denied.page.locator('.warning').count()).toBe(1)
  expect(await denied.page.content()).not.toContain('Elsewhere')
})

test('with a thousand tenants, the tree loads only open levels and the path to the linked tenant, and a search finds every tenant', async () => {
  const large = await build.tenant({ name: 'Level 1' })
  await platform`
    insert into tenant (parent_id, name)
    select ${large}, 'Branch ' || to_char(number, 'FM0000') from generate_series(1, 1000) number`
  let deepest = large
  for (let level = 2; level <= 13; level++) deepest = await build.tenant({ name: `Level ${level}`, parent_id: deepest })
  const token = await build.token([whole(large)], { permissions: [...vouchers] })
  const { page } = await openView(`tenant=${deepest}`, token.secret)
  await untilHeading(page, 'Level 13')
  await findTree(page).getByRole('link', { name: 'Level 13' }).waitFor()
  expect(await page.getByRole('navigation', { name: 'Tenants above' }).getByRole('link').count()).toBe(12)
  await findTree(page).getByRole('link', { name: 'Branch 0100' }).waitFor()
  expect(await findTree(page).getByRole('link', { name: 'Branch 0900' }).count()).toBe(0)
  await page.getByLabel('Find a tenant').fill('0937')
  await page.getByRole('link', { name: 'Branch 0937' }).click()
  await untilHeading(page, 'Branch 0937')
})

test('an administrator opens the dashboard, and the token is in no address and not in the history', async () => {
  const { page, requested } = await openView('', null)
  await signIn(page, origin)
  await page.getByRole('link', { name: 'Open the dashboard' }).click()
  await page.getByText('Only some tenants').click()
  await checkLook(page, 'dashboard-open')
  await page.getByRole('button', { name: 'Open the dashboard' }).last().click()
  await page.waitForURL(/\/dashboard(\?|$)/)
  await page.getByText('Dashboard of root@example.com').waitFor()
  const [token] = (await listTokens(pool, { limit: 1 })).rows
  const typed = await page.evaluate<string>(`sessionStorage.getItem('voucher-gateway:token')`)
  expect(typed).toMatch(/^vgw_/)
  expect(typed.startsWith(token!.hint.slice(0, 8))).toBe(true)
  expect(requested.join()).not.toContain(typed)
  await page.goBack()
  await page.getByRole('heading', { name: 'Open the dashboard' }).waitFor()
  expect(await page.content()).not.toContain(typed)

  await page.goForward()
  await page.getByText('Dashboard of root@example.com').waitFor()
  await revokeToken(pool, tester, token!.id)
  await page.getByRole('alert').getByText('not valid any more').waitFor()
  expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}')
})

test('a second click on the button that opens the dashboard sends no request', async () => {
  const { page } = await openView('', null)
  await signIn(page, origin)
  await page.goto(`${origin}/admin/dashboard`)
  let posts = 0
  page.on('request', request => {
    if (request.method() === 'POST' && request.url().endsWith('/admin/dashboard')) posts++
  })
  await page.getByRole('button', { name: 'Open the dashboard' }).last().dblclick()
  await page.getByText('Dashboard of root@example.com').waitFor()
  expect(posts).toBe(1)
})

test('the dashboard waits when the rate is used up, and reports a service that does not answer', async () => {
  const { page } = await openView('', null)
  let isSeen = false
  await page.route('**/graphql', route => (isSeen ? route.continue() : route.fulfill(createRateLimitAnswer(5))))
  await enterToken(page, secret)
  await page.getByText('The rate of this token is used up.').waitFor()
  isSeen = true
  await untilHeading(page, 'Bistro Verde')
  await page.getByText('The rate of this token is used up.').waitFor({ state: 'detached' })
  await page.unroute('**/graphql')

  await page.route('**/graphql', route => route.abort())
  await page.reload()
  await page.getByText('The service does not answer.').first().waitFor()
  await page.unroute('**/graphql')
  await page.getByRole('button', { name: 'Try again' }).first().click()
  await untilHeading(page, 'Bistro Verde')
})

test('the page names the permission that a token lacks', async () => {
  const limited = await build.token([whole(group)], { permissions: ['view_vouchers'] })
  const { page } = await openView('table=vouchers&live=no', limited.secret)
  await page.getByText('This token lacks view_orders').waitFor()
  await page.waitForLoadState('networkidle')
  expect(await page.locator('.warning').count()).toBe(1)
  expect(await page.locator('.placeholder').count()).toBe(0)
})

const chain = await build.tenant({ name: 'Hollis Leisure' })
const millOfChain = await build.tenant({ name: 'The Old Mill', parent_id: chain })
const sold = { currency: 'GBP', initial_balance: 50, current_balance: 50, purchase_value: 50 }
const [tea, spa] = [{ product_title: 'Tea for two', recipient_name: 'Zoë Teague' }, { product_title: 'Spa day (50%)' }]
await build.voucher(chain, { ...sold, reference: 'TEA-1001', ...tea })
await build.voucher(millOfChain, { ...sold, reference: 'SPA-1002', ...spa, recipient_name: 'Ann Tear' })
await build.voucher(millOfChain, { ...sold, reference: 'SPA-1003', product_title: '<b>Afternoon</b> tea' })
await build.customer(millOfChain, { full_name: 'Ann Teasdale', surname: 'Teasdale', email: 'ann.teasdale@example.com' })
await build.customer(chain, { forename: 'Theo', surname: 'Steadman', email: 'theo@example.com' })
await build.customer(chain, { full_name: 'Tea Without Consent', marketing_opted: false })

/** Opens the table of vouchers with a search text (R32). */
async function search(text: string, permissions: Permission[]) {
  const token = await build.token([whole(chain)], { permissions })
  const opened = await openView(
    `${new URLSearchParams({ tenant: String(chain), table: 'vouchers', text })}`,
    token.secret,
  )
  await findTable(opened.page, 'Vouchers').waitFor()
  return opened
}

/** Reads the first and the third cell of each row of vouchers. Marked words are in brackets. */
const readVoucherRows = (page: Page) =>
  page.evaluate<string[][]>(`[...document.querySelectorAll('table.vouchers tbody tr')].map(row =>
    [0, 2].map(cell => {
      const copy = row.cells[cell].cloneNode(true)
      for (const mark of copy.querySelectorAll('mark')) mark.textContent = '[' + mark.textContent + ']'
      for (const part of copy.querySelectorAll('.found-in, .of-tenant')) part.prepend(' | ')
      return copy.textContent
    })).sort()`)

const findCustomers = (page: Page) => page.getByRole('region', { name: 'Customers who consent to marketing' })
const findSearchField = (page: Page) => page.getByRole('searchbox', { name: /^Search reference/ })

test('a search marks its words, and names the fields that have them', async () => {
  const { page } = await search('tea', [...vouchers, 'redeem_vouchers', 'export_customer_information'])
  await page.getByLabel('Search reference, recipient, product or customer', { exact: true }).waitFor()
  expect(await readVoucherRows(page)).toEqual([
    ['SPA-1002 | Found in recipient Ann [Tea]r', 'Spa day (50%) | The Old Mill'],
    ['SPA-1003 | Found in product', '<b>Afternoon</b> [tea] | The Old Mill'],
    ['[TEA]-1001 | Found in reference, product, recipient Zoë [Tea]gue', '[Tea] for two | Hollis Leisure'],
  ])
  await findCustomers(page).getByRole('listitem').nth(1).waitFor()
  const found = await findCustomers(page).getByRole('listitem').allInnerTexts()
  expect(found.sort().map(text => text.replaceAll(/\s+/g, ' '))).toEqual([
    'Ann Teasdale ann.teasdale@example.com The Old Mill Found in name, e-mail address',
    'Theo Steadman theo@example.com Hollis Leisure Found in family name',
  ])
  await checkLook(page, 'dashboard-words')

  // The next search has characters that are special in patterns, and no word of the former search.
  await findSearchField(page).fill('(50% d')
  await expect
    .poll(() => readVoucherRows(page))
    .toEqual([['SPA-1002 | Found in product', 'Spa [d]ay [(50%]) | The Old Mill']])
  await findCustomers(page).getByText('No customer has these words.').waitFor()
})

test('a search finds names of recipients and customers only with the permissions for these names', async () => {
  const { page } = await search('SPA', [...vouchers])
  await page.getByLabel('Search reference or product', { exact: true }).waitFor()
  await findSearchField(page).fill('tea')
  const found = [
    ['SPA-1003 | Found in product', '<b>Afternoon</b> [tea] | The Old Mill'],
    ['[TEA]-1001 | Found in reference, product', '[Tea] for two | Hollis Leisure'],
  ]
  await expect.poll(() => readVoucherRows(page)).toEqual(found)
  expect(await page.content()).not.toMatch(/Teague|Teasdale|Customers who consent/)
})

test('the dashboard is accessible and not wider than the screen: wide and narrow, light and dark', async () => {
  const signedOut = await openView('', null)
  await checkLook(signedOut.page, 'dashboard-sign-in')
  const { page } = await openView(`tenant=${mill}&from=2026-01-01&to=2026-03-31`)
  await untilHeading(page, 'The Old Mill')
  await checkLook(page, 'dashboard')
  await page.setViewportSize({ width: 390, height: 900 })
  await page.getByRole('button', { name: 'Choose a tenant' }).click()
  await page.getByLabel('Find a tenant').fill('hollis')
  await page.getByText('2 tenants found.').waitFor()
  await checkLook(page, 'dashboard-search')
})
