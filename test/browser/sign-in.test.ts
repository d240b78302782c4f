/** Tests that one sign-in is valid on all pages, in the demo and outside the demo. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { loadDemo } from '../../src/demo/load.ts'
import { permissionNames } from '../../src/domain/token/permission.ts'
import { createAccount } from '../admin/support.ts'
import { createApp } from '../support/app.ts'
import { whole } from '../support/builders.ts'
import { signIn } from './admin-actions.ts'
import { checkLook } from './look.ts'
import { openPage, startSite } from './site.ts'

const { database, build, origin, browser, platform } = await startSite()
await loadDemo(platform, { scale: 1 })
const { secret: demoToken } = await build.token([whole(1)], { name: 'Demo', permissions: [...permissionNames] })
const { app: demo } = await createApp({ ...database, demoToken })
const demoOrigin = await demo.listen({ host: '127.0.0.1', port: 0 })
const { secret } = await build.token([whole(1)], { name: 'Explorer' })
await createAccount(database)

const places = ['Dashboard', 'GraphiQL', 'Docs', 'API access']

const openPlace = (at: string) => openPage(browser, at, { expected: /status of 40[13]/ })

const findHeader = (page: Page) => page.getByRole('banner').first()
const findSignOutButton = (page: Page) => findHeader(page).getByRole('button', { name: 'Sign out' })

/** Opens another page of the service by the links in the navigation. */
async function openByNavigation(page: Page, name: string): Promise<void> {
  await findHeader(page).getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click()
  await findHeader(page).locator('nav[aria-label="Main"] [aria-current]').getByText(name, { exact: true }).waitFor()
}

const untilDashboardShown = (page: Page) => page.getByLabel('Period', { exact: true }).waitFor()
const untilTokenAsked = (page: Page) => page.getByRole('button', { name: 'Show the dashboard' }).waitFor()

test('in the demo one sign-in is valid on all pages, and so is one sign-out', async () => {
  const { page } = await openPlace(demoOrigin)
  for (const place of places) {
    await openByNavigation(page, place)
    const links = findHeader(page).getByRole('navigation', { name: 'Main' }).getByRole('link')
    expect(await links.allTextContents()).toEqual(places)
    if (place === 'API access') await page.getByRole('button', { name: 'Sign in to the demo' }).click()
    if (place === 'Dashboard') await untilDashboardShown(page)
    await findHeader(page).getByText('demo', { exact: false }).waitFor()
    await findSignOutButton(page).waitFor()
    // All pages have the same header, and other tests check the rest of the pages.
    if (place === 'Dashboard') await checkLook(page, 'demo')
  }
  await page.getByRole('heading', { name: 'Tokens', level: 1 }).waitFor()
  await openByNavigation(page, 'Dashboard')
  await findSignOutButton(page).click()
  await untilTokenAsked(page)
  await checkLook(page, 'demo-signed-out')
  await page.goto(`${demoOrigin}/admin/tokens`)
  await page.getByRole('button', { name: 'Sign in to the demo' }).waitFor()
  await openByNavigation(page, 'Dashboard')
  await findHeader(page).getByRole('button', { name: 'Use the demo token' }).click()
  await untilDashboardShown(page)
})

test('in the demo one click replaces the token of an earlier demo', async () => {
  const { page } = await openPlace(`${demoOrigin}/graphiql`)
  await findSignOutButton(page).waitFor()
  await page.evaluate(`sessionStorage.setItem('voucher-gateway:token', 'vgw_earlier')`)
  await page.reload()
  await page.getByRole('status').getByText('The service refuses this token').waitFor()
  await findHeader(page).getByRole('button', { name: 'Use the demo token' }).click()
  await findHeader(page).getByText('Demo').waitFor()
})

test('all pages use a token that was entered on one page; signing out also ends the administrator’s session', async () => {
  const { page } = await openPlace(origin)
  await findHeader(page).getByRole('link', { name: 'Sign in' }).click()
  expect(await page.getByRole('button', { name: 'Use the demo token' }).count()).toBe(0)
  await page.getByLabel('Token', { exact: true }).fill(secret)
  await page.keyboard.press('Enter')
  await findHeader(page).getByText('Explorer').waitFor()
  for (const place of ['GraphiQL', 'Docs']) {
    await openByNavigation(page, place)
    await findHeader(page).getByText('Explorer').waitFor()
  }
  await page.getByRole('link', { name: 'API reference' }).first().click()
  await page.getByRole('heading', { name: 'List tenants' }).waitFor()
  expect(await page.getByPlaceholder('Token').first().inputValue()).toBe(secret)

  await signIn(page, origin)
  await page.goto(`${origin}/docs`)
  const reloaded = page.waitForEvent('load')
  await findSignOutButton(page).click()
  await reloaded
  await findHeader(page).getByRole('link', { name: 'Sign in' }).waitFor()
  await page.goto(`${origin}/admin/tokens`)
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).not.toContain(secret)
})
