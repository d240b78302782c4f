// The dashboard on a narrow screen and on paper.
import { expect, test } from 'vitest'
import { loadDemo } from '../../src/demo/load.ts'
import { projected } from '../support/projected.ts'
import { openDashboard, table, tables } from './dashboard-page.ts'
import { startSite } from './site.ts'

const { database, build, origin, browser } = await startSite()
await loadDemo(database.platform, { scale: 1 })
await projected(database.pool)

/** The group of the demo data, with the tenants below it. */
const group = 1
const { secret } = await build.token([{ tenantId: group, withDescendants: true }])

const open = (query: string) => openDashboard(browser, origin, `tenant=${group}&currency=GBP&${query}`, secret)

test('tables fit the screen, and on a narrow one rows are cards with labels, which are sorted and stay a table', async () => {
  const { page } = await open('')
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
    const covered = await page.evaluate<string[]>(`[...document.querySelectorAll('.tables tbody a')].filter(link => {
      link.focus()
      const [{ left, top, width, height }] = link.getClientRects()
      return !link.contains(document.elementFromPoint(left + width / 2, top + height / 2))
    }).map(link => link.closest('tr').innerText)`)
    expect(covered, `${name}: behind the headings or the total`).toEqual([])
    for (const width of [1440, 1400, 1380, 1360, 1340, 1280, 1024, 320, 390]) {
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
  const amounts = (await shown.locator('tbody td[data-label=Paid]').allInnerTexts()).map(text =>
    Number(text.replace(/[£,]/g, '')),
  )
  expect(amounts).toEqual(amounts.toSorted((one, other) => other - one))

  // Checks the accessibility tree of the browser: the labels are not read twice.
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  const namesOf = (role: string) => nodes.filter(node => node.role?.value === role).map(node => node.name?.value)
  expect(namesOf('columnheader')).toContain('Paid')
  // The last one is the total.
  expect(namesOf('rowheader')).toHaveLength(amounts.length + 1 + (await page.locator('table.shares tbody tr').count()))
  expect(namesOf('cell')).toContain(await shown.locator('td[data-label=Paid]').first().innerText())
  expect(namesOf('table')).toContain('Periods')
})

test('on paper it is a report: its view in words, all figures in light colours, and nothing to click', async () => {
  const { page } = await open('period=last-12-months&table=vouchers')
  await page.getByRole('figure', { name: 'Top products' }).waitFor()
  await table(page, 'Vouchers').waitFor()
  const [asOf] = /(?<=Figures of )[^.]*/.exec(await page.locator('.as-of').innerText()) ?? []
  expect(await page.getByText('amounts in GBP').isVisible()).toBe(false)
  // The width of A4 between its margins.
  await page.setViewportSize({ width: 703, height: 1000 })
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })

  await page.getByRole('heading', { level: 1, name: 'Foxglove & Tern Collection' }).waitFor()
  const heading = await page.locator('.print-heading').innerText()
  expect(heading).toMatch(/^1 \w+ 20\d\d – \d+ \w+ 20\d\d, amounts in GBP, with the tenants below\./)
  expect(heading).toContain(`Figures of ${asOf}; times and days are in the time zone Europe/London.`)
  expect(await page.locator('.figure-card:visible').count()).toBe(5)
  expect(await page.locator('figure:visible').count()).toBe(6)
  const controls = page.locator('input:visible, select:visible, summary:visible, .site-header:visible, aside:visible')
  expect(await controls.count()).toBe(0)
  // The headings keep the texts of their buttons, without the boxes: Chromium does not repeat those on each page.
  const styles = await page.evaluate<string[]>(`(() => {
    const shown = [...document.querySelectorAll('button, a')].filter(part => part.checkVisibility())
    const style = selector => getComputedStyle(document.querySelector(selector))
    return [
      ...new Set(shown.map(part => part.tagName + ' ' + getComputedStyle(part).textDecorationLine)),
      style('.sort').display,
      style('table.vouchers thead').display,
      style('table.vouchers tbody tr').breakInside,
      style('.figure-card').breakInside,
      style('.tables .scroll').overflow,
      style('body').backgroundColor,
      style('.figure-card').backgroundColor,
    ]
  })()`)
  const white = 'rgb(255, 255, 255)'
  expect(styles).toEqual(['A none', 'contents', 'table-header-group', 'avoid', 'avoid', 'visible', white, white])
  // The table of most columns fits too.
  await page.emulateMedia({ media: 'screen' })
  await tables(page).getByRole('link', { name: 'Tenants', exact: true }).click()
  await table(page, 'Tenants below').waitFor()
  await page.emulateMedia({ media: 'print' })
  expect((await table(page, 'Tenants below').boundingBox())!.width).toBeLessThanOrEqual(703)
})
