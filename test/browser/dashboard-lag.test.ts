// The notices of the dashboard for figures that are old or do not exist yet.
import { expect, test } from 'vitest'
import { DashboardFigures } from '../../packages/dashboard/src/operations.ts'
import { projected } from '../support/projected.ts'
import { intercept, openDashboard } from './dashboard-page.ts'
import { look } from './look.ts'
import { startSite } from './site.ts'

const { database, build, origin, browser } = await startSite()
const { pool, platform } = database
const shop = await build.tenant({ name: 'Shop' })
await build.sale(shop, 10, '2024-02-01')
const { secret } = await build.token([shop])
const query = `tenant=${shop}&from=2024-01-01&to=2024-06-30`

/** Holds the steps, as a transaction that makes a long one does, while the work is done. */
const holdSteps = (work: () => Promise<void>) =>
  platform.begin(async sql => {
    await sql`lock table gateway.step_lock in exclusive mode`
    await work()
  })

test('figures that are old are shown with their age, by the clock of the service', async () => {
  await projected(pool)
  // The browser's clock is a day ahead: it does not count.
  const { page } = await openDashboard(browser, origin, query, secret, { clock: Date.now() + 86_400_000 })
  const notice = page.locator('.figures').getByRole('status').filter({ hasText: 'old when they were read' })
  const sold = page.locator('.figure-card').first().getByText('£10.00', { exact: true })
  await sold.waitFor()
  expect(await notice.count()).toBe(0)

  const stop = await intercept(page, DashboardFigures, async route => {
    const response = await route.fetch()
    const later = new Date(Date.parse(response.headers().date ?? '') + 7_000).toUTCString()
    await route.fulfill({ response, headers: { ...response.headers(), date: later } })
  })
  await page.reload()
  await notice.getByText(/^These figures were \d+ seconds old when they were read/).waitFor()
  await sold.waitFor()
  await look(page, 'dashboard-lag')
  await stop()
  await notice.getByRole('button', { name: 'Read again' }).click()
  await notice.waitFor({ state: 'detached' })
  await sold.waitFor()
})

test('during the first fill it says so, and shows them as soon as it finds them', async () => {
  const { page } = await openDashboard(browser, origin, query, secret)
  await page.locator('.figure-card').first().waitFor()
  await page.clock.install()
  await holdSteps(async () => {
    await platform`update gateway.step set is_complete = false`
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
    await page.getByText(/The figures are those of .* for the first time\. The dashboard tries/).waitFor()
    await page.locator('.figure-card').first().getByText('£10.00', { exact: true }).waitFor()
  })
  await projected(pool)
  await page.clock.runFor(20_000)
  await page.getByText('The records are being written for the first time.').waitFor({ state: 'detached' })
})
