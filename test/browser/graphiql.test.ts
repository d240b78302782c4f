import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import { tester } from '../support/builders.ts'
import { until } from '../support/until.ts'
import { findCurrentTab, findResult, loadPage, openTab, runQuery, typeInto } from './graphiql-page.ts'
import { checkedViews, untilAccessible, type View, views } from './look.ts'
import { openPage, readStoredOutsideTab, startSite } from './site.ts'

const { build, client, origin, browser, pool } = await startSite()
const tenantId = await build.tenant({ name: 'The Old Mill' })
await build.product(tenantId, { title: 'A day at the mill' })
const { secret } = await build.token([tenantId], { name: 'Explorer' })

/** Opens GraphiQL in a new browser context. */
async function openGraphiql({ width, colorScheme }: View = views[0]) {
  // The browser logs rejected requests as errors, and some tests cause rejected requests.
  const options = { viewport: { width, height: 900 }, colorScheme, expected: /status of 40[01]/ }
  const opened = await openPage(browser, `${origin}/graphiql`, options)
  await loadPage(opened.page, async () => {})
  return opened
}

const findStatus = (page: Page) => page.getByRole('status')
const readTabNames = (page: Page) => page.locator('.graphiql-tab-button').allTextContents()
/** Finds the part of the header that shows who is signed in. */
const findAccount = (page: Page) => page.locator('#account')

async function enterToken(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Use the token' }).click()
}

async function useToken(page: Page): Promise<void> {
  await enterToken(page, secret)
  await findAccount(page).getByText('Explorer').waitFor()
}

/** GraphiQL stores its tabs half a second after a change. */
const untilStored = (page: Page, text: string) =>
  until(`${text} is kept`, async () =>
    ((await page.evaluate<string | null>(`sessionStorage.getItem('graphiql:tabState')`)) ?? '').includes(text),
  )

const findExplorer = (page: Page) => page.locator('.graphiql-doc-explorer')

test('a token is typed once for all tabs of GraphiQL, survives a reload, and is stored only in the browser tab', async () => {
  const { page, requested } = await openGraphiql()
  await useToken(page)
  await runQuery(page, 'The Old Mill')
  await openTab(page, 'Catalog')
  await runQuery(page, 'A day at the mill')
  await page.getByRole('button', { name: /new tab/i }).click()
  await typeInto(page, 'Operation Editor', 'query Mine { viewer { name } }')
  await runQuery(page, 'Explorer')

  await untilStored(page, 'query Mine')
  const tabs = await readTabNames(page)
  await loadPage(page, () => page.reload())
  await findAccount(page).getByText('Explorer').waitFor()
  expect(await readTabNames(page)).toEqual(tabs)
  await findCurrentTab(page, 'Mine').waitFor()
  await runQuery(page, 'Explorer')

  const outside = requested.filter(url => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))
  expect(outside).toEqual([])
  expect(requested.join()).not.toContain(secret)
  // Neither tokens nor queries outlive the browser tab.
  const kept = await readStoredOutsideTab(page)
  for (const text of [secret, 'viewer']) expect(kept).not.toContain(text)
})

test('without a valid token, the page says what to do', async () => {
  const { page } = await openGraphiql()
  await runQuery(page, 'token')
  await findStatus(page).getByText('The request had no token. Type one here').waitFor()
  await findResult(page).getByText('Administrators of this service create tokens').waitFor()
  await enterToken(page, `${secret}x`)
  await findStatus(page).getByText('The service refuses this token: it is unknown, expired or revoked.').waitFor()
  expect(await findAccount(page).getByRole('button', { name: 'Sign out' }).count()).toBe(0)
  for (const nothing of ['two words', 'ünicode', '   ']) {
    await enterToken(page, nothing)
    await findStatus(page).getByText('This is not a token').waitFor()
  }
  await enterToken(page, ` Bearer ${secret} `)
  await findAccount(page).getByText('Explorer').waitFor()
})

test('a token that is revoked or removed is not used any more', async () => {
  const { page } = await openGraphiql()
  const brief = await build.token([tenantId], { name: 'Brief' })
  await enterToken(page, brief.secret)
  await findAccount(page).getByText('Brief').waitFor()
  await revokeToken(pool, tester, brief.id)
  await until('revoked', async () => (await client.graphql(brief.secret, '{ viewer { name } }')).status === 401, 5_000)
  await page.getByRole('button', { name: /execute query/i }).click()
  await findStatus(page).getByText('The service refuses this token').waitFor()

  await useToken(page)
  await findAccount(page).getByRole('button', { name: 'Sign out' }).click()
  await findStatus(page).getByText('Type a token once').waitFor()
  expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain(secret)
})

test('an Authorization header in the headers editor replaces the token, and is stored only in the browser tab', async () => {
  const { page } = await openGraphiql()
  const other = await build.token([tenantId], { name: 'Another' })
  await useToken(page)
  await page.getByRole('button', { name: 'Headers' }).click()
  await typeInto(page, 'Headers', JSON.stringify({ Authorization: `Bearer ${other.secret}` }))
  await runQuery(page, 'Another')
  await typeInto(page, 'Headers', '{}')
  await runQuery(page, 'Explorer')
  expect(await readStoredOutsideTab(page)).not.toContain(other.secret)
})

test('GraphiQL is accessible, and a narrow screen shows query and answer without the documentation', async () => {
  for (const view of checkedViews) {
    const { page } = await openGraphiql(view)
    const see = async (state: string, place: Locator) => {
      await place.waitFor()
      await untilAccessible(page, `graphiql-${state}-${view.width}-${view.colorScheme}`, [], ['target-size'])
    }
    await see('none', findStatus(page).getByText('Type a token'))
    await enterToken(page, 'vgw_wrong')
    await see('wrong', findStatus(page).getByText('refuses'))
    await enterToken(page, secret)
    await runQuery(page, 'The Old Mill')
    await see('used', findAccount(page).getByText('Explorer'))
    if (view === views[1]) await expectBothInView(page, view.width)
    await page.context().close()
  }
})

async function expectBothInView(page: Page, width: number) {
  expect(await findExplorer(page).count()).toBe(0)
  for (const editor of [page.getByRole('region', { name: 'Operation Editor' }), findResult(page)]) {
    const box = (await editor.boundingBox())!
    expect(Math.min(box.width, box.height)).toBeGreaterThan(200)
    expect(box.x + box.width).toBeLessThanOrEqual(width)
    expect(box.y + box.height).toBeLessThanOrEqual(900)
    const lines = editor.locator('.view-line > span')
    const ends = await lines.evaluateAll(spans => spans.map(span => span.getBoundingClientRect().right))
    expect(Math.max(...ends)).toBeLessThanOrEqual(width)
  }
}
