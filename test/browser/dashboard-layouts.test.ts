// The dashboard on a narrow screen.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { loadDemo } from '../../src/demo/load.ts'
import { createApp } from '../support/app.ts'
import { startBrowser } from '../support/browser.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { openDashboard } from './dashboard-page.ts'

const database = await createDatabase()
await loadDemo(database.loader, { scale: 1 })
const client = await createApp(database)
const origin = await client.app.listen({ host: '127.0.0.1', port: 0 })
const browser = await startBrowser()

/** The group of the demo data, with the tenants below it. */
const group = 1
const { secret } = await createBuilders(database).token([{ tenantId: group, withDescendants: true }])

const open = (query: string) => openDashboard(browser, origin, `tenant=${group}&currency=GBP&${query}`, secret)

const tables = (page: Page) => page.getByRole('region', { name: 'Tables', exact: true })
const table = (page: Page, name: string) => tables(page).getByRole('table', { name, exact: true })

test('on a narrow screen rows are cards with labels, which are sorted and stay a table', async () => {
  const { page, problems } = await open('')
  const shown = tables(page).locator('table.data')
  for (const [tab, name] of [
    ['Periods', 'Periods'],
    ['Products', 'Products'],
    ['Tenants', 'Tenants below'],
    ['Vouchers', 'Vouchers'],
  ] as const) {
    await page.setViewportSize({ width: 1280, height: 900 })
    await tables(page).getByRole('link', { name: tab, exact: true }).click()
    await table(page, name).waitFor()
    const headings = await shown.locator('thead th').allInnerTexts()
    for (const width of [320, 390]) {
      await page.setViewportSize({ width, height: 900 })
      const wide = await page.evaluate<string[]>(`[document.documentElement, ...document.querySelectorAll('.scroll')]
        .filter(part => part.scrollWidth > part.clientWidth).map(part => part.outerHTML.slice(0, 80))`)
      expect(wide, `${name}, ${width} px`).toEqual([])
    }
    const labels = await page.evaluate<string[]>(`[...document.querySelector('.tables tbody tr').cells].slice(1)
      .map(cell => getComputedStyle(cell, '::before').content.match(/"(.*?)"/)[1])`)
    expect(labels).toEqual(headings.slice(1))
    const top = (row: number) => shown.locator('tbody tr').nth(row).boundingBox()
    const [first, second] = [await top(0), await top(1)]
    expect(second!.y).toBeGreaterThan(first!.y + first!.height)
  }
  await tables(page).getByRole('link', { name: 'Periods', exact: true }).click()
  await table(page, 'Periods').getByRole('button', { name: 'Paid', exact: true }).click()
  await page.waitForURL(/sort=-2/)
  const amounts = (await shown.locator('td[data-label=Paid]').allInnerTexts()).map(text =>
    Number(text.replace(/[£,]/g, '')),
  )
  expect(amounts).toEqual(amounts.toSorted((one, other) => other - one))

  // As the browser tells it to a screen reader: the labels are not read a second time.
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  const namesOf = (role: string) => nodes.filter(node => node.role?.value === role).map(node => node.name?.value)
  expect(namesOf('columnheader')).toContain('Paid')
  expect(namesOf('rowheader')).toHaveLength(amounts.length + (await page.locator('table.shares tbody tr').count()))
  expect(namesOf('cell')).toContain(await shown.locator('td[data-label=Paid]').first().innerText())
  expect(namesOf('table')).toContain('Periods')
  expect(problems).toEqual([])
})
