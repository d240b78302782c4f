// The dashboard shows the data of one view, also while an answer is late, incomplete, old or missing.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import {
  DashboardFigures,
  DashboardProducts,
  DashboardTenantsBelow,
  DashboardVoucher,
} from '../../packages/dashboard/src/operations.ts'
import { dayIn } from '../../packages/dashboard/src/period.ts'
import { whole } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { until } from '../support/until.ts'
import { downloadCsv, hold, intercept, openDashboard, rateLimited, tables } from './dashboard-page.ts'
import { look } from './look.ts'
import { startSite } from './site.ts'

const { database, build, origin, browser } = await startSite()

const sell = (tenant: number, product: number, value: number, day: string, currency = 'GBP') =>
  build.sale(tenant, value, day, { product_id: product, currency })

/** A tenant that sold one product in 2024, for one value in the first half and for another in the second. */
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
const mixed = await createSeller(group, 'Mixed', [7, 8], 'EUR')
const { secret } = await build.token([whole(group)], { name: 'Viewer' })

const firstHalf = 'from=2024-01-01&to=2024-06-30'
/** Opens the dashboard with the figures of all that was written. */
async function open(query: string, token = secret) {
  await projected(database.pool)
  return openDashboard(browser, origin, query, token)
}

const sold = (page: Page, amount: string) =>
  page.locator('.figure-card').first().getByText(amount, { exact: true }).waitFor()
const choose = async (page: Page, name: string) => {
  await page.getByRole('list', { name: 'Tenants', exact: true }).getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
}
const choosePeriod = async (page: Page, from: string, to: string) => {
  await page.getByLabel('From', { exact: true }).fill(from)
  await page.getByLabel('To', { exact: true }).fill(to)
  await page.getByRole('button', { name: 'Show', exact: true }).click()
}

test.each([
  ['products', `tenant=${alder}`, DashboardProducts, '£20.00'],
  ['tenants', `tenant=${group}&currency=GBP`, DashboardTenantsBelow, '£420.00'],
] as const)('%s of the period before are not shown with the figures of another', async (name, query, operation, total) => {
  const { page } = await open(`${query}&${firstHalf}&table=${name}`)
  await tables(page).getByText('£10.00').first().waitFor()
  const release = await hold(page, operation)
  await choosePeriod(page, '2024-07-01', '2024-12-31')
  await sold(page, total)
  const parts = [tables(page), page.getByRole('figure', { name: 'Top products' })]
  expect(await Promise.all(parts.map(part => part.getByText('£10.00').count()))).toEqual([0, 0])
  await release()
  await tables(page).getByText('£20.00').first().waitFor()
})

test('figures of the view before are named as such and do not work while others load', async () => {
  const { page } = await open(`tenant=${alder}&${firstHalf}&table=products`)
  await tables(page).getByText('Alder product').waitFor()
  const release = await hold(page, DashboardFigures)
  await choosePeriod(page, '2024-07-01', '2024-12-31')
  await page.getByText('1 Jul 2024 to 31 Dec 2024').waitFor()
  await page.locator('.figures[inert][aria-busy=true]').waitFor()
  await tables(page).getByText('What was sold from 1 Jan – 30 Jun 2024, in GBP.').waitFor()
  await release()
  await sold(page, '£20.00')
  await tables(page).getByText('What was sold from 1 Jul – 31 Dec 2024, in GBP.').waitFor()
  expect((await tables(page).locator('tbody tr').innerText()).split('\t')[3]).toBe('100%')
  expect(await page.locator('.figures[inert], .figures[aria-busy=true]').count()).toBe(0)
})

test('figures of the former tenant are not shown when the figures of the next tenant cannot be loaded', async () => {
  const { page } = await open(`tenant=${alder}&${firstHalf}`)
  await sold(page, '£10.00')
  const stop = await intercept(page, DashboardFigures, route => route.abort())
  await choose(page, 'Birch')
  await page.getByText(/figures could not be loaded/).waitFor()
  expect(await page.getByText('£').count()).toBe(0)
  await stop()
  const release = await hold(page, DashboardFigures)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.locator('.placeholder').first().waitFor()
  expect(await page.getByText('£').count()).toBe(0)
  await release()
  await sold(page, '£300.00')
})

test('without a connection the last figures stay with their time, and current figures replace them when it is back', async () => {
  const shop = await build.tenant({ name: 'Shop' })
  const product = await build.product(shop, { title: 'Tea' })
  await sell(shop, product, 10, '2024-02-01')
  const { secret: own } = await build.token([shop])
  const { page } = await open(`tenant=${shop}&${firstHalf}&table=products`, own)
  const row = tables(page).getByRole('row', { name: 'Tea' })
  await row.waitFor()
  const [asOf] = /(?<=Figures of )[^.]*/.exec(await page.locator('.as-of').innerText()) ?? []
  const notice = page.getByRole('alert').filter({ hasText: 'The figures' })
  const offline = `The figures are of ${asOf}. This device is offline.`
  await page.context().setOffline(true)
  await notice.getByText(offline).waitFor()
  expect(await page.locator('.figures[inert]').count()).toBe(0)
  await sold(page, '£10.00')
  await row.waitFor()

  // Another view does not have them; on the way back they are there again.
  await choosePeriod(page, '2024-07-01', '2024-12-31')
  await notice.getByText('The figures could not be loaded. This device is offline.').waitFor()
  expect(await page.getByText('£').count()).toBe(0)
  await page.goBack()
  await notice.getByText(offline).waitFor()
  await sold(page, '£10.00')
  expect(await page.evaluate('Object.keys({ ...localStorage, ...sessionStorage })')).toEqual([
    'voucher-gateway:token',
    'voucher-gateway:token-description',
  ])

  // The service is out of order when the connection is back: a button asks again.
  const stop = await intercept(page, DashboardFigures, route => route.fulfill({ status: 503, body: '' }))
  await page.context().setOffline(false)
  await notice.getByText(`The figures are of ${asOf}. The service answered with status 503.`).waitFor()
  await sold(page, '£10.00')
  await stop()
  await sell(shop, product, 5, '2024-03-01')
  await projected(database.pool)
  const release = await hold(page, DashboardFigures)
  await notice.getByRole('button', { name: 'Try again' }).click()
  await notice.waitFor()
  await release()
  await sold(page, '£15.00')
  expect(await notice.count()).toBe(0)

  await page.context().setOffline(true)
  await notice.waitFor()
  await page.context().setOffline(false)
  await notice.waitFor({ state: 'detached' })
  await sold(page, '£15.00')
})

test('nothing is kept of a token that ended without a connection', async () => {
  const { page } = await open(`tenant=${alder}&${firstHalf}`)
  await sold(page, '£10.00')
  await page.context().setOffline(true)
  await page.getByRole('alert').getByText('The figures are of').waitFor()
  await intercept(page, DashboardFigures, route => route.fulfill({ status: 401, json: { errors: [] } }))
  await page.context().setOffline(false)
  await page.getByLabel('Token', { exact: true }).waitFor()
  expect(await page.getByText(/£|Alder/).count()).toBe(0)
})

test('figures that the service refuses are not announced as loading', async () => {
  const { page } = await open(`tenant=${alder}&${firstHalf}&zone=Nowhere/Else`)
  await page.getByText('The figures could not be read. A message above says why.').waitFor()
  await page.locator('.warning').getByText('The request is not valid.').waitFor()
  expect(await page.locator('.placeholder').count()).toBe(0)
})

test('the currency of the address stays chosen when it has no data, and the page names the others', async () => {
  const { page } = await open(`tenant=${alder}&${firstHalf}&currency=GBP`)
  const chosen = page.getByLabel('Currency', { exact: true }).locator('option:checked')
  const named = (currency: string) => expect.poll(() => chosen.textContent()).toBe(currency)
  await sold(page, '£10.00')
  await named('GBP')
  await choose(page, 'Elm')
  await sold(page, '£0.00')
  await named('GBP')
  await page.getByText('Nothing in GBP: no vouchers were sold in it').waitFor()
  const others = page.getByRole('navigation', { name: 'Currencies' })
  await others.getByText('€5.00 from 1 voucher sold, €11.00 from 2 vouchers outstanding').waitFor()
  await others.getByRole('link', { name: 'EUR' }).click()
  await sold(page, '€5.00')
  await named('EUR')

  for (const _ of [1, 2, 3]) await build.voucher(mixed, { purchase_timestamp: '2024-03-01T12:00:00Z' })
  await projected(database.pool)
  await choose(page, 'Mixed')
  await sold(page, '€7.00')
  await named('EUR')
  await others.getByText('No currency: 3 vouchers sold').waitFor()
})

test('a list begins again when what it lists changes, and when the address names no place in it', async () => {
  const busy = await build.tenant({ name: 'Busy', parent_id: group })
  for (let number = 1; number <= 26; number++) await build.tenant({ name: `Stall ${number}`, parent_id: busy })
  const product = await build.product(busy)
  for (let number = 1; number <= 26; number++) await sell(busy, product, number, '2024-02-01')
  const { page } = await open(`tenant=${busy}&${firstHalf}&table=vouchers`)
  const rows = tables(page).locator('table.vouchers tbody tr')
  const next = page.getByRole('button', { name: 'Next page' })
  await next.click()
  await page.waitForURL(/after=/)
  await until('the second page', async () => (await rows.count()) === 1)
  await page.getByLabel('With tenants below').uncheck()
  await until('the first page', async () => (await rows.count()) === 25)
  await next.click()
  await until('the second page of the other list', async () => (await rows.count()) === 1)

  for (const [name, row] of [
    ['vouchers', '£26.00'],
    ['tenants', 'Stall 10'],
  ] as const) {
    await page.goto(`${origin}/dashboard?tenant=${busy}&${firstHalf}&table=${name}&before=elsewhere`)
    await tables(page).getByText(row).first().waitFor()
    await until('the message is gone', async () => (await page.getByText('no cursor of this list').count()) === 0)
    expect(page.url()).not.toContain('before=')
    expect(await next.isEnabled()).toBe(true)
  }
})

test('an error of one view is not shown above another', async () => {
  const { page } = await open(`tenant=${alder}&${firstHalf}&table=vouchers&text=${'x'.repeat(300)}`)
  const fault = page.getByText(/^The request is not valid\. Give at most \d+ characters\.$/)
  await fault.waitFor()
  await tables(page).getByText('The vouchers could not be read.').waitFor()
  await choose(page, 'Birch')
  await sold(page, '£300.00')
  expect(await fault.count()).toBe(0)
})

test('a request that waits for the rate and is cancelled leaves no notice', async () => {
  const { page } = await open(`tenant=${alder}&${firstHalf}&table=vouchers`)
  const waits = page.getByText('The rate of this token is used up.')
  await intercept(page, DashboardVoucher, route => route.fulfill(rateLimited(60)))
  await tables(page).locator('table.vouchers').getByRole('link').first().click()
  await waits.waitFor({ state: 'attached' })
  await page.keyboard.press('Escape')
  await until('the notice is gone', async () => (await waits.count()) === 0, 5_000)
})

test('vouchers that expire by the day of their tenant are listed too, and the link mentions them', async () => {
  // Their days always differ.
  const east = await build.tenant({ name: 'East', parent_id: group, time_zone: 'Pacific/Kiritimati' })
  const west = await build.tenant({ name: 'West', parent_id: east, time_zone: 'Pacific/Pago_Pago' })
  const today = dayIn('Pacific/Pago_Pago', new Date())
  const balances = { initial_balance: 5, current_balance: 5, currency: 'GBP' }
  await build.voucher(west, { ...balances, date_valid_end: today })
  const { page } = await open(`tenant=${east}`)
  const detail = page.locator('.figure-card', { hasText: 'Expiring' }).locator('.detail')
  await detail.getByText('1 voucher, each by the day at its tenant').waitFor()
  await detail.getByRole('link').click()
  await tables(page).locator('.table-tools').getByText('1 voucher', { exact: true }).waitFor()
})

test('a figure without a currency leads to no list: no filter finds its vouchers', async () => {
  const tenant = await build.tenant({ name: 'Barter', parent_id: group })
  const product = await build.product(tenant, { title: 'Swap' })
  await build.voucher(tenant, { product_id: product, purchase_timestamp: '2024-03-01T12:00:00Z' })
  await sell(tenant, product, 5, '2024-03-01')
  await build.voucher(tenant, { product_id: product, purchase_timestamp: '2024-03-01T12:00:00Z' })
  const { page } = await open(`tenant=${tenant}&${firstHalf}&table=products`)
  const figure = page.getByRole('figure', { name: 'Top products' })
  await figure.getByText('Swap', { exact: true }).waitFor()
  const links = [figure, tables(page).locator('table'), page.locator('.figure-cards')]
  expect(await Promise.all(links.map(part => part.getByRole('link').count()))).toEqual([0, 0, 0])
  await page.getByLabel('Currency', { exact: true }).selectOption('GBP')
  await figure.getByRole('link', { name: 'Swap' }).waitFor()
})

test('a list of products that is cut at its limit has a note, and so has its file', async () => {
  const tenant = await build.tenant({ name: 'Bazaar' })
  const token = await build.token([tenant])
  for (let number = 1; number <= 101; number++) await sell(tenant, await build.product(tenant), number, '2024-03-01')
  const { page } = await open(`tenant=${tenant}&${firstHalf}&table=products`, token.secret)
  await tables(page).getByText('The 100 products that sold most from 1 Jan – 30 Jun 2024, in GBP.').waitFor()
  expect(await tables(page).locator('tbody tr').count()).toBe(100)
  const { name } = await downloadCsv(page)
  expect(name).toBe(`top-100-products-${tenant}-2024-01-01-2024-06-30.csv`)
})

test('the address has the search of a table, and other tables ignore it', async () => {
  const { page } = await open(`tenant=${group}&${firstHalf}&table=products&currency=GBP`)
  const names = () => tables(page).locator('tbody th').allInnerTexts()
  await tables(page).getByLabel('Search in Products').fill('birch ')
  await page.waitForURL(/text=birch&|text=birch$/)
  expect(await names()).toEqual(['Birch product'])
  expect(await tables(page).getByLabel('Search in Products').inputValue()).toBe('birch ')
  await page.reload()
  await tables(page).getByText('Birch product').waitFor()
  expect(await names()).toEqual(['Birch product'])
  await tables(page).getByLabel('Search in Products').fill('')
  await tables(page).getByText('Alder product').waitFor()
  await tables(page).getByLabel('Search in Products').fill('alder')
  await page.waitForURL(/text=alder/)
  await tables(page).getByRole('link', { name: 'Tenants', exact: true }).click()
  await tables(page).getByRole('link', { name: 'Birch', exact: true }).waitFor()
})

test('figures that are old are shown with their age, by the clock of the service', async () => {
  await projected(database.pool)
  // The browser's clock is a day ahead: it does not count.
  const { page } = await openDashboard(browser, origin, `tenant=${alder}&${firstHalf}`, secret, {
    clock: Date.now() + 86_400_000,
  })
  const notice = page.locator('.figures').getByRole('status').filter({ hasText: 'old when they were read' })
  await sold(page, '£10.00')
  expect(await notice.count()).toBe(0)

  const stop = await intercept(page, DashboardFigures, async route => {
    const response = await route.fetch()
    const later = new Date(Date.parse(response.headers().date ?? '') + 7_000).toUTCString()
    await route.fulfill({ response, headers: { ...response.headers(), date: later } })
  })
  await page.reload()
  await notice.getByText(/^These figures were \d+ seconds old when they were read/).waitFor()
  await sold(page, '£10.00')
  await look(page, 'dashboard-lag')
  await stop()
  await notice.getByRole('button', { name: 'Read again' }).click()
  await notice.waitFor({ state: 'detached' })
  await sold(page, '£10.00')
})

test('during the first fill it says so, and shows them as soon as it finds them', async () => {
  // A clock that is installed in an open page says 1970 for a moment, and the dashboard asks for the figures of that day.
  const { page } = await openDashboard(browser, origin, `tenant=${alder}&${firstHalf}`, secret, { clock: Date.now() })
  await sold(page, '£10.00')
  // As a transaction that makes a long step holds them.
  await database.platform.begin(async sql => {
    await sql`lock table gateway.step_lock in exclusive mode`
    await database.platform`update gateway.step set is_complete = false`
    const waits = page.getByRole('status').filter({ hasText: 'The records are being written for the first time.' })
    await page.getByLabel('To', { exact: true }).fill('2024-12-31')
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await waits.getByText(/time\. The dashboard tries again by itself\.$/).waitFor()
    // A request for the products of the earlier view can be the first to find it.
    await page.getByText('£').first().waitFor({ state: 'detached' })
    expect(await page.getByRole('alert').count()).toBe(0)
    await look(page, 'dashboard-counting')

    // The earlier figures stay, with their time.
    await page.goBack()
    await page.getByText(/The figures are of .* for the first time\. The dashboard tries/).waitFor()
    await sold(page, '£10.00')
  })
  await projected(database.pool)
  await page.clock.runFor(20_000)
  await page.getByText('The records are being written for the first time.').waitFor({ state: 'detached' })
})
