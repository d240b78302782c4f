import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { listTokens } from '../../src/domain/token/list.ts'
import { createAccount } from '../admin/support.ts'
import { secretOn, signIn } from './admin-actions.ts'
import { look } from './look.ts'
import { openPage, startSite } from './site.ts'

const { database, origin, browser } = await startSite()
await createAccount(database)
// A group of 40 regions, of which one has 900 shops and the first shop 60 tills; 1,000 stores in the other regions.
await database.platform`
  insert into tenant (id, parent_id, name)
  select 1, null::bigint, 'Meridian Group'
  union all select 100 + n, 1, 'Region ' || lpad(n::text, 2, '0') from generate_series(1, 40) n
  union all select 1000 + n, 107, 'Shop ' || lpad(n::text, 4, '0') from generate_series(1, 900) n
  union all select 2000 + n, 1001, 'Till ' || lpad(n::text, 2, '0') from generate_series(1, 60) n
  union all select 3000 + n, 101 + n % 6, 'Store ' || lpad(n::text, 4, '0') from generate_series(1, 1000) n`
const signedIn = await browser.newPage()
await signIn(signedIn, origin)
const storageState = await signedIn.context().storageState()

/** The form of a new token, with a name that was typed; counts how often the browser loads a page. */
async function openForm() {
  // The browser itself reports a form that is refused, and a request that a test aborts.
  const expected = /status of 422|ERR_FAILED/
  const { page } = await openPage(browser, `${origin}/admin/tokens/new`, { storageState, expected })
  await page.getByLabel('Name').fill('Typed')
  let loads = 0
  page.on('framenavigated', () => {
    loads += 1
  })
  return { page, loads: () => loads }
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const box = (page: Page, name: string) =>
  page.getByRole('list', { name: 'All tenants' }).getByRole('checkbox', { name })
const focused = (page: Page) => page.evaluate<string>('document.activeElement.id')
const status = (page: Page) => page.locator('#picker-status')

const says = (page: Page, text: string) => status(page).getByText(text, { exact: true }).waitFor()

async function openShops(page: Page): Promise<void> {
  await button(page, 'Below Meridian Group').click()
  await button(page, 'Below Region 07').click()
  await says(page, '50 tenants below Region 07 loaded, 850 more to show.')
}

test('a level opens and closes in place: what was typed stays, the focus stays, and its size is announced', async () => {
  const { page, loads } = await openForm()
  const group = button(page, 'Below Meridian Group')
  expect(await group.getAttribute('aria-expanded')).toBe('false')
  await group.focus()
  await page.keyboard.press('Enter')
  await says(page, '40 tenants below Meridian Group loaded, the last.')
  expect(await group.getAttribute('aria-expanded')).toBe('true')
  expect(await page.evaluate('document.activeElement.value')).toBe('toggle:1')
  await box(page, 'Region 02').check()

  await group.click()
  expect(await group.getAttribute('aria-expanded')).toBe('false')
  await box(page, 'Region 02').waitFor({ state: 'hidden' })
  await group.click()
  expect(await box(page, 'Region 02').isChecked()).toBe(true)
  expect(await page.getByLabel('Name').inputValue()).toBe('Typed')
  expect(loads()).toBe(0)
})

test('a level of 900 is shown 50 at a time, each tenant once, with the focus on the first of them', async () => {
  const { page, loads } = await openForm()
  await openShops(page)
  const shops = page.locator('[data-parent="107"] > li:not(.more) > .tree-node')
  for (let left = 850; left > 0; left -= 50) {
    const text = left > 50 ? `Show 50 more of ${left} below Region 07` : 'Show 50 more below Region 07'
    await button(page, text).click()
    await says(page, `50 tenants below Region 07 loaded, ${left > 50 ? `${left - 50} more to show` : 'the last'}.`)
    expect(await focused(page)).toBe(`node-${1001 + 900 - left}`)
  }
  const names = await shops.allInnerTexts()
  expect(new Set(names).size).toBe(900)
  expect(names).toEqual(names.toSorted())
  expect(loads()).toBe(0)

  // The service shows the same tree when it answers with the form again.
  await button(page, 'Create the token').last().click()
  await page.getByRole('alert').waitFor()
  await page.waitForLoadState('load')
  expect(await shops.count()).toBe(900)
})

test('several tenants are chosen at once, listed with their paths, given a reach, and removed', async () => {
  const { page, loads } = await openForm()
  await openShops(page)
  for (const name of ['Shop 0003', 'Shop 0004', 'Region 09']) await box(page, name).check()
  await page.locator('#add-selected').click()
  await says(page, 'Chosen tenants: 3.')
  expect(await focused(page)).toBe('add-selected')
  const chosen = page.getByRole('list', { name: 'Chosen tenants' })
  await chosen.getByText('Meridian Group › Region 07 › Shop 0003').waitFor()
  expect(await box(page, 'Shop 0003').isDisabled()).toBe(true)

  await page.getByLabel('Reach for Region 09').selectOption('with all below it')
  await chosen.getByRole('checkbox', { name: 'Shop 0004' }).uncheck()
  await page.getByText('Chosen tenants: 2.').waitFor()
  expect(await box(page, 'Shop 0004').isChecked()).toBe(false)
  await box(page, 'Shop 0005').check()
  await page.locator('#add-selected').click()
  await says(page, 'Chosen tenants: 3.')
  await look(page, 'picker-tree')
  expect(loads()).toBe(0)
  // Ticked and not added: chosen too.
  await box(page, 'Shop 0006').check()
  await button(page, 'Create the token').last().click()
  await secretOn(page)
  const [token] = (await listTokens(database.pool, { limit: 1 })).rows
  expect(token?.tenants.map(({ tenantId, withDescendants }) => [tenantId, withDescendants])).toEqual([
    [109, true],
    [1003, false],
    [1005, false],
    [1006, false],
  ])
})

test('a search is answered in place, by Enter too, and all its results are added at once', async () => {
  const { page, loads } = await openForm()
  await page.getByLabel('Find a tenant').fill('shop 03')
  await page.keyboard.press('Enter')
  await says(page, '100 tenants match “shop 03”.')
  expect(await focused(page)).toBe('search')
  await look(page, 'picker-found')
  await page.getByRole('list', { name: 'Tenants found' }).getByRole('checkbox', { name: 'Shop 0301' }).check()
  await page.locator('#add-found').click()
  await says(page, 'Chosen tenants: 1.')
  expect(await focused(page)).toBe('add-found')
  await button(page, 'Add the other 99 results').click()
  await says(page, 'Chosen tenants: 100.')

  for (const [search, matches, chosen] of [
    ['shop 04', 100, 200],
    ['shop 05', 100, 300],
  ]) {
    await page.getByLabel('Find a tenant').fill(String(search))
    await button(page, 'Find').click()
    await says(page, `${matches} tenants match “${search}”.`)
    await button(page, `Add all ${matches} results`).click()
    await says(page, `Chosen tenants: ${chosen}.`)
  }
  const boxes = page.getByRole('list', { name: 'Chosen tenants' }).getByRole('checkbox')
  expect(await boxes.count()).toBe(300)
  await boxes.nth(299).uncheck()
  await look(page, 'picker-300-chosen')
  expect(loads()).toBe(0)
  await button(page, 'Create the token').last().click()
  await secretOn(page)
  const [token] = (await listTokens(database.pool, { limit: 1 })).rows
  expect(token?.tenants).toHaveLength(299)
})

test('changes during a pending request are kept', async () => {
  const { page } = await openForm()
  await openShops(page)
  await box(page, 'Shop 0001').check()
  let asked = 0
  await page.route('**/admin/tenants', async route => {
    asked += 1
    const response = await route.fetch()
    if (asked === 1) await box(page, 'Shop 0002').check()
    await route.fulfill({ response })
  })
  await page.locator('#add-selected').click()
  await says(page, 'Chosen tenants: 2.')
  expect(asked).toBe(2)
})

test('when a level does not load, the page says so and keeps all; the next attempt loads it', async () => {
  const { page, loads } = await openForm()
  await page.route('**/admin/tenants?*', route => route.abort(), { times: 1 })
  const group = button(page, 'Below Meridian Group')
  await group.click()
  await page.getByText('Nothing was loaded').waitFor()
  expect(await status(page).isVisible()).toBe(true)
  expect(await group.getAttribute('aria-expanded')).toBe('false')
  await look(page, 'picker-error')
  await group.click()
  await says(page, '40 tenants below Meridian Group loaded, the last.')
  expect(await page.getByLabel('Name').inputValue()).toBe('Typed')
  expect(loads()).toBe(0)
})

test('without scripts each button answers with the form, which keeps what was typed, opened and chosen', async () => {
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage()
  await signIn(page, origin)
  await page.goto(`${origin}/admin/tokens/new`)
  const countTokens = async () => (await listTokens(database.pool, { limit: 100 })).rows.length
  const before = await countTokens()
  /** Presses a button, after which the tree shows so many tenants. */
  async function press(name: string, shown: number): Promise<void> {
    await button(page, name).click()
    await expect.poll(() => page.locator('li[id^=node-]').count()).toBe(shown)
  }
  // Before the name is typed, which a browser could require.
  await press('Below Meridian Group', 41)
  await page.getByLabel('Name').fill('Without scripts')
  await page.getByLabel('Date').fill('2020-01-01')
  for (const name of ['Region 02', 'Region 03']) await box(page, name).check()
  await press('Below Region 07', 91)
  await press('Show 50 more of 850 below Region 07', 141)
  await press('Below Meridian Group', 1)

  const search = page.getByLabel('Find a tenant')
  await search.fill('shop 03')
  await search.press('Enter')
  await page.getByText('100 tenants match “shop 03”.').waitFor()
  await page.waitForLoadState('load')
  const found = page.getByRole('list', { name: 'Tenants found' })
  const chosen = page.getByRole('list', { name: 'Chosen tenants' })
  expect([await found.getByRole('checkbox').count(), await chosen.getByRole('checkbox').count()]).toEqual([30, 2])
  await found.getByRole('checkbox', { name: 'Shop 0300' }).check()
  await page.locator('#add-found').click()
  await chosen.getByText('Meridian Group › Region 07 › Shop 0300').waitFor()
  await button(page, 'Add the other 99 results').click()
  await expect.poll(() => chosen.getByRole('checkbox').count()).toBe(102)
  await page.getByLabel('Reach for Region 02').selectOption('with all below it')
  await chosen.getByRole('checkbox', { name: 'Region 03' }).uncheck()

  // A search that was typed comes first, and errors keep all values.
  await search.fill('shop 04')
  await button(page, 'Create the token').last().click()
  await page.getByText('100 tenants match “shop 04”.').waitFor()
  await button(page, 'Create the token').last().click()
  await page.getByRole('alert').waitFor()
  expect([await page.getByLabel('Name').inputValue(), await countTokens()]).toEqual(['Without scripts', before])
  await page.getByLabel('Date').fill('')
  // During a search Enter does not save.
  await search.fill('')
  await search.press('Enter')
  await found.waitFor({ state: 'detached' })
  // Ticked and not added: chosen too.
  await box(page, 'Meridian Group').check()
  await page.getByLabel('Name').press('Enter')
  await secretOn(page)
  // A script shows the buttons that copy.
  expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(0)
  const [token] = (await listTokens(database.pool, { limit: 1 })).rows
  expect(token?.tenants).toHaveLength(102)
  expect(token?.tenants.filter(grant => grant.withDescendants).map(({ tenantId }) => tenantId)).toEqual([102])
})
