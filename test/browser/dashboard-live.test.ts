// The figures, plots and lists of the dashboard change without a reload when records change.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { DashboardFigures } from '../../packages/dashboard/src/operations.ts'
import { projected } from '../support/projected.ts'
import { until } from '../support/until.ts'
import { findTablesRegion, openDashboard } from './dashboard-page.ts'
import { checkLook } from './look.ts'
import { startSite } from './site.ts'

const site = await startSite({ GRAPHQL_DOCUMENTS: 'trusted' })
const { build, pool } = site
const shop = await build.tenant({ name: 'Shop' })
const product = await build.product(shop, { title: 'Tea' })

/** Sells a voucher for 10. @returns the reference of the voucher */
async function sell(): Promise<string> {
  const reference = `LIVE-${++soldCount}`
  await build.sale(shop, 10, '2024-02-01', { reference, product_id: product })
  return reference
}
let soldCount = 0
for (let number = 1; number <= 26; number++) await sell()

async function openShop() {
  const { secret } = await build.token([shop], { rateLimit: 100_000 })
  const query = `tenant=${shop}&from=2024-01-01&to=2024-06-30&table=vouchers&sort=-purchased`
  const { page } = await openDashboard(site, query, secret)
  const counter = { figures: 0 }
  page.on('request', request => {
    if (request.postData()?.includes(DashboardFigures.id)) counter.figures++
  })
  await untilAllShown(page)
  return { page, counter }
}

/** Waits until the headline, the first plot and the count of the list include all sold vouchers. */
async function untilAllShown(page: Page, timeout = 30_000): Promise<void> {
  await page.locator('.figure-card').first().getByText(`£${soldCount}0.00`, { exact: true }).waitFor({ timeout })
  await until('the plot', async () => (await readPlotSummary(page)).includes(`£${soldCount}0`), timeout)
  await findTablesRegion(page).getByText(`${soldCount} vouchers`, { exact: false }).waitFor({ timeout })
}

const readPlotSummary = (page: Page) => page.locator('.plot-card .plot-summary').first().innerText()
const readHeadline = (page: Page) => page.locator('.figure-card').first().innerText()
const findLiveSwitch = (page: Page) => page.getByRole('switch', { name: 'Live' })

test('a sale appears within two seconds, and the scroll position, the focus and the page of the list stay', async () => {
  const { page } = await openShop()
  // A reload of the page would delete this variable.
  await page.evaluate(`window.loads = 0
    new MutationObserver(() => {
      window.loads += document.querySelectorAll('[aria-busy=true], [inert], .placeholder').length
    }).observe(document.body, { subtree: true, childList: true, attributes: true })`)
  const next = page.getByRole('button', { name: 'Next page' })
  await next.focus()
  await next.scrollIntoViewIfNeeded()
  const placeOf = () =>
    page.evaluate<number[]>('[scrollY, document.activeElement.getBoundingClientRect().top].map(Math.round)')
  const place = await placeOf()
  const reference = await sell()
  const committedAt = performance.now()
  await projected(pool)
  await untilAllShown(page, 2_000)
  await findTablesRegion(page).getByText(reference, { exact: true }).waitFor({ timeout: 2_000 })
  expect(performance.now() - committedAt).toBeLessThan(2_000)
  for (const [index, now] of (await placeOf()).entries()) expect(Math.abs(now - place[index]!)).toBeLessThan(2)
  expect(await page.evaluate('[document.activeElement.textContent, window.loads]')).toEqual(['Next page', 0])
  await page.getByText(/^updated \d/).waitFor()
  await checkLook(page, 'dashboard-live')

  await next.click()
  await page.waitForURL(/after=/)
  const row = findTablesRegion(page).locator('table.vouchers tbody tr')
  await until('the second page', async () => (await row.count()) === 2)
  const rows = await row.allInnerTexts()
  await sell()
  await projected(pool)
  await untilAllShown(page, 2_000)
  expect(await row.allInnerTexts()).toEqual(rows)
})

test.each([
  ['switched off', (page: Page) => findLiveSwitch(page).uncheck(), (page: Page) => findLiveSwitch(page).check()],
  ['hidden', (page: Page) => setVisibility(page, 'hidden'), (page: Page) => setVisibility(page, 'visible')],
])('a page that is %s does not move, and catches up', async (_name, stop, start) => {
  const { page, counter } = await openShop()
  const witness = await openShop()
  await stop(page)
  const [before, { figures }] = [await readHeadline(page), { ...counter }]
  await sell()
  await projected(pool)
  await untilAllShown(witness.page, 2_000)
  expect(await readHeadline(page)).toBe(before)
  expect(counter.figures).toBe(figures)
  await start(page)
  await untilAllShown(page, 2_000)
})

const setVisibility = (page: Page, state: string) =>
  page.evaluate<void>(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))`)
