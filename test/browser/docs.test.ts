import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { guides } from '../../src/docs/guides.ts'
import { checkedViews, checkLook, isLongRun, untilAccessible, views } from './look.ts'
import { openPage, readStoredOutsideTab, startSite } from './site.ts'

const { build, origin, browser } = await startSite()
const tenantId = await build.tenant({ name: 'The Old Mill' })
const { secret } = await build.token([tenantId])

const openDocs = (path: string, options: Parameters<typeof openPage>[2] = {}) =>
  openPage(browser, origin + path, options)

/** Guides that together contain each kind of element: steps, samples, tables and long lines of code. */
const guidesWithAllElements = ['quick-start', 'keeping-in-step', 'errors', 'fields']

test('the landing page and each page of the docs are accessible and not wider than the screen', async () => {
  const { page } = await openDocs('/', { expected: /status of 404/ })
  const slugs = [
    'search?q=cursor',
    'downloads',
    'nothing',
    ...(isLongRun ? guides.map(({ slug }) => slug) : guidesWithAllElements),
  ]
  for (const path of ['/', '/docs', ...slugs.map(slug => `/docs/${slug}`)]) {
    await page.goto(origin + path)
    await checkLook(page, path.split('?')[0]!.replaceAll('/', '-'))
  }
})

test('the guides can be searched with the keyboard alone', async () => {
  const { page } = await openDocs('/docs/quick-start', { expected: /ERR_FAILED/ })
  await page.getByRole('searchbox', { name: 'Search the guides' }).focus()
  await page.keyboard.type('date_valid_e')
  await page.getByRole('status').filter({ hasText: 'date_valid_e' }).waitFor()
  await page.keyboard.press('ArrowDown')
  expect(await page.locator(':focus').textContent()).toBe('Fields of v1: Purchased voucher')
  await page.route(/search\?q=cursor/, route => route.abort())
  await page.getByRole('searchbox').fill('cursor')
  await page.getByRole('status').filter({ hasText: 'The search failed. Press Enter' }).waitFor()
  expect(await page.locator('main .links a').count()).toBe(0)
  await page.getByRole('searchbox').fill('')
  await page.getByRole('heading', { name: 'Quick start', level: 1 }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/docs/quick-start')
  await page.getByRole('searchbox').fill('retry-after status 429')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/docs\/search\?q=retry-after/)
  await page.getByRole('status').filter({ hasText: 'retry-after status 429' }).waitFor()
})

const findTab = (page: Page, name: string) => page.locator('#keeping-in-step-changes').getByRole('tab', { name })
const readShownSamples = (page: Page) =>
  page.locator('.sample:visible').evaluateAll(samples => samples.map(sample => sample.getAttribute('data-language')))

test('all pages show the samples in the language that was chosen by pointer or keyboard', async () => {
  const { page } = await openDocs('/docs/keeping-in-step')
  expect(await readShownSamples(page)).toEqual(['sh', 'sh'])
  await findTab(page, 'Python').click()
  expect(await readShownSamples(page)).toEqual(['py', 'py'])
  await page.keyboard.press('ArrowRight')
  expect(await readShownSamples(page)).toEqual(['php', 'php'])
  expect(await findTab(page, 'PHP').getAttribute('aria-selected')).toBe('true')
  // The Tab key moves the focus from the chosen tab into the code, and not to the other tabs.
  await page.keyboard.press('Tab')
  expect(await page.locator('.sample:has(:focus)').getAttribute('data-language')).toBe('php')
  await page.goto(`${origin}/docs/paging`)
  expect(await readShownSamples(page)).toEqual(['php'])
})

test('a button copies a block of code, and the table of contents links to the sections', async () => {
  const { page } = await openDocs('/docs/quick-start', { permissions: ['clipboard-read', 'clipboard-write'] })
  const block = page.locator('.code').first()
  await block.hover()
  await block.getByRole('button', { name: 'Copy' }).click()
  const code = `export VOUCHER_GATEWAY_URL=${origin}\nexport VOUCHER_GATEWAY_TOKEN=vgw_your-token`
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(code)

  await page.goto(`${origin}/docs/errors`)
  const title = '429: too many requests'
  await page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: title }).click()
  const heading = page.getByRole('heading', { name: title })
  await expect.poll(() => heading.evaluate(element => element.getBoundingClientRect().top)).toBeLessThan(120)
  await page.locator('.contents [aria-current]').getByText(title).waitFor()
})

const untilScalarShown = (page: Page) => page.getByRole('heading', { name: 'List tenants' }).waitFor()

/**
 * Violations that axe-core finds in Scalar's API client, which opens over the page. No setting of Scalar removes them.
 */
const violationsOfClient = ['landmark-no-duplicate-main', 'landmark-unique', 'region']

test.each(checkedViews)('Scalar is accessible and not wider than the screen: $width px, $colorScheme', async ({
  colorScheme,
  width,
}) => {
  const { page } = await openDocs('/docs/reference', { colorScheme, viewport: { width, height: 900 } })
  await untilScalarShown(page)
  // On a narrow screen Scalar shows the name of the current section, which depends on the speed of the page.
  await page.evaluate(
    `for (const label of document.querySelectorAll('#main header > span')) label.textContent = 'Section'`,
  )
  await untilAccessible(page, `docs-reference-${width}-${colorScheme}`)
})

test('the reference sends a request with a token, stores the token only in the tab, and calls no other host', async () => {
  const { page, requested } = await openDocs('/docs/reference')
  await untilScalarShown(page)
  await page.getByPlaceholder('Token').first().fill(secret)
  await page
    .getByRole('button', { name: /Test Request/ })
    .first()
    .click()
  await page.getByRole('button', { name: /^Send/ }).first().click()
  await page.getByText('The Old Mill').first().waitFor()
  // axe-core takes as long for Scalar's API client as for all guides, so only long runs check the client.
  for (const { width } of isLongRun ? views : []) {
    await page.setViewportSize({ width, height: 900 })
    await untilAccessible(page, `docs-reference-client-${width}`, violationsOfClient)
  }

  expect(await readStoredOutsideTab(page)).not.toContain(secret)
  expect(requested.filter(url => !url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url))).toEqual([])
  expect(requested).toContain(`${origin}/api/external/v1/tenants`)
  expect(requested.join()).not.toContain(secret)
  await page.reload()
  await untilScalarShown(page)
  expect(await page.getByPlaceholder('Token').first().inputValue()).toBe(secret)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await untilScalarShown(page)
  await expect.poll(() => page.getByPlaceholder('Token').first().inputValue()).toBe('')
})

test('without JavaScript a guide shows the samples of all languages, and the reference links to other formats', async () => {
  const { page } = await openDocs('/docs/paging', { javaScriptEnabled: false })
  expect(await readShownSamples(page)).toEqual(['sh', 'mts', 'py', 'php'])
  expect(await page.locator('.sample-label:visible').allTextContents()).toEqual(['curl', 'TypeScript', 'Python', 'PHP'])
  await page.goto(`${origin}/docs/reference`)
  await page.getByRole('link', { name: 'OpenAPI document' }).waitFor()
})
