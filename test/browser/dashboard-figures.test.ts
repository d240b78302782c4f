import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { loadDemo } from '../../src/demo/load.ts'
import { whole } from '../support/builders.ts'
import { downloadCsv, findTable, findTablesRegion, openDashboard } from './dashboard-page.ts'
import { checkLook, saveScreenshot, takesScreenshots } from './look.ts'
import { startSite } from './site.ts'

const site = await startSite()
const { build, origin, platform } = site
await loadDemo(platform, { scale: 1 })

/** The id of the group tenant in the demo data. */
const group = 1
const { secret } = await build.token([whole(group)], { name: 'Viewer' })

const openFigures = (query = '', token = secret, tenant: number | string = group) =>
  openDashboard(site, `tenant=${tenant}&${query}`, token)

const readCells = async (page: Page, name: string) =>
  (await findTable(page, name).locator('tbody tr').allInnerTexts()).map(row => row.split('\t'))
const findCard = (page: Page, name: string) =>
  page.locator('.figure-card', { has: page.getByText(name, { exact: true }) })
const readCardLines = async (page: Page, name: string) =>
  (await findCard(page, name).innerText()).split('\n').filter(Boolean)
const formatNumber = (number: number) => new Intl.NumberFormat('en-GB').format(number)
const readParams = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)

const inGroupCondition = platform`tenant_id in (
  with recursive below as (select id from tenant where id = ${group}
    union all select t.id from tenant t join below on t.parent_id = below.id)
  select id from below)`

const [days] = await platform<{ from: string; to: string; before: string; lastYear: string }[]>`
  select to_char(date_trunc('month', d) - interval '3 months', 'YYYY-MM-DD') as from,
         to_char(date_trunc('month', d) - interval '1 day', 'YYYY-MM-DD') as to,
         to_char(date_trunc('month', d) - interval '3 months 1 day', 'YYYY-MM-DD') as before,
         to_char(date_trunc('month', d) - interval '15 months', 'YYYY-MM-DD') as "lastYear"
  from (select now() at time zone 'Europe/London' as d) today`
if (!days) throw new Error('the database has no clock')

/** The parameters of the address for three whole months. */
const periodParams = `from=${days.from}&to=${days.to}&by=month`

test('the cards show the sums of the records, and the change against the chosen earlier period', async () => {
  const shop = await build.tenant({ name: 'Counted', time_zone: 'Europe/London' })
  const soon = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10)
  await build.sale(shop, 100, days.lastYear)
  await build.sale(shop, 50, days.before, { current_balance: 0 })
  await build.sale(shop, 80.5, days.from, { current_balance: 60.25, date_valid_end: soon })
  await build.sale(shop, 70, days.to, { initial_balance: null, current_balance: null })
  await build.sale(shop, 50, days.to, { void: true })
  await build.sale(shop, 30, days.to, { currency: 'EUR' })
  const ended = { date_valid_end: '2021-01-01' }
  await build.sale(shop, 20, '2020-01-01', { ...ended, current_balance: 12 })
  await build.sale(shop, 1, '2020-01-01', { ...ended, currency: 'HUF', current_balance: 0.5 })
  await build.sale(shop, 9, '2020-01-01', { ...ended, initial_balance: null, current_balance: null })
  await build.sale(shop, 5, '2020-01-01', { ...ended, current_balance: 0 })
  const { secret: other } = await build.token([shop])
  const { page } = await openFigures(`${periodParams}&currency=GBP`, other, shop)
  const cards = page.locator('.figure-card')
  await cards.first().waitFor()
  const texts = (await cards.allInnerTexts()).map(text => text.split('\n').filter(Boolean))
  const without = '1 of them without a balance, as for an experience (£70.00 paid)'
  expect(texts.slice(0, 4)).toEqual([
    ['Sold', '£150.50', '2 vouchers', expect.stringMatching(/^\+51% compared with 1 .* \d{4}: £100\.00$/)],
    [
      ...['Redeemed of these', '£20.25', `25% of their balances; ${without}`],
      'Not compared: earlier sales had longer to be redeemed',
    ],
    ['Outstanding now', '£160.25', `3 vouchers, ${without}`, 'Whenever they were sold'],
    ['Expiring within 30 days', '£60.25', expect.stringMatching(/^1 voucher\b/), '38% of the outstanding balance'],
  ])
  const shares = page.getByRole('table', { name: 'Vouchers by status' }).getByRole('row')
  expect((await shares.allInnerTexts()).slice(1).map(text => text.replaceAll(/\s+/g, ' ').trim())).toEqual([
    ...['Void 1 10%', 'Redeemed 2 20%', 'Expired £12.00 and HUF 0.50 left, 1 unused without a balance 3 30%'],
    ...['Not yet valid 0 0%', 'Partly redeemed 1 10%', 'Redeemable 3 30%'],
  ])
  await page.getByLabel('Compare with').selectOption('Period before')
  await cards.first().getByText('+201%').waitFor()
  expect((await readCardLines(page, 'Sold'))[3]).toMatch(/£50\.00$/)
})

test('the page explains an invalid address, and figures that it cannot show', async () => {
  const { page } = await openFigures('currency=pounds&table=vouchers&least=some')
  await page.getByText('“pounds” in the address is not a currency code').waitFor()
  await page.getByText('Give an amount, for example 12.50.').waitFor()

  const empty = await build.tenant({ name: 'Nothing sold' })
  const token = await build.token([empty], { permissions: ['view_vouchers', 'view_orders'] })
  const other = await openFigures('', token.secret, empty)
  await other.page.getByText('No vouchers were sold in this period.').first().waitFor()
  await other.page.getByText('There are no vouchers yet.').waitFor()
  await findTablesRegion(other.page).getByText('There are no sales yet.', { exact: true }).waitFor()
  await other.page.goto(`${origin}/dashboard?tenant=${empty}&voucher=bm90aGluZw`)
  await other.page.getByText('This voucher does not exist, or the token may not see it.').waitFor()
})

test('a plot is a slider over its values, and a table has the same values', async () => {
  const { page } = await openFigures(`${periodParams}&currency=GBP`)
  const slider = page.getByRole('slider', { name: 'Vouchers sold' })
  await slider.focus()
  const month = (index: number) => {
    const date = new Date(days.from)
    date.setUTCMonth(date.getUTCMonth() + index)
    return date.toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })
  }
  const values = () => slider.getAttribute('aria-valuetext')
  expect(await values()).toContain(`${month(2)}: £`)
  await page.keyboard.press('ArrowLeft')
  expect(await values()).toContain(`${month(1)}: £`)
  const figure = page.getByRole('figure', { name: 'Vouchers sold' })
  expect(await figure.locator('.readout').innerText()).toBe(await values())
  await figure.getByText('The numbers as a table').click()
  const rows = await figure.locator('tbody tr').allInnerTexts()
  expect(rows.map(row => row.split('\t')[0])).toEqual([0, 1, 2].map(month))
})

test('the browser sorts the periods, and the downloaded file has the same order', async () => {
  const { page } = await openFigures(`${periodParams}&currency=GBP`)
  await findTable(page, 'Periods').getByRole('button', { name: 'Paid', exact: true }).click()
  await findTablesRegion(page)
    .getByRole('columnheader', { name: 'Paid', exact: true })
    .and(page.locator('[aria-sort=descending]'))
    .waitFor()
  const amountOf = (text = '') => Number(text.replace(/[£,]/g, ''))
  const amounts = (await readCells(page, 'Periods')).map(cells => amountOf(cells[2]))
  expect(amounts).toEqual(amounts.toSorted((one, other) => other - one))
  expect(amounts.reduce((all, amount) => all + amount, 0)).toBeCloseTo(
    amountOf((await readCardLines(page, 'Sold'))[1]),
    2,
  )
  const { records } = await downloadCsv(page)
  expect(Object.keys(records[0] ?? {}).slice(0, 4)).toEqual(['From', 'Currency', 'Vouchers', 'Paid'])
  expect(records.map(({ Currency, Paid }) => [Currency, Paid])).toEqual(amounts.map(amount => ['GBP', String(amount)]))
})

test('a table compares the tenants below, and each row links to the figures of its tenant', async () => {
  const { page } = await openFigures(`${periodParams}&currency=GBP&table=tenants`)
  await findTable(page, 'Tenants below').waitFor()
  const names = await platform<{ name: string }[]>`select name from tenant where parent_id = ${group}`
  const rows = await readCells(page, 'Tenants below')
  expect(rows).toHaveLength(1 + names.length)
  // The sum of the rows is the total, and the card shows the same total.
  const amountOf = (text = '') => Number(text.replace(/[£,]/g, '').replace('–', '0'))
  const sumOf = (cell: number) => rows.reduce((all, cells) => all + amountOf(cells[cell]), 0)
  const total = (await findTable(page, 'Tenants below').locator('tfoot tr').innerText()).split('\t')
  for (const cell of [1, 2, 10]) expect(sumOf(cell), `column ${cell}`).toBeCloseTo(amountOf(total[cell]), 2)
  expect(total[2]).toBe((await readCardLines(page, 'Sold'))[1])
  expect(total[10]).toBe((await readCardLines(page, 'Outstanding now'))[1])
  // A tenant that sold only in another currency shows a dash instead of zero.
  const ireland = rows.find(([name]) => name === 'Foxglove & Tern Ireland')
  expect([ireland?.[2], ireland?.[3]]).toEqual(['–', expect.stringMatching(/^€[\d,.]+$/)])
  // The file has one row per tenant and currency.
  const { records } = await downloadCsv(page)
  const inIreland = records.filter(({ Tenant }) => Tenant === 'Foxglove & Tern Ireland')
  expect(inIreland.map(({ Currency }) => Currency)).not.toContain('GBP')
  const { name } = names[0]!
  await findTable(page, 'Tenants below').getByRole('link', { name }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
})

test('a page of many tenants costs only a part of the usual rate, and the download has all tenants', async () => {
  const chain = await build.tenant({ name: 'Chain' })
  const shops = Array.from({ length: 12 }, (_, index) => `Shop ${String(index + 1).padStart(2, '0')}`)
  for (const [index, name] of shops.entries()) {
    await build.sale(await build.tenant({ name, parent_id: chain }), index + 1, days.from)
  }
  const token = await build.token([whole(chain)], { rateLimit: 1200 })
  const { page } = await openFigures(`${periodParams}&table=tenants`, token.secret, chain)
  const names = async () => (await readCells(page, 'Tenants below')).map(([name]) => name)
  const see = (name: string) => findTable(page, 'Tenants below').getByRole('link', { name }).waitFor()
  await see('Shop 10')
  expect(await names()).toEqual(['Chain itself', ...shops.slice(0, 10)])
  await page.getByRole('button', { name: 'Next page' }).click()
  await see('Shop 12')
  expect(await names()).toEqual(['Shop 11', 'Shop 12'])
  // The last request read only a page of the tenants.
  await expect.poll(() => page.locator('.rate').innerText()).toMatch(/^The last answer counted as \d\d operations/)

  const { records } = await downloadCsv(page)
  expect(records.map(({ Tenant }) => Tenant)).toEqual(['Chain itself', ...shops])
  await findTablesRegion(page).getByText('The file has 12 tenants.').waitFor()
})

test('products with the same title show their tenants, or their ids when they belong to one tenant', async () => {
  const chain = await build.tenant({ name: 'Two spas' })
  const sell = async (tenant: number, title: string, value: number) => {
    const product = await build.product(tenant, { title })
    await build.sale(tenant, value, days.from, { product_id: product })
    return product
  }
  const lake = await build.tenant({ name: 'Lake', parent_id: chain })
  const hill = await build.tenant({ name: 'Hill', parent_id: chain })
  await sell(lake, 'Spa day', 50)
  const first = await sell(hill, 'Spa day', 40)
  const second = await sell(hill, 'Spa day', 30)
  await sell(hill, 'Massage', 20)
  const names = ['Spa day · Lake', `Spa day · Hill · ${first}`, `Spa day · Hill · ${second}`, 'Massage']
  const token = await build.token([whole(chain)])
  const { page } = await openFigures(`${periodParams}&table=products`, token.secret, chain)
  await findTable(page, 'Products').waitFor()
  expect((await readCells(page, 'Products')).map(([name]) => name)).toEqual(names)
})

test('the service searches, filters, sorts and pages the vouchers, and the back button restores the former list', async () => {
  const { page } = await openFigures(`${periodParams}&table=vouchers&currency=GBP`)
  await findTable(page, 'Vouchers').waitFor()
  await findTable(page, 'Vouchers').getByRole('button', { name: 'Purchased' }).click()
  await page.waitForURL(/sort=purchased/)
  const sorted = await platform<{ reference: string }[]>`
    select reference from purchased_voucher where ${inGroupCondition} order by purchase_timestamp, id limit 26`
  await findTable(page, 'Vouchers').getByRole('link', { name: sorted[0]!.reference, exact: true }).waitFor()
  expect((await readCells(page, 'Vouchers')).map(([reference]) => reference)).toEqual(
    sorted.slice(0, 25).map(({ reference }) => reference),
  )
  await page.getByRole('button', { name: 'Next page' }).click()
  await findTable(page, 'Vouchers').getByRole('link', { name: sorted[25]!.reference, exact: true }).waitFor()
  await page.goBack()
  await findTable(page, 'Vouchers').getByRole('link', { name: sorted[0]!.reference, exact: true }).waitFor()

  await page.getByRole('checkbox', { name: 'Void', exact: true }).check()
  const [voided] = await platform<{ vouchers: number }[]>`
    select count(*)::int as vouchers from purchased_voucher where ${inGroupCondition} and void`
  await findTablesRegion(page)
    .getByText(`${formatNumber(voided!.vouchers)} vouchers`, { exact: true })
    .waitFor()
  // The list and its count arrive in two answers.
  const listed = async (cell: number) => (await readCells(page, 'Vouchers')).map(cells => cells[cell]?.trim())
  await expect.poll(async () => new Set(await listed(1))).toEqual(new Set(['Void']))
  await page.getByRole('button', { name: 'Clear the filters' }).click()
  await page.getByLabel(/^Search reference/).fill(sorted[3]!.reference)
  await findTablesRegion(page).getByText('1 voucher', { exact: true }).waitFor()
  await expect.poll(() => listed(0)).toEqual([`${sorted[3]!.reference}\nFound in reference`])
  await page.getByLabel(/^Search reference/).fill('no such voucher')
  await page.getByText('No voucher matches these filters.').waitFor()
})

/** Matches the number of vouchers at the end of a text such as `£1,204.00 from 31 vouchers`, or in a cell. */
const numberAtEnd = /([\d,]+)(?: vouchers?)?$/

test('each number of vouchers links to a list of exactly these vouchers', async () => {
  const { page } = await openFigures(`${periodParams}&currency=GBP`)
  const figure = (name: string) => page.getByRole('figure', { name })
  const rows = (name: string, part: string) => findTable(page, name).locator(part)
  const listed = findTablesRegion(page).locator('.table-tools [role=status]').first()
  for (const [shown, place] of [
    ['Periods', findCard(page, 'Sold')],
    ['Periods', findCard(page, 'Expiring within 30 days')],
    ['Periods', page.getByRole('navigation', { name: 'Currencies' }).locator('li', { hasText: 'EUR' })],
    ['Periods', figure('Vouchers sold').locator('.readout')],
    ['Periods', rows('Periods', 'tbody tr').nth(1)],
    ['Products', rows('Products', 'tbody tr').first()],
    ['Tenants', rows('Tenants below', 'tfoot')],
  ] as const) {
    await findTablesRegion(page).getByRole('link', { name: shown, exact: true }).click()
    // The pointer leaves the bars, because the readout shows the bar under the pointer.
    await page.mouse.move(0, 0)
    const link = place.getByRole('link').filter({ hasText: numberAtEnd }).first()
    const words = await link.innerText()
    await link.click()
    await expect
      .poll(() => listed.innerText(), { message: `${shown}: ${words}` })
      .toMatch(new RegExp(`^${numberAtEnd.exec(words)?.[1]} vouchers?\\b`))
    await expect.poll(() => page.evaluate('document.activeElement.querySelector("table.vouchers") !== null')).toBe(true)
    await page.goBack()
    await findTable(page, 'Vouchers').waitFor({ state: 'detached' })
  }

  // A click on a bar lists the vouchers that the readout counts, and the tab lists all vouchers.
  const plot = figure('Vouchers sold')
  const first = { position: { x: 20, y: 60 } }
  await plot.getByRole('slider').hover(first)
  const [, bar] = numberAtEnd.exec(await plot.locator('.readout').innerText()) ?? []
  await plot.getByRole('slider').click(first)
  await expect.poll(() => listed.innerText()).toBe(`${bar} vouchers`)
  expect(readParams(page)['bought-from']).toBe(days.from)
  await findTablesRegion(page).getByRole('link', { name: 'Vouchers', exact: true }).click()
  const all = (await readCardLines(page, 'Sold'))[2]
  await expect.poll(() => listed.innerText()).toMatch(new RegExp(`^${all} purchased .*, in GBP$`))
  // A change of the period changes the list too.
  await page.locator('#period').selectOption('Last month')
  await expect
    .poll(async () => (await listed.innerText()).startsWith(`${(await readCardLines(page, 'Sold'))[2]} `))
    .toBe(true)
})

test('the file of sold vouchers has plain numbers, whose sum equals the figure on the page', async () => {
  const { page } = await openFigures(`${periodParams}&currency=GBP`)
  await findCard(page, 'Sold').getByRole('link').click()
  await findTable(page, 'Vouchers').waitFor()
  const { records } = await downloadCsv(page)
  await findTablesRegion(page)
    .getByText(`The file has ${formatNumber(records.length)} vouchers.`)
    .waitFor()
  // The list has several pages.
  expect(records.length).toBeGreaterThan(100)
  const paid = records.reduce((all, { Paid }) => all + Number(Paid), 0).toFixed(2)
  expect(paid).toBe((await readCardLines(page, 'Sold'))[1]?.replace(/[£,]/g, ''))
})

test('a voucher opens over the page, with the keyboard too, and the back button returns to its row', async () => {
  const { page } = await openFigures(`${periodParams}&table=vouchers&sort=purchased`)
  const [first] = await platform<{ reference: string; product_title: string; name: string }[]>`
    select reference, product_title, name from purchased_voucher v join tenant t on t.id = v.tenant_id
    where ${inGroupCondition} order by purchase_timestamp, v.id limit 1`
  const link = findTable(page, 'Vouchers').getByRole('link', { name: first!.reference, exact: true })
  await link.focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: `Voucher ${first!.reference}` })
  await dialog.waitFor()
  await dialog.getByRole('link', { name: first!.name }).waitFor()
  const address = page.url()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(await page.evaluate('document.activeElement.textContent')).toBe(first!.reference)
  expect(readParams(page).voucher).toBeUndefined()

  await page.goto(address)
  await dialog.waitFor()
  await dialog.getByRole('link', { name: first!.product_title }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByLabel('Product', { exact: true }).waitFor()
  expect(readParams(page).product).toMatch(/^\d+$/)
})

test('on a narrow screen table rows look like labelled cards, and assistive technology still finds a table', async () => {
  const { page } = await openFigures('currency=GBP')
  const shown = findTablesRegion(page).locator('table.data')
  await findTable(page, 'Periods').waitFor()
  const headings = await shown.locator('thead th').allInnerTexts()
  await page.setViewportSize({ width: 390, height: 900 })
  const labels = await page.evaluate<string[]>(`[...document.querySelector('.tables tbody tr').cells].slice(1)
    .map(cell => getComputedStyle(cell, '::before').content.match(/"(.*?)"/)[1])`)
  expect(labels).toEqual(headings.slice(1))
  // In the accessibility tree each label occurs once, so a screen reader does not read a label twice.
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  const namesOf = (role: string) => nodes.filter(node => node.role?.value === role).map(node => node.name?.value)
  expect(namesOf('columnheader')).toContain('Paid')
  expect(namesOf('cell')).toContain(await shown.locator('td[data-label=Paid]').first().innerText())
  expect(namesOf('table')).toContain('Periods')
})

test('the printed dashboard describes its view in words, uses light colours, and has no controls', async () => {
  const { page } = await openFigures('currency=GBP&period=last-12-months&table=tenants')
  await findTable(page, 'Tenants below').waitFor()
  // 703 px is the width of A4 paper between its margins.
  await page.setViewportSize({ width: 703, height: 1000 })
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  const heading = await page.locator('.print-heading').innerText()
  // In December, the twelve months are of one year.
  expect(heading).toMatch(/^1 \w+( 20\d\d)? – \d+ \w+ 20\d\d, amounts in GBP, with the tenants below\./)
  expect(await page.locator('figure:visible').count()).toBe(6)
  const controls = page.locator('input:visible, select:visible, summary:visible, .site-header:visible, aside:visible')
  expect(await controls.count()).toBe(0)
  expect((await findTable(page, 'Tenants below').boundingBox())!.width).toBeLessThanOrEqual(703)
  const colors = await page.evaluate<string[]>(`['body', '.figure-card'].map(selector =>
    getComputedStyle(document.querySelector(selector)).backgroundColor)`)
  expect(colors).toEqual(['rgb(255, 255, 255)', 'rgb(255, 255, 255)'])
})

test('each part of the dashboard is accessible and not wider than the screen: wide and narrow, light and dark', async () => {
  const { page } = await openFigures(`currency=GBP`)
  const [voucher] = await platform<{ reference: string }[]>`
    select reference from purchased_voucher where tenant_id = ${group} and not void limit 1`
  const year = 'from=2025-12-01&to=2026-11-30&by=day&table=products'
  const [products, vouchers, tenants] = ['Products', 'Vouchers', 'Tenants below'].map(name => findTable(page, name))
  for (const [name, query, ready] of [
    ['figures', '', page.getByRole('slider').first()],
    ['year', year, products!],
    ['vouchers', 'table=vouchers&most=100', vouchers!],
    ['tenants', 'table=tenants', tenants!],
    ['voucher', `table=vouchers&text=${voucher!.reference}`, vouchers!],
  ] as const) {
    await page.goto(`${origin}/dashboard?tenant=${group}&currency=GBP&${query}`)
    await page.locator('.placeholder').first().waitFor({ state: 'detached' })
    await ready.waitFor()
    if (name === 'figures') await page.getByText('The numbers as a table').first().click()
    if (name === 'voucher') {
      await ready.getByRole('link', { name: voucher!.reference }).click()
      await page.getByRole('dialog').getByText('Times are in the time zone').waitFor()
    }
    await checkLook(page, `dashboard-${name}`)
  }
})

// `PICTURES=on npm test -- --project browser` saves the screenshot of the README.
if (takesScreenshots)
  test('takes the screenshot for the README', async () => {
    const { page } = await openFigures('currency=GBP')
    await page.getByRole('figure', { name: 'Top products' }).waitFor()
    await saveScreenshot(page, 'dashboard', 1113)
  })
