// The dashboard shows only the data of the current view, even when an answer is late, incomplete, old or missing.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { DashboardFigures } from '../../packages/dashboard/src/operations.ts'
import { whole } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { until } from '../support/until.ts'
import { delayRequests, downloadCsv, findTablesRegion, interceptRequests, openDashboard } from './dashboard-page.ts'
import { checkLook } from './look.ts'
import { startSite } from './site.ts'

const site = await startSite()
const { build, origin, pool, platform } = site

const sell = (tenant: number, product: number, value: number, day: string, currency = 'GBP') =>
  build.sale(tenant, value, day, { product_id: product, currency })

/** Creates a tenant that sold one product in each half of 2024. `values` has the amount of each half. */
async function createSeller(parent: number, name: string, values: [number, number], currency = 'GBP') {
  const id = await build.tenant({ name, parent_id: parent })
  const product = await build.product(id, { title: `${name} product` })
  await sell(id, product, values[0], '2024-02-01', currency)
  await sell(id, product, values[1], '2024-08-01', currency)
  return id
}

const group = await build.tenant({ name: 'Group' })
const alder = await createSeller(group, 'Alder', [10, 20])
await createSeller(group, 'Birch', [300, 400])
await createSeller(group, 'Elm', [5, 6], 'EUR')
const { secret } = await build.token([whole(group)], { name: 'Viewer' })

const firstHalfParams = 'from=2024-01-01&to=2024-06-30'
const openView = (query: string, token = secret) => openDashboard(site, query, token)

const untilSoldShown = (page: Page, amount: string) =>
  page.locator('.figure-card').first().getByText(amount, { exact: true }).waitFor()
const chooseOption = async (page: Page, name: string) => {
  await page.getByRole('list', { name: 'Tenants', exact: true }).getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
}
const choosePeriod = async (page: Page, from: string, to: string) => {
  await page.getByLabel('From', { exact: true }).fill(from)
  await page.getByLabel('To', { exact: true }).fill(to)
  await page.getByRole('button', { name: 'Show', exact: true }).click()
}

test('while new figures load, the figures of the former view are labelled and cannot be used', async () => {
  const { page } = await openView(`tenant=${alder}&${firstHalfParams}&table=products`)
  await findTablesRegion(page).getByText('Alder product').waitFor()
  const release = await delayRequests(page, DashboardFigures)
  await choosePeriod(page, '2024-07-01', '2024-12-31')
  await page.getByText('1 Jul 2024 to 31 Dec 2024').waitFor()
  await page.locator('.figures[inert][aria-busy=true]').waitFor()
  await release()
  await untilSoldShown(page, '£20.00')
  await findTablesRegion(page).getByText('What was sold from 1 Jul – 31 Dec 2024, in GBP.').waitFor()
  expect(await page.locator('.figures[inert], .figures[aria-busy=true]').count()).toBe(0)
})

test('the figures of the former tenant disappear when the figures of the next tenant cannot be loaded', async () => {
  const { page } = await openView(`tenant=${alder}&${firstHalfParams}`)
  await untilSoldShown(page, '£10.00')
  const stop = await interceptRequests(page, DashboardFigures, route => route.abort())
  await chooseOption(page, 'Birch')
  await page.getByText(/figures could not be loaded/).waitFor()
  expect(await page.getByText('£').count()).toBe(0)
  await stop()
  const release = await delayRequests(page, DashboardFigures)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.locator('.placeholder').first().waitFor()
  expect(await page.getByText('£').count()).toBe(0)
  await release()
  await untilSoldShown(page, '£300.00')
})

test('without a connection the last figures stay with their time; after a reconnection, current figures replace them', async () => {
  const shop = await build.tenant({ name: 'Shop' })
  const product = await build.product(shop, { title: 'Tea' })
  await sell(shop, product, 10, '2024-02-01')
  const { secret: own } = await build.token([shop])
  const { page } = await openView(`tenant=${shop}&${firstHalfParams}&table=products&live=no`, own)
  const row = findTablesRegion(page).getByRole('row', { name: 'Tea' })
  await row.waitFor()
  const [asOf] = /(?<=Figures of )[^.]*/.exec(await page.locator('.as-of').innerText()) ?? []
  const notice = page.getByRole('alert').filter({ hasText: 'The figures' })
  const offline = `The figures are of ${asOf}. This device is offline.`
  await page.context().setOffline(true)
  await notice.getByText(offline).waitFor()
  expect(await page.locator('.figures[inert]').count()).toBe(0)
  await untilSoldShown(page, '£10.00')
  await row.waitFor()

  // Another view has no stored figures. The first view shows its stored figures again.
  await choosePeriod(page, '2024-07-01', '2024-12-31')
  await notice.getByText('The figures could not be loaded. This device is offline.').waitFor()
  expect(await page.getByText('£').count()).toBe(0)
  await page.goBack()
  await notice.getByText(offline).waitFor()
  await untilSoldShown(page, '£10.00')
  expect(await page.evaluate('Object.keys({ ...localStorage, ...sessionStorage })')).toEqual([
    'voucher-gateway:token',
    'voucher-gateway:token-description',
  ])

  await sell(shop, product, 5, '2024-03-01')
  await projected(pool)
  await page.context().setOffline(false)
  await untilSoldShown(page, '£15.00')
  await notice.waitFor({ state: 'detached' })
})

test('when the token ended while the browser was offline, the dashboard deletes all stored answers', async () => {
  const { page } = await openView(`tenant=${alder}&${firstHalfParams}`)
  await untilSoldShown(page, '£10.00')
  await page.context().setOffline(true)
  await page.getByRole('alert').getByText('The figures are of').waitFor()
  await interceptRequests(page, DashboardFigures, route => route.fulfill({ status: 401, json: { errors: [] } }))
  await page.context().setOffline(false)
  await page.getByLabel('Token', { exact: true }).waitFor()
  expect(await page.getByText(/£|Alder/).count()).toBe(0)
})

test('a currency in the address stays chosen even without data, and the page names currencies with data', async () => {
  const { page } = await openView(`tenant=${alder}&${firstHalfParams}&currency=GBP`)
  const chosen = page.getByLabel('Currency', { exact: true }).locator('option:checked')
  const named = (currency: string) => expect.poll(() => chosen.textContent()).toBe(currency)
  await untilSoldShown(page, '£10.00')
  await named('GBP')
  await chooseOption(page, 'Elm')
  await untilSoldShown(page, '£0.00')
  await named('GBP')
  await page.getByText('Nothing in GBP: no vouchers were sold in it').waitFor()
  const others = page.getByRole('navigation', { name: 'Currencies' })
  await others.getByRole('link', { name: 'EUR' }).click()
  await untilSoldShown(page, '€5.00')
  await named('EUR')
})

test('a list shows its first page when its filter changes, or when the cursor in the address is not valid', async () => {
  const busy = await build.tenant({ name: 'Busy', parent_id: group })
  const product = await build.product(busy)
  for (let number = 1; number <= 26; number++) await sell(busy, product, number, '2024-02-01')
  const { page } = await openView(`tenant=${busy}&${firstHalfParams}&table=vouchers`)
  const rows = findTablesRegion(page).locator('table.vouchers tbody tr')
  await page.getByRole('button', { name: 'Next page' }).click()
  await page.waitForURL(/after=/)
  await until('the second page', async () => (await rows.count()) === 1)
  await page.getByLabel('With tenants below').uncheck()
  await until('the first page', async () => (await rows.count()) === 25)

  await page.goto(`${origin}/dashboard?tenant=${busy}&${firstHalfParams}&table=vouchers&before=elsewhere`)
  await findTablesRegion(page).getByText('£26.00').first().waitFor()
  await until('the message is gone', async () => (await page.getByText('no cursor of this list').count()) === 0)
  expect(page.url()).not.toContain('before=')
})

test('a list of products that reaches its limit says so, and so does the name of its file', async () => {
  const tenant = await build.tenant({ name: 'Bazaar' })
  const token = await build.token([tenant])
  for (let number = 1; number <= 101; number++) await sell(tenant, await build.product(tenant), number, '2024-03-01')
  const { page } = await openView(`tenant=${tenant}&${firstHalfParams}&table=products`, token.secret)
  await findTablesRegion(page).getByText('The 100 products that sold most from 1 Jan – 30 Jun 2024, in GBP.').waitFor()
  expect(await findTablesRegion(page).locator('tbody tr').count()).toBe(100)
  const { name } = await downloadCsv(page)
  expect(name).toBe(`top-100-products-${tenant}-2024-01-01-2024-06-30.csv`)
})

test('old figures are shown with their age, which is measured by the clock of the service', async () => {
  // The clock of the browser is a day ahead, and must not change the shown age.
  const clock = Date.now() + 86_400_000
  const { page } = await openDashboard(site, `tenant=${alder}&${firstHalfParams}`, secret, { clock })
  const notice = page.locator('.figures').getByRole('status').filter({ hasText: 'old when they were read' })
  await untilSoldShown(page, '£10.00')
  expect(await notice.count()).toBe(0)

  const stop = await interceptRequests(page, DashboardFigures, async route => {
    const response = await route.fetch()
    const later = new Date(Date.parse(response.headers().date ?? '') + 7_000).toUTCString()
    await route.fulfill({ response, headers: { ...response.headers(), date: later } })
  })
  await page.reload()
  await notice.getByText(/^These figures were \d+ seconds old when they were read/).waitFor()
  await untilSoldShown(page, '£10.00')
  await checkLook(page, 'dashboard-lag')
  await stop()
  await notice.getByRole('button', { name: 'Read again' }).click()
  await notice.waitFor({ state: 'detached' })
})

test('during the first fill the dashboard says so, and shows the figures as soon as the fill is complete', async () => {
  // The clock is set before the page opens: a clock that is installed later says 1970 at first, and the dashboard would
  // read the figures of 1970.
  const { page } = await openDashboard(site, `tenant=${alder}&${firstHalfParams}`, secret, { clock: Date.now() })
  await untilSoldShown(page, '£10.00')
  // A transaction with a long step holds the same lock.
  await platform.begin(async sql => {
    await sql`lock table gateway.step_lock in exclusive mode`
    await platform`update gateway.step set is_complete = false`
    const waits = page.getByRole('status').filter({ hasText: 'The records are being written for the first time.' })
    await page.getByLabel('To', { exact: true }).fill('2024-12-31')
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await waits.getByText(/time\. The dashboard tries again by itself\.$/).waitFor()
    // The earlier view may still be shown while its products are read, so wait until its amounts are gone.
    await page.getByText('£').first().waitFor({ state: 'detached' })
    expect(await page.getByRole('alert').count()).toBe(0)
    await checkLook(page, 'dashboard-counting')
  })
  await projected(pool)
  await page.clock.runFor(20_000)
  await page.getByText('The records are being written for the first time.').waitFor({ state: 'detached' })
})
