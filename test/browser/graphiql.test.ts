import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import { tester } from '../support/builders.ts'
import { until } from '../support/until.ts'
import { currentTab, load, openTab, result, run, typeInto } from './graphiql-page.ts'
import { checkedViews, untilAccessible, type View, views } from './look.ts'
import { readStoredOutsideTab, openPage, startSite } from './site.ts'

const { build, client, origin, browser, pool } = await startSite()
const tenantId = await build.tenant({ name: 'The Old Mill' })
await build.product(tenantId, { title: 'A day at the mill' })
const { secret } = await build.token([tenantId], { name: 'Explorer' })

/** Opens GraphiQL in a new browser context. */
async function open({ width, colorScheme }: View = views[0]) {
  // The browser logs rejected requests as errors, and some tests cause rejected requests.
  const options = { viewport: { width, height: 900 }, colorScheme, expected: /status of 40[01]/ }
  const opened = await openPage(browser, `${origin}/graphiql`, options)
  await load(opened.page, async () => {})
  return opened
}

const status = (page: Page) => page.getByRole('status')
const tabNames = (page: Page) => page.locator('.graphiql-tab-button').allTextContents()
/** Finds the part of the header that shows who is signed in. */
const account = (page: Page) => page.locator('#account')

async function enterToken(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Use the token' }).click()
}

async function useToken(page: Page): Promise<void> {
  await enterToken(page, secret)
  await account(page).getByText('Explorer').waitFor()
}

/** GraphiQL stores its tabs half a second after a change. */
const untilKept = (page: Page, text: string) =>
  until(`${text} is kept`, async () =>
    ((await page.evaluate<string | null>(`sessionStorage.getItem('graphiql:tabState')`)) ?? '').includes(text),
  )

const explorer = (page: Page) => page.locator('.graphiql-doc-explorer')

test('a token is typed once for all tabs of GraphiQL, survives a reload, and is stored only in the browser tab', async () => {
  const { page, requested } = await open()
  await useToken(page)
  await run(page, 'The Old Mill')
  await openTab(page, 'Catalog')
  await run(page, 'A day at the mill')
  await page.getByRole('button', { name: /new tab/i }).click()
  await typeInto(page, 'Operation Editor', 'query Mine { viewer { name } }')
  await run(page, 'Explorer')

  await untilKept(page, 'query Mine')
  const tabs = await tabNames(page)
  await load(page, () => page.reload())
  await account(page).getByText('Explorer').waitFor()
  expect(await tabNames(page)).toEqual(tabs)
  await currentTab(page, 'Mine').waitFor()
  await run(page, 'Explorer')

  const outside = requested.filter(url => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))
  expect(outside).toEqual([])
  expect(requested.join()).not.toContain(secret)
  // Neither tokens nor queries outlive the browser tab.
  const kept = await readStoredOutsideTab(page)
  for (const text of [secret, 'viewer']) expect(kept).not.toContain(text)
})

test('without a valid token, the page says what to do', async () => {
  const { page } = await open()
  await run(page, 'token')
  await status(page).getByText('The request had no token. Type one here').waitFor()
  await result(page).getByText('Administrators of this service create tokens').waitFor()
  await enterToken(page, `${secret}x`)
  await status(page).getByText('The service refuses this token: it is unknown, expired or revoked.').waitFor()
  expect(await account(page).getByRole('button', { name: 'Sign out' }).count()).toBe(0)
  for (const nothing of ['two words', 'ünicode', '   ']) {
    await enterToken(page, nothing)
    await status(page).getByText('This is not a token').waitFor()
  }
  await enterToken(page, ` Bearer ${secret} `)
  await account(page).getByText('Explorer').waitFor()
})

test('a token that is revoked or removed is not used any more', async () => {
  const { page } = await open()
  const brief = await build.token([tenantId], { name: 'Brief' })
  await enterToken(page, brief.secret)
  await account(page).getByText('Brief').waitFor()
  await revokeToken(pool, tester, brief.id)
  await until('revoked', async () => (await client.graphql(brief.secret, '{ viewer { name } }')).status === 401, 5_000)
  await page.getByRole('button', { name: /execute query/i }).click()
  await status(page).getByText('The service refuses this token').waitFor()

  await useToken(page)
  await account(page).getByRole('button', { name: 'Sign out' }).click()
  await status(page).getByText('Type a token once').waitFor()
  expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain(secret)
})

test('an Authorization header in the headers editor replaces the token, and is stored only in the browser tab', async () => {
  const { page } = await open()
  const other = await build.token([tenantId], { name: 'Another' })
  await useToken(page)
  await page.getByRole('button', { name: 'Headers' }).click()
  await typeInto(page, 'Headers', JSON.stringify({ Authorization: `Bearer ${other.secret}` }))
  await run(page, 'Another')
  await typeInto(page, 'Headers', '{}')
  await run(page, 'Explorer')
  expect(await readStoredOutsideTab(page)).not.toContain(other.secret)
})

test('GraphiQL is accessible, and a narrow screen shows query and answer without the documentation', async () => {
  for (const view of checkedViews) {
    const { page } = await open(view)
    const see = async (state: string, place: Locator) => {
      await place.waitFor()
      await untilAccessible(page, `graphiql-${state}-${view.width}-${view.colorScheme}`, [], ['target-size'])
    }
    await see('none', status(page).getByText('Type a token'))
    await enterToken(page, 'vgw_wrong')
    await see('wrong', status(page).getByText('refuses'))
    await enterToken(page, secret)
    await run(page, 'The Old Mill')
    await see('used', account(page).getByText('Explorer'))
    if (view === views[1]) await expectBothInView(page, view.width)
    await page.context().close()
  }
})

async function expectBothInView(page: Page, width: number) {
  expect(await explorer(page).count()).toBe(0)
  for (const editor of [page.getByRole('region', { name: 'Operation Editor' }), result(page)]) {
    const box = (await editor.boundingBox())!
    expect(Math.min(box.width, box.height)).toBeGreaterThan(200)
    expect(box.x + box.width).toBeLessThanOrEqual(width)
    expect(box.y + box.height).toBeLessThanOrEqual(900)
    const lines = editor.locator('.view-line > span')
    const ends = await lines.evaluateAll(spans => spans.map(span => span.getBoundingClientRect().right))
    expect(Math.max(...ends)).toBeLessThanOrEqual(width)
  }
}
