import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { guides } from '../../src/docs/guides.ts'
import { checkedViews, isLong, look, untilAccessible, views } from './look.ts'
import { keptBeyondTab, openPage, startSite } from './site.ts'

const { build, origin, browser } = await startSite()
const tenantId = await build.tenant({ name: 'The Old Mill' })
const { secret } = await build.token([tenantId])

const open = (path: string, options: Parameters<typeof openPage>[2] = {}) => openPage(browser, origin + path, options)

/** Guides that have each element of a guide: steps, samples, tables and long texts of code. */
const differing = ['quick-start', 'keeping-in-step', 'errors', 'fields']

test('every page is accessible and fits', async () => {
  const { page } = await open('/docs')
  await look(page, 'docs-overview')
  for (const path of ['search?q=cursor', 'downloads', ...(isLong ? guides.map(({ slug }) => slug) : differing)]) {
    await page.goto(`${origin}/docs/${path}`)
    await look(page, `docs-${path.split('?')[0]}`)
  }
})

test('on paper each page is its text in light colours, without navigation, and fits', async () => {
  const { page } = await open('/docs', { colorScheme: 'dark', viewport: { width: 703, height: 1000 } })
  for (const path of ['/', '/docs/keeping-in-step', '/docs/fields', '/docs/reference']) {
    await page.emulateMedia({ media: 'screen' })
    await page.goto(origin + path)
    if (path === '/docs/reference') await scalarShown(page)
    await page.emulateMedia({ media: 'print' })
    expect(await page.locator('nav:visible, aside:visible, .site-header:visible, .copy:visible').count(), path).toBe(0)
    expect(
      await page.evaluate(`[
      document.documentElement.scrollWidth,
      getComputedStyle(document.body).backgroundColor,
      document.getElementById('main').innerText.length > 500,
    ]`),
      path,
    ).toEqual([703, 'rgb(255, 255, 255)', true])
  }
})

test('a page that does not exist is accessible and fits', async () => {
  const { page } = await open('/docs/nothing', { expected: /status of 404/ })
  await look(page, 'docs-nothing')
})

test('the guides are searched with the keyboard', async () => {
  const { page } = await open('/docs/quick-start', { expected: /ERR_FAILED/ })
  await page.getByRole('searchbox', { name: 'Search the guides' }).focus()
  await page.keyboard.type('date_valid_e')
  await page.getByRole('status').filter({ hasText: 'date_valid_e' }).waitFor()
  await page.keyboard.press('ArrowDown')
  expect(await page.locator(':focus').textContent()).toBe('Fields of v1: Purchased voucher')
  const status = await page.getByRole('status').elementHandle()
  await page.getByRole('searchbox').fill('pagination')
  await page.getByRole('status').filter({ hasText: 'pagination' }).waitFor()
  expect(await status?.evaluate(element => element.textContent)).toContain('pagination')
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
  expect(await page.getByRole('searchbox').inputValue()).toBe('retry-after status 429')
  await page
    .getByRole('link', { name: /^Rate limits: / })
    .first()
    .click()
  await page.getByRole('heading', { name: 'Rate limits', level: 1 }).waitFor()
})

const tab = (page: Page, name: string) => page.locator('#keeping-in-step-changes').getByRole('tab', { name })
const shownSamples = (page: Page) =>
  page.locator('.sample:visible').evaluateAll(samples => samples.map(sample => sample.getAttribute('data-language')))

test('one language of the samples is shown, chosen by pointer or keyboard, on all pages', async () => {
  const { page } = await open('/docs/keeping-in-step')
  expect(await shownSamples(page)).toEqual(['sh', 'sh'])
  await tab(page, 'Python').click()
  expect(await shownSamples(page)).toEqual(['py', 'py'])
  await page.keyboard.press('ArrowRight')
  expect(await shownSamples(page)).toEqual(['php', 'php'])
  expect(await tab(page, 'PHP').getAttribute('aria-selected')).toBe('true')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  expect(await tab(page, 'TypeScript').evaluate(element => element === element.ownerDocument.activeElement)).toBe(true)
  // The tab leads into the code, not to the other tabs.
  await page.keyboard.press('Tab')
  expect(
    await page.locator(':focus').evaluate(element => element.closest('.sample')?.getAttribute('data-language')),
  ).toBe('mts')
  await page.goto(`${origin}/docs/paging`)
  expect(await shownSamples(page)).toEqual(['mts'])
})

test('without JavaScript the samples stand one below the other', async () => {
  const { page } = await open('/docs/paging', { javaScriptEnabled: false })
  expect(await shownSamples(page)).toEqual(['sh', 'mts', 'py', 'php'])
  expect(await page.locator('.sample-label:visible').allTextContents()).toEqual(['curl', 'TypeScript', 'Python', 'PHP'])
})

test('a block of code is copied', async () => {
  const { page } = await open('/docs/quick-start', { permissions: ['clipboard-read', 'clipboard-write'] })
  const block = page.locator('.code').first()
  await block.hover()
  // The label stays for two seconds, so the wait begins before the click.
  const isCopied = block.getByRole('button', { name: 'Copied' }).waitFor()
  await block.getByRole('button', { name: 'Copy' }).click()
  await isCopied
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  expect(copied).toBe(`export VOUCHER_GATEWAY_URL=${origin}\nexport VOUCHER_GATEWAY_TOKEN=vgw_your-token`)
})

test('the table of contents and the anchors of headings lead to the sections', async () => {
  const { page } = await open('/docs/errors')
  await page
    .getByRole('navigation', { name: 'On this page' })
    .getByRole('link', { name: '429: too many requests' })
    .click()
  const heading = page.getByRole('heading', { name: '429: too many requests' })
  await expect.poll(() => heading.evaluate(element => element.getBoundingClientRect().top)).toBeLessThan(120)
  await page.locator('.contents [aria-current]').getByText('429: too many requests').waitFor()
  await heading.hover()
  await heading.getByRole('link').click()
  expect(page.url()).toBe(`${origin}/docs/errors#429-too-many-requests`)
})

test('from the landing page to a guide by keyboard alone', async () => {
  const { page } = await open('/', { viewport: { width: 390, height: 800 } })
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Docs' }).focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/docs$/)
  await page.keyboard.press('Tab')
  await page.getByRole('link', { name: 'Skip to the content' }).waitFor()
  expect(await page.locator(':focus').textContent()).toBe('Skip to the content')
  await page.getByText('All guides').focus()
  await page.keyboard.press('Enter')
  await page.getByRole('navigation', { name: 'Guides' }).getByRole('link', { name: 'Paging' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Paging', level: 1 }).waitFor()
})

const scalarShown = (page: Page) => page.getByRole('heading', { name: 'List tenants' }).waitFor()

/** The findings of axe-core in Scalar's client, which opens over the page: nothing in its settings changes them. */
const leftInClient = ['landmark-no-duplicate-main', 'landmark-unique', 'region']

test.each(checkedViews)('the reference is accessible and fits: $width px, $colorScheme', async ({
  colorScheme,
  width,
}) => {
  const { page } = await open('/docs/reference', { colorScheme, viewport: { width, height: 900 } })
  await scalarShown(page)
  // On a narrow screen Scalar names the section that is shown, depending on the speed of the page.
  await page.evaluate(
    `for (const label of document.querySelectorAll('#main header > span')) label.textContent = 'Section'`,
  )
  await untilAccessible(page, `docs-reference-${width}-${colorScheme}`)
})

test('a request is sent with a token, which is kept in the tab only, and no request leaves the service', async () => {
  const { page, requested } = await open('/docs/reference')
  await scalarShown(page)
  await page.getByPlaceholder('Token').first().fill(secret)
  await page
    .getByRole('button', { name: /Test Request/ })
    .first()
    .click()
  await page.getByRole('button', { name: /^Send/ }).first().click()
  await page.getByText('The Old Mill').first().waitFor()
  // Scalar draws its client, and axe-core takes as long for it as for all guides.
  for (const { width } of isLong ? views : []) {
    await page.setViewportSize({ width, height: 900 })
    await untilAccessible(page, `docs-reference-client-${width}`, leftInClient)
  }

  expect(await keptBeyondTab(page)).not.toContain(secret)
  expect(requested.filter(url => !url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url))).toEqual([])
  expect(requested).toContain(`${origin}/api/external/v1/tenants`)
  expect(requested.join()).not.toContain(secret)
  await page.reload()
  await scalarShown(page)
  expect(await page.getByPlaceholder('Token').first().inputValue()).toBe(secret)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await scalarShown(page)
  await expect.poll(() => page.getByPlaceholder('Token').first().inputValue()).toBe('')
})

test('the samples of code in the reference are requests that the service accepts, and the document can be downloaded', async () => {
  const { page } = await open('/docs/reference')
  await scalarShown(page)
  const samples = page.locator('pre', { hasText: /^curl / })
  await expect.poll(async () => new Set(await samples.allInnerTexts()).size, { timeout: 20_000 }).toBe(13)
  for (const sample of new Set(await samples.allInnerTexts())) {
    const [url = ''] = /http:\S+/.exec(sample) ?? []
    const headers = new Headers(
      [...sample.matchAll(/--header '(.+?): (.+?)'/g)].map(([, name, value]) => [name!, value!]),
    )
    headers.set('authorization', `Bearer ${secret}`)
    const [, body] = /--data '(.+)'/s.exec(sample) ?? []
    const response = await fetch(
      url,
      body ? { method: 'POST', headers, body } : { headers: { accept: '*/*', ...Object.fromEntries(headers) } },
    )
    // An export holds its lease until it is read: a token has one at a time.
    await response.text()
    // The records of the examples are not there.
    expect([200, 403, 404], sample).toContain(response.status)
  }
  const downloading = page.waitForEvent('download')
  await page.getByText('Download OpenAPI Document').first().click()
  expect(await (await downloading).path()).toBeTruthy()
})

test('without JavaScript the reference names other ways', async () => {
  const { page } = await open('/docs/reference', { javaScriptEnabled: false })
  await page.getByRole('link', { name: 'OpenAPI document' }).waitFor()
})
