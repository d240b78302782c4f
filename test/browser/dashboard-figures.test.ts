import type { Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { loadDemo } from '../../src/demo/load.ts'
import { whole } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { downloadCsv, openDashboard, table, tables } from './dashboard-page.ts'
import { look, saveScreenshot, takesScreenshots } from './look.ts'
import { startSite } from './site.ts'

const { database, build, origin, browser } = await startSite()
const { platform } = database
await loadDemo(platform, { scale: 1 })

/** The group of the demo data, with the tenants below it. */
const group = 1
const { secret } = await build.token([whole(group)], { name: 'Viewer' })

/** Opens the dashboard with the figures of all that was written. */
async function open(query = '', token = secret, tenant: number | string = group) {
  await projected(database.pool)
  return openDashboard(browser, origin, `tenant=${tenant}&${query}`, token)
}

const textOf = async (page: Page, name: string) =>
  (await table(page, name).locator('tbody tr').allInnerTexts()).map(row => row.split('\t'))
const cardOf = (page: Page, name: string) =>
  page.locator('.figure-card', { has: page.getByText(name, { exact: true }) })
const card = async (page: Page, name: string) => (await cardOf(page, name).innerText()).split('\n').filter(Boolean)
const count = (number: number) => new Intl.NumberFormat('en-GB').format(number)
const params = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)

/** The tenants of the group. */
const inGroup = platform`tenant_id in (
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

/** Three whole months. */
const period = `from=${days.from}&to=${days.to}&by=month`

test('the cards show what the records add up to, and the change against the days that are chosen', async () => {
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
  const { page } = await open(`${period}&currency=GBP`, other, shop)
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
  // Last year is compared with the same days of this year alone.
  const compare = page.getByLabel('Compare with')
  await compare.selectOption('Period before')
  await cards.first().getByText('+201%').waitFor()
  expect((await card(page, 'Sold'))[3]).toMatch(/£50\.00$/)
  expect(params(page).compare).toBe('before')
  await compare.selectOption('Nothing')
  await cards.first().getByText('compared with').waitFor({ state: 'detached' })
})

test('a currency is chosen for all figures, and none is added to another', async () => {
  const { page } = await open(`${period}&currency=EUR`)
  await page.locator('.figure-cards').waitFor()
  expect((await card(page, 'Sold'))[1]).toMatch(/^€/)
  // The plot by status alone has all currencies, and says so.
  const inCurrency = page.locator('.figure-cards, .plot-grid > :not([aria-labelledby=status-title])')
  expect(await inCurrency.getByText('£').count()).toBe(0)
  // The other currencies are there too, with what was sold in them.
  const pounds = page.getByRole('navigation', { name: 'Currencies' }).getByText(/^GBP: £/)
  const [, paid, vouchers] = /GBP: (£\S+) from (\S+) vouchers sold/.exec(await pounds.innerText()) ?? []
  await page.getByLabel('Currency', { exact: true }).selectOption('GBP')
  await page.locator('.figure-card', { hasText: '£' }).first().waitFor()
  expect((await card(page, 'Sold')).slice(1, 3)).toEqual([paid, `${vouchers} vouchers`])
  expect(await inCurrency.getByText('€').count()).toBe(0)
})

test('an address that is not valid, or that has nothing, is explained', async () => {
  const { page } = await open('currency=pounds&from=2026-02-30&to=2026-03-01', secret, 'x1')
  const see = (words: string) => page.getByText(words).waitFor()
  await see('“x1” in the address is not the number of a tenant')
  await see('“pounds” in the address is not a currency code')
  await see('The days in the address are not a period: another period is shown.')
  await page.goto(`${origin}/dashboard?tenant=${group}&period=ever`)
  await see('“ever” in the address is not a period')
  await page.goto(`${origin}/dashboard?tenant=${group}&table=vouchers&least=some`)
  await see('Give an amount, for example 12.50.')
  await page.goto(`${origin}/dashboard?tenant=${group}&from=1999-01-01&to=1999-01-31`)
  await page.getByText(/^Nothing was sold in 1\s*–\s*31 Jan 1999\.$/).waitFor()
  await page.goto(`${origin}/dashboard?tenant=${group}&from=1999-01-01&to=1999-01-01`)
  await page.getByText(/^Nothing was sold on 1 Jan 1999\.$/).waitFor()
})

test('the amounts on an axis are whole in each currency', async () => {
  const [gulf] = await platform<{ id: number }[]>`select id::int from tenant where name = 'Paper Lantern Gulf'`
  const { secret: other } = await build.token([whole(gulf!.id)])
  const { page } = await open('currency=KWD', other, gulf!.id)
  await page.locator('.plot text').getByText('KWD').first().waitFor()
  const cut = await page.evaluate<string[]>(`[...document.querySelectorAll('.plot text')]
    .filter(text => text.getBoundingClientRect().right > text.closest('.plot-frame').getBoundingClientRect().right)
    .map(text => text.textContent)`)
  expect(cut).toEqual([])
})

test('a plot is a slider over its values, and has them as a table', async () => {
  const { page } = await open(`${period}&currency=GBP`)
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
  await page.keyboard.press('Home')
  expect(await values()).toContain(`${month(0)}: £`)
  const figure = page.getByRole('figure', { name: 'Vouchers sold' })
  expect(await figure.locator('.readout').innerText()).toBe(await values())
  await figure.getByText('The numbers as a table').click()
  const rows = await figure.locator('tbody tr').allInnerTexts()
  expect(rows.map(row => row.split('\t')[0])).toEqual([0, 1, 2].map(month))
  const bars = await figure.locator('.plot-panel').first().locator('rect[fill^="var(--plot"]').count()
  expect(bars).toBe(3)
})

test('periods are sorted in the browser, and downloaded as they are sorted', async () => {
  const { page } = await open(`${period}&currency=GBP`)
  await table(page, 'Periods').getByRole('button', { name: 'Paid', exact: true }).click()
  await tables(page)
    .getByRole('columnheader', { name: 'Paid', exact: true })
    .and(page.locator('[aria-sort=descending]'))
    .waitFor()
  const amountOf = (text = '') => Number(text.replace(/[£,]/g, ''))
  const amounts = (await textOf(page, 'Periods')).map(cells => amountOf(cells[2]))
  expect(amounts).toEqual(amounts.toSorted((one, other) => other - one))
  expect(amounts.reduce((all, amount) => all + amount, 0)).toBeCloseTo(amountOf((await card(page, 'Sold'))[1]), 2)
  expect(params(page).sort).toBe('-2')
  const total = await table(page, 'Periods').locator('tfoot td').allInnerTexts()
  expect(total.slice(0, 2)).toEqual([
    /\d+/.exec((await card(page, 'Sold'))[2] ?? '')?.[0],
    (await card(page, 'Sold'))[1],
  ])
  const { records } = await downloadCsv(page)
  expect(Object.keys(records[0] ?? {}).slice(0, 4)).toEqual(['From', 'Currency', 'Vouchers', 'Paid'])
  expect(records.map(({ Currency, Paid }) => [Currency, Paid])).toEqual(amounts.map(amount => ['GBP', String(amount)]))
})

test('tenants below are compared, and each leads to its own figures', async () => {
  const { page } = await open(`${period}&currency=GBP&table=tenants`)
  await table(page, 'Tenants below').waitFor()
  const names = await platform<{ name: string }[]>`select name from tenant where parent_id = ${group}`
  const [self] = await platform<{ name: string }[]>`select name from tenant where id = ${group}`
  const rows = await textOf(page, 'Tenants below')
  expect(rows.map(([name]) => name).sort()).toEqual([`${self!.name} itself`, ...names.map(({ name }) => name)].sort())
  // The rows add up to the total, and the total is the headline.
  const amountOf = (text = '') => Number(text.replace(/[£,]/g, '').replace('–', '0'))
  const sumOf = (cell: number) => rows.reduce((all, cells) => all + amountOf(cells[cell]), 0)
  const total = (await table(page, 'Tenants below').locator('tfoot tr').innerText()).split('\t')
  for (const cell of [1, 2, 4, 5, 7, 8, 9, 10])
    expect(sumOf(cell), `column ${cell}`).toBeCloseTo(amountOf(total[cell]), 2)
  expect(total[2]).toBe((await card(page, 'Sold'))[1])
  expect(total[10]).toBe((await card(page, 'Outstanding now'))[1])
  // A tenant that sold in another currency alone has no zeros.
  const ireland = rows.find(([name]) => name === 'Foxglove & Tern Ireland')
  expect([ireland?.[2], ireland?.[3]]).toEqual(['–', expect.stringMatching(/^€[\d,.]+$/)])
  // The file has a row for each currency of a tenant, and numbers alone.
  const { records } = await downloadCsv(page)
  for (const [currency, paid] of [
    ['GBP', total[2]],
    ['EUR', total[3]],
  ] as const) {
    const sold = records.filter(({ Currency }) => Currency === currency).map(({ Paid }) => Number(Paid))
    expect(sold.reduce((all, amount) => all + amount, 0)).toBeCloseTo(amountOf(paid?.replace('€', '')), 2)
  }
  const inIreland = records.filter(({ Tenant }) => Tenant === 'Foxglove & Tern Ireland')
  expect(inIreland.map(({ Currency }) => Currency)).not.toContain('GBP')
  const { name } = names[0]!
  await table(page, 'Tenants below').getByRole('link', { name }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
})

test('many tenants are compared a page at a time, which costs a part of the usual rate, and downloaded whole', async () => {
  const chain = await build.tenant({ name: 'Chain' })
  const shops = ['01', '02', '03', '04', '05', '06', '07', '08', '09', '10', '11', '12'].map(shop => `Shop ${shop}`)
  for (const [index, name] of shops.entries()) {
    await build.sale(await build.tenant({ name, parent_id: chain }), index + 1, days.from)
  }
  const token = await build.token([whole(chain)], { rateLimit: 1200 })
  const { page } = await open(`${period}&table=tenants`, token.secret, chain)
  const names = async () => (await textOf(page, 'Tenants below')).map(([name]) => name)
  const see = (name: string) => table(page, 'Tenants below').getByRole('link', { name }).waitFor()
  await see('Shop 10')
  expect(await names()).toEqual(['Chain itself', ...shops.slice(0, 10)])
  await tables(page).getByText('12 tenants by name. Each with the tenants below it, in GBP.').waitFor()

  await table(page, 'Tenants below').getByRole('button', { name: 'Paid', exact: true }).click()
  await page.waitForURL(/sort=-2/)
  // The chain itself sold nothing.
  expect(await names()).toEqual([...shops.slice(0, 10).toReversed(), 'Chain itself'])
  await page.getByRole('button', { name: 'Next page' }).click()
  await see('Shop 12')
  expect(await names()).toEqual(['Shop 12', 'Shop 11'])
  await page.getByRole('button', { name: 'Previous page' }).click()
  await see('Shop 01')
  // Nothing but a page of the tenants was asked for.
  await expect.poll(() => page.locator('.rate').innerText()).toMatch(/^The last answer counted as 6\d operations/)

  const { records } = await downloadCsv(page)
  expect(records.map(({ Tenant }) => Tenant)).toEqual(['Chain itself', ...shops])
  await tables(page).getByText('The file has 12 tenants.').waitFor()
})

test('products with the same title show their tenants, or their ids within one tenant', async () => {
  const chain = await build.tenant({ name: 'Two spas' })
  const sell = async (tenant: number, title: string, value: number) => {
    const product = await build.product(tenant, { title })
    await build.sale(tenant, value, days.from, { product_id: product })
    return product
  }
  const [lake, hill] = [
    await build.tenant({ name: 'Lake', parent_id: chain }),
    await build.tenant({ name: 'Hill', parent_id: chain }),
  ]
  await sell(lake, 'Spa day', 50)
  const first = await sell(hill, 'Spa day', 40)
  const second = await sell(hill, 'Spa day', 30)
  await sell(hill, 'Massage', 20)
  const names = ['Spa day · Lake', `Spa day · Hill · ${first}`, `Spa day · Hill · ${second}`, 'Massage']
  const token = await build.token([whole(chain)])
  const { page } = await open(`${period}&table=products`, token.secret, chain)
  await table(page, 'Products').waitFor()
  expect((await textOf(page, 'Products')).map(([name]) => name)).toEqual(names)
  const total = await table(page, 'Products').locator('tfoot').innerText()
  expect(total.split('\t')).toEqual(['Total', '4', '£140.00', '100%', '–'])
  const figure = page.getByRole('figure', { name: 'Top products' })
  expect(await figure.locator('tbody th').allInnerTexts()).toEqual(names)
  expect(await figure.locator('.plot-summary').innerText()).toBe('Spa day · Lake sold most: £50.00.')
  await tables(page).getByRole('link', { name: 'Vouchers' }).click()
  await tables(page).getByText('More filters').click()
  expect(await page.getByLabel('Product', { exact: true }).locator('option').allInnerTexts()).toEqual([
    'Any product',
    ...names,
  ])
})

test('vouchers are searched, filtered, sorted and paged by the service, and back returns', async () => {
  const { page } = await open(`${period}&table=vouchers&currency=GBP`)
  await table(page, 'Vouchers').waitFor()
  const [all] = await platform<{ vouchers: number }[]>`
    select count(*)::int as vouchers from purchased_voucher where ${inGroup}`
  await tables(page)
    .getByText(`${count(all!.vouchers)} vouchers`, { exact: true })
    .waitFor()

  // By a column of the service, in both directions.
  await table(page, 'Vouchers').getByRole('button', { name: 'Purchased' }).click()
  await page.waitForURL(/sort=purchased/)
  const sorted = await platform<{ reference: string }[]>`
    select reference from purchased_voucher where ${inGroup} order by purchase_timestamp, id limit 26`
  await table(page, 'Vouchers').getByRole('link', { name: sorted[0]!.reference, exact: true }).waitFor()
  expect((await textOf(page, 'Vouchers')).map(([reference]) => reference)).toEqual(
    sorted.slice(0, 25).map(({ reference }) => reference),
  )
  await page.getByRole('button', { name: 'Next page' }).click()
  await table(page, 'Vouchers').getByRole('link', { name: sorted[25]!.reference, exact: true }).waitFor()
  await page.goBack()
  await table(page, 'Vouchers').getByRole('link', { name: sorted[0]!.reference, exact: true }).waitFor()

  // By status and text.
  await page.getByRole('checkbox', { name: 'Void', exact: true }).check()
  const [voided] = await platform<{ vouchers: number }[]>`
    select count(*)::int as vouchers from purchased_voucher where ${inGroup} and void`
  await tables(page)
    .getByText(`${count(voided!.vouchers)} vouchers`, { exact: true })
    .waitFor()
  // The list and its count are two answers.
  const listed = async (cell: number) => [
    ...new Set((await textOf(page, 'Vouchers')).map(cells => cells[cell]?.trim())),
  ]
  await expect.poll(() => listed(1)).toEqual(['Void'])
  await page.getByRole('button', { name: 'Clear the filters' }).click()
  await page.getByLabel(/^Search reference/).fill(sorted[3]!.reference)
  await tables(page).getByText('1 voucher', { exact: true }).waitFor()
  await expect.poll(() => listed(0)).toEqual([`${sorted[3]!.reference}\nFound in reference`])
  await page.getByLabel(/^Search reference/).fill('no such voucher')
  await page.getByText('No voucher matches these filters.').waitFor()

  // The address has all of it.
  const copy = await open(new URL(page.url()).search.slice(1))
  await copy.page.getByText('No voucher matches these filters.').waitFor()
  expect(await copy.page.getByLabel(/^Search reference/).inputValue()).toBe('no such voucher')
})

test('a link with an order or a place that the list does not have shows the latest purchases, and their next page', async () => {
  const { page } = await open(`${period}&table=vouchers&sort=-reference&after=kept`)
  const latest = await platform<{ reference: string }[]>`
    select reference from purchased_voucher where ${inGroup} order by purchase_timestamp desc nulls last, id desc limit 26`
  const [first, second] = [latest[0]!.reference, latest[25]!.reference]
  const shown = async () => (await textOf(page, 'Vouchers')).map(([reference]) => reference)
  await table(page, 'Vouchers').getByRole('link', { name: first, exact: true }).waitFor()
  expect(await shown()).toEqual(latest.slice(0, 25).map(({ reference }) => reference))
  const sorted = table(page, 'Vouchers').locator('[aria-sort]')
  expect([await sorted.count(), await sorted.innerText()]).toEqual([1, 'Purchased'])
  expect(await table(page, 'Vouchers').getByRole('button', { name: 'Reference' }).count()).toBe(0)
  await page.getByRole('button', { name: 'Next page' }).click()
  await table(page, 'Vouchers').getByRole('link', { name: second, exact: true }).waitFor()
})

/** The number of vouchers at the end of a text: `£1,204.00 from 31 vouchers`, or a cell. */
const numberAtEnd = /([\d,]+)(?: vouchers?)?$/

test('each number of vouchers leads to these vouchers', async () => {
  const { page } = await open(`${period}&currency=GBP`)
  const figure = (name: string | RegExp) => page.getByRole('figure', { name })
  const rows = (name: string, part: string) => table(page, name).locator(part)
  const listed = tables(page).locator('.table-tools [role=status]').first()
  for (const [shown, place] of [
    ['Periods', cardOf(page, 'Sold')],
    ['Periods', cardOf(page, 'Outstanding now')],
    ['Periods', cardOf(page, 'Expiring within 30 days')],
    ['Periods', page.getByRole('navigation', { name: 'Currencies' }).locator('li', { hasText: 'EUR' })],
    ['Periods', figure('Vouchers sold').locator('.readout')],
    ['Periods', figure(/^Outstanding balance/).locator('.readout')],
    ['Periods', rows('Periods', 'tbody tr').nth(1)],
    ['Periods', rows('Periods', 'tfoot')],
    ['Products', rows('Products', 'tbody tr').first()],
    ['Products', rows('Products', 'tfoot')],
    ['Tenants', rows('Tenants below', 'tbody tr').last()],
    ['Tenants', rows('Tenants below', 'tfoot')],
  ] as const) {
    await tables(page).getByRole('link', { name: shown, exact: true }).click()
    // Away from the bars: the readout shows the one that is pointed at.
    await page.mouse.move(0, 0)
    const link = place.getByRole('link').filter({ hasText: numberAtEnd }).first()
    const words = await link.innerText()
    await link.click()
    await expect
      .poll(() => listed.innerText(), { message: `${shown}: ${words}` })
      .toMatch(new RegExp(`^${numberAtEnd.exec(words)?.[1]} vouchers?\\b`))
    await expect.poll(() => page.evaluate('document.activeElement.querySelector("table.vouchers") !== null')).toBe(true)
    await page.goBack()
    await table(page, 'Vouchers').waitFor({ state: 'detached' })
  }

  // A bar, by the readout below it; a product of the plot; and the tab.
  const plot = figure('Vouchers sold')
  const first = { position: { x: 20, y: 60 } }
  await plot.getByRole('slider').hover(first)
  const [, bar] = numberAtEnd.exec(await plot.locator('.readout').innerText()) ?? []
  await plot.getByRole('slider').click(first)
  await expect.poll(() => listed.innerText()).toBe(`${bar} vouchers`)
  expect(params(page)['bought-from']).toBe(days.from)
  const product = figure('Top products').locator('tbody tr').first()
  const [, sold] = (await product.innerText()).split('\t')
  await product.getByRole('link').click()
  await expect.poll(() => listed.innerText()).toMatch(new RegExp(`^${sold} vouchers purchased `))
  expect(await tables(page).getByRole('checkbox', { name: 'Void', exact: true }).isChecked()).toBe(false)
  await tables(page).getByRole('link', { name: 'Vouchers', exact: true }).click()
  const all = (await card(page, 'Sold'))[2]
  await expect.poll(() => listed.innerText()).toMatch(new RegExp(`^${all} purchased .*, in GBP$`))
  // The list follows the period of the view, until a person chooses other days for it.
  await page.locator('#period').selectOption('Last month')
  await expect.poll(async () => (await listed.innerText()).startsWith(`${(await card(page, 'Sold'))[2]} `)).toBe(true)
  await tables(page).getByText('More filters').click()
  await page.getByLabel('Purchased from').fill('')
  await page.waitForURL(/bought-to=/)
  expect(params(page)).toMatchObject({ in: 'GBP', table: 'vouchers' })
  expect([params(page).of, params(page)['bought-from']]).toEqual([undefined, undefined])
})

test('the file of the vouchers that were sold adds up to the figures, as plain numbers', async () => {
  const { page } = await open(`${period}&currency=GBP`)
  await cardOf(page, 'Sold').getByRole('link').click()
  await table(page, 'Vouchers').waitFor()
  const { records } = await downloadCsv(page)
  await tables(page)
    .getByText(`The file has ${count(records.length)} vouchers.`)
    .waitFor()
  // Several pages.
  expect(records.length).toBeGreaterThan(100)
  const amount = (text = '') => text.replace(/[£,]/g, '')
  const paid = (of: typeof records) => of.reduce((all, { Paid }) => all + Number(Paid), 0).toFixed(2)
  expect(paid(records)).toBe(amount((await card(page, 'Sold'))[1]))
  expect(new Set(records.map(({ Currency }) => Currency))).toEqual(new Set(['GBP']))
  expect(records.every(record => /^\d+$/.test(record['Order id']!) && /^\d+$/.test(record['Order item id']!))).toBe(
    true,
  )
  await tables(page).getByRole('link', { name: 'Periods', exact: true }).click()
  const { records: months } = await downloadCsv(page)
  for (const { From, Paid } of months) {
    const month = records.filter(record => record['Day of purchase']!.startsWith(From!.slice(0, 7)))
    expect(paid(month)).toBe(Number(Paid).toFixed(2))
  }
})

test('the address of the view is copied, also when it is short', async () => {
  const { page } = await openDashboard(browser, origin, '', secret)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  // The label stays for two seconds, so the wait begins before the click.
  const copied = page.getByRole('button', { name: 'Copied' }).waitFor()
  await page.getByRole('button', { name: 'Copy link' }).click()
  await copied
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
    `${origin}/dashboard?tenant=${group}&period=last-12-months`,
  )
})

test('a voucher is shown over the page, by keyboard too, and going back returns to its row', async () => {
  const { page } = await open(`${period}&table=vouchers&sort=purchased`)
  const [first] = await platform<{ reference: string; product_title: string; name: string }[]>`
    select reference, product_title, name from purchased_voucher v join tenant t on t.id = v.tenant_id
    where ${inGroup} order by purchase_timestamp, v.id limit 1`
  const link = table(page, 'Vouchers').getByRole('link', { name: first!.reference, exact: true })
  await link.focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: `Voucher ${first!.reference}` })
  await dialog.waitFor()
  await dialog.getByRole('link', { name: first!.name }).waitFor()
  const address = page.url()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(await page.evaluate('document.activeElement.textContent')).toBe(first!.reference)
  expect(params(page).voucher).toBeUndefined()

  await page.goto(address)
  await dialog.waitFor()
  await dialog.getByRole('link', { name: first!.product_title }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByLabel('Product', { exact: true }).waitFor()
  expect(params(page).product).toMatch(/^\d+$/)
})

test('a sentence replaces figures that cannot be shown', async () => {
  const empty = await build.tenant({ name: 'Nothing sold' })
  const { secret: other } = await build.token([empty], { permissions: ['view_vouchers', 'view_orders'] })
  const { page } = await open('', other, empty)
  await page.getByText('No vouchers were sold in this period.').first().waitFor()
  await page.getByText('There are no vouchers yet.').waitFor()
  await tables(page).getByText('There are no sales yet.', { exact: true }).waitFor()
  expect(await page.getByText('no currency').count()).toBe(0)
  expect(await page.getByText('Consents').count()).toBe(0)
  await page.goto(`${origin}/dashboard?tenant=${empty}&voucher=bm90aGluZw`)
  await page.getByText('This voucher does not exist, or the token may not see it.').waitFor()
})

test('products of the former currency are not shown with another one, and a failed request for them is reported', async () => {
  const { page } = await open('currency=GBP')
  const top = page.getByRole('figure', { name: 'Top products' })
  await top.getByText('£').first().waitFor()
  const failing = (route: Route) =>
    route.request().postData()?.includes('"first":100') ? route.abort() : route.continue()
  await page.route('**/graphql', failing)
  await page.getByLabel('Currency', { exact: true }).selectOption('EUR')
  await page.getByText('The products could not be loaded.').waitFor()
  expect(await top.count()).toBe(0)
  await page.unroute('**/graphql')
  await page.getByRole('button', { name: 'Try again' }).click()
  await top.getByText('€').first().waitFor()
  expect(await page.getByText('could not be loaded').count()).toBe(0)
})

test('all of it is accessible and fits, wide and narrow, light and dark', async () => {
  const { page } = await open(`currency=GBP`)
  const see = async (name: string, query: string, ready: () => Promise<unknown>) => {
    await page.goto(`${origin}/dashboard?tenant=${group}&currency=GBP&${query}`)
    await page.locator('.placeholder').first().waitFor({ state: 'detached' })
    await ready()
    await look(page, `dashboard-${name}`)
  }
  await see('figures', '', async () => {
    await page.getByText('The numbers as a table').first().click()
    await page.getByRole('slider').first().focus()
  })
  await see('year', 'from=2025-12-01&to=2026-11-30&by=day&table=products', () => table(page, 'Products').waitFor())
  await see('vouchers', 'table=vouchers&most=100', () => table(page, 'Vouchers').waitFor())
  await see('tenants', 'table=tenants', () => table(page, 'Tenants below').waitFor())
  const [voucher] = await platform<{ reference: string }[]>`
    select reference from purchased_voucher where tenant_id = ${group} and not void limit 1`
  await see('voucher', `table=vouchers&text=${voucher!.reference}`, async () => {
    await table(page, 'Vouchers').getByRole('link', { name: voucher!.reference }).click()
    await page.getByRole('dialog').getByText('Times are in the time zone').waitFor()
  })
})

// `PICTURES=on npm test -- --project browser` puts it where the README shows it.
test.runIf(takesScreenshots)('takes the screenshot for the README', async () => {
  const { page } = await open('currency=GBP')
  await page.getByRole('figure', { name: 'Top products' }).waitFor()
  await saveScreenshot(page, 'dashboard', 1113)
})
