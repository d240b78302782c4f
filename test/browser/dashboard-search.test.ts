/** The search of the dashboard: which field matched, and the customers next to the vouchers (R32). */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Permission } from '../../src/domain/token/permission.ts'
import { projected } from '../support/projected.ts'
import { openDashboard } from './dashboard-page.ts'
import { look } from './look.ts'
import { startSite } from './site.ts'

const { database, build, origin, browser } = await startSite({ GRAPHQL_DOCUMENTS: 'trusted' })

const group = await build.tenant({ name: 'Hollis Leisure' })
const mill = await build.tenant({ name: 'The Old Mill', parent_id: group })
const sold = { currency: 'GBP', initial_balance: 50, current_balance: 50, purchase_value: 50 }
const [tea, spa] = [{ product_title: 'Tea for two', recipient_name: 'Zoë Teague' }, { product_title: 'Spa day (50%)' }]
await build.voucher(group, { ...sold, reference: 'TEA-1001', ...tea })
await build.voucher(mill, { ...sold, reference: 'SPA-1002', ...spa, recipient_name: 'Ann Tear' })
await build.voucher(mill, { ...sold, reference: 'SPA-1003', product_title: '<b>Afternoon</b> tea' })
await build.customer(mill, { full_name: 'Ann Teasdale', surname: 'Teasdale', email: 'ann.teasdale@example.com' })
await build.customer(group, { forename: 'Theo', surname: 'Steadman', email: 'theo@example.com' })
await build.customer(group, { full_name: 'Tea Without Consent', marketing_opted: false })
await projected(database.pool)

const vouchers: Permission[] = ['view_vouchers', 'view_orders']

async function open(text: string, permissions: Permission[]) {
  const { secret } = await build.token([{ tenantId: group, withDescendants: true }], { permissions })
  const query = new URLSearchParams({ tenant: String(group), table: 'vouchers', text })
  const opened = await openDashboard(browser, origin, String(query), secret)
  await opened.page.getByRole('table', { name: 'Vouchers', exact: true }).waitFor()
  return opened
}

/** Reads the first and third cells of the rows of the vouchers, with the marked words in brackets. */
const rows = (page: Page) =>
  page.evaluate<string[][]>(`[...document.querySelectorAll('table.vouchers tbody tr')].map(row =>
    [0, 2].map(cell => {
      const copy = row.cells[cell].cloneNode(true)
      for (const mark of copy.querySelectorAll('mark')) mark.textContent = '[' + mark.textContent + ']'
      for (const part of copy.querySelectorAll('.found-in, .of-tenant')) part.prepend(' | ')
      return copy.textContent
    })).sort()`)

const customers = (page: Page) => page.getByRole('region', { name: 'Customers who consent to marketing' })
const field = (page: Page) => page.getByRole('searchbox', { name: /^Search reference/ })

test('a search marks its words, and names the fields that have them', async () => {
  const { page } = await open('tea', [...vouchers, 'redeem_vouchers', 'export_customer_information'])
  await page.getByLabel('Search reference, recipient, product or customer', { exact: true }).waitFor()
  expect(await rows(page)).toEqual([
    ['SPA-1002 | Found in recipient Ann [Tea]r', 'Spa day (50%) | The Old Mill'],
    ['SPA-1003 | Found in product', '<b>Afternoon</b> [tea] | The Old Mill'],
    ['[TEA]-1001 | Found in reference, product, recipient Zoë [Tea]gue', '[Tea] for two | Hollis Leisure'],
  ])
  await customers(page).getByRole('listitem').nth(1).waitFor()
  const found = await customers(page).getByRole('listitem').allInnerTexts()
  expect(found.sort().map(text => text.replaceAll(/\s+/g, ' '))).toEqual([
    'Ann Teasdale ann.teasdale@example.com The Old Mill Found in name, e-mail address',
    'Theo Steadman theo@example.com Hollis Leisure Found in family name',
  ])
  await look(page, 'dashboard-search')

  // Characters with a meaning in patterns, and the words of another search.
  await field(page).fill('(50% d')
  await expect.poll(() => rows(page)).toEqual([['SPA-1002 | Found in product', 'Spa [d]ay [(50%]) | The Old Mill']])
  await customers(page).getByText('No customer has these words.').waitFor()
})

test('names of recipients and of customers need their permissions', async () => {
  const { page } = await open('SPA', vouchers)
  await page.getByLabel('Search reference or product', { exact: true }).waitFor()
  await field(page).fill('tea')
  const found = [
    ['SPA-1003 | Found in product', '<b>Afternoon</b> [tea] | The Old Mill'],
    ['[TEA]-1001 | Found in reference, product', '[Tea] for two | Hollis Leisure'],
  ]
  await expect.poll(() => rows(page)).toEqual(found)
  expect(await page.content()).not.toMatch(/Teague|Teasdale|Customers who consent/)
})
