import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { listTokens } from '../../src/domain/token/list.ts'
import { createAccount } from '../admin/support.ts'
import { secretOn, signIn } from './admin-actions.ts'
import { checkLook } from './look.ts'
import { openPage, startSite } from './site.ts'

const { database, origin, browser, pool, platform } = await startSite()
await createAccount(database)
// A group of 40 regions: one region has 900 shops, and the other regions have 1,000 stores in total.
await platform`
  insert into tenant (id, parent_id, name)
  select 1, null::bigint, 'Meridian Group'
  union all select 100 + n, 1, 'Region ' || lpad(n::text, 2, '0') from generate_series(1, 40) n
  union all select 1000 + n, 107, 'Shop ' || lpad(n::text, 4, '0') from generate_series(1, 900) n
  union all select 3000 + n, 101 + n % 6, 'Store ' || lpad(n::text, 4, '0') from generate_series(1, 1000) n`
const signedIn = await browser.newPage()
await signIn(signedIn, origin)
const storageState = await signedIn.context().storageState()

/** Opens the form of a new token, and types a name. Counts how often the browser loads a page. */
async function openForm() {
  // The browser logs an error for a rejected form, and for a request that a test aborts.
  const expected = /status of 422|ERR_FAILED/
  const { page } = await openPage(browser, `${origin}/admin/tokens/new`, { storageState, expected })
  await page.getByLabel('Name').fill('Typed')
  let loads = 0
  page.on('framenavigated', () => {
    loads += 1
  })
  return { page, loads: () => loads }
}

const findButton = (page: Page | Locator, name: string) => page.getByRole('button', { name, exact: true })
const findChosenTenants = (page: Page) => page.getByRole('list', { name: 'Chosen tenants' })
const readFocusedId = (page: Page) => page.evaluate<string>('document.activeElement.id')
const findStatus = (page: Page) => page.locator('#picker-status')
const untilStatus = (page: Page, text: string) => findStatus(page).getByText(text, { exact: true }).waitFor()

/** Creates the token on the page, and returns its grants from the database. */
async function createTokenGrants(page: Page) {
  await secretOn(page)
  const [token] = (await listTokens(pool, { limit: 1 })).rows
  return token?.tenants.map(({ tenantId, withDescendants }) => [tenantId, withDescendants])
}

test('with the keyboard, tenants are chosen without a reload, listed with their paths, given a reach, and removed', async () => {
  const { page, loads } = await openForm()
  await findButton(page, 'Below Meridian Group').focus()
  await page.keyboard.press('Enter')
  await untilStatus(page, '40 tenants directly below Meridian Group.')
  expect(await readFocusedId(page)).toBe('found')
  for (const name of ['Region 02', 'Region 09', 'Region 07']) {
    await findButton(page, `Add ${name}`).focus()
    await page.keyboard.press('Enter')
    await findChosenTenants(page).getByText(`Meridian Group › ${name}`).waitFor()
    // The same button keeps the focus, and now removes the tenant.
    await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe(`Remove ${name}`)
  }
  await untilStatus(page, 'Chosen tenants: 3.')
  await page.keyboard.press('Enter')
  await untilStatus(page, 'Chosen tenants: 2.')
  await page.getByLabel('Reach for Region 09').selectOption('with all below it')
  await findButton(findChosenTenants(page), 'Remove Region 02').click()
  await untilStatus(page, 'Chosen tenants: 1.')
  expect(await readFocusedId(page)).toBe('chosen')
  await checkLook(page, 'picker-below')
  expect(await page.getByLabel('Name').inputValue()).toBe('Typed')
  expect(loads()).toBe(0)
  await findButton(page, 'Create the token').last().click()
  expect(await createTokenGrants(page)).toEqual([[109, true]])
})

test('a search shows its results without a reload, and one button adds all results', async () => {
  const { page, loads } = await openForm()
  await page.getByLabel('Find a tenant').fill('shop 03')
  await page.keyboard.press('Enter')
  await untilStatus(page, '100 tenants match “shop 03”.')
  expect(await readFocusedId(page)).toBe('search')
  await findButton(page, 'Add Shop 0301').click()
  await untilStatus(page, 'Chosen tenants: 1.')
  await checkLook(page, 'picker-found')
  await findButton(page, 'Add the other 99 results').click()
  await untilStatus(page, 'Chosen tenants: 100.')
  expect(loads()).toBe(0)
})

test('a button press or a change of a reach during a request takes effect', async () => {
  const { page } = await openForm()
  await findButton(page, 'Add Meridian Group').click()
  await findButton(page, 'Below Meridian Group').click()
  await untilStatus(page, '40 tenants directly below Meridian Group.')
  const reach = page.getByLabel('Reach for Meridian Group')
  let asked = 0
  await page.route('**/admin/tenants', async route => {
    asked += 1
    const response = await route.fetch()
    if (asked === 1) {
      await reach.selectOption('with all below it')
      await findButton(page, 'Add Region 02').click()
    }
    await route.fulfill({ response })
  })
  await findButton(page, 'Add Region 01').click()
  await untilStatus(page, 'Chosen tenants: 3.')
  expect(await reach.inputValue()).toBe('below')
  expect(asked).toBe(3)
})

test('when the service does not answer, the page says so and keeps its values, and the next attempt works', async () => {
  const { page, loads } = await openForm()
  await page.route('**/admin/tenants', route => route.abort(), { times: 1 })
  await findButton(page, 'Add Meridian Group').click()
  await page.getByText('Nothing was loaded').waitFor()
  await checkLook(page, 'picker-error')
  await findButton(page, 'Add Meridian Group').click()
  await untilStatus(page, 'Chosen tenants: 1.')
  expect(loads()).toBe(0)
})
