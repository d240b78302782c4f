import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import { createExampleTabs } from '../../src/graphql-http/graphiql-examples.ts'
import { tester } from '../support/builders.ts'
import { until } from '../support/until.ts'
import { currentTab, load, openTab, result, run, typeInto } from './graphiql-page.ts'
import { checkedViews, untilAccessible, type View, views } from './look.ts'
import { keptBeyondTab, openPage, startSite } from './site.ts'

const { database, build, client, origin, browser } = await startSite()
const tenantId = await build.tenant({ name: 'The Old Mill' })
await build.product(tenantId, { title: 'A day at the mill' })
const { secret } = await build.token([tenantId], { name: 'Explorer' })

/** GraphiQL in a browser of its own. */
async function open({ width, colorScheme }: View = views[0]) {
  // The browser itself reports refused requests, which some tests provoke.
  const options = { viewport: { width, height: 900 }, colorScheme, expected: /status of 40[01]/ }
  const opened = await openPage(browser, `${origin}/graphiql`, options)
  await load(opened.page, async () => {})
  return opened
}

const status = (page: Page) => page.getByRole('status')
const tabNames = (page: Page) => page.locator('.graphiql-tab-button').allTextContents()
/** The part of the header that shows the sign-in. */
const account = (page: Page) => page.locator('#account')

async function typeToken(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Use the token' }).click()
}

async function useToken(page: Page): Promise<void> {
  await typeToken(page, secret)
  await account(page).getByText('Explorer').waitFor()
}

/** GraphiQL keeps its tabs half a second after they were changed. */
const untilKept = (page: Page, text: string) =>
  until(`${text} is kept`, async () =>
    ((await page.evaluate<string | null>(`sessionStorage.getItem('graphiql:tabState')`)) ?? '').includes(text),
  )

const explorer = (page: Page) => page.locator('.graphiql-doc-explorer')

test('a token typed once holds for all tabs, also new ones, and survives a reload', async () => {
  const { page, requested } = await open()
  await useToken(page)
  await run(page, 'The Old Mill')
  await untilKept(page, 'WhoAmI')
  await load(page, () => page.reload())
  await currentTab(page, 'WhoAmI').waitFor()
  expect((await tabNames(page)).length).toBe(createExampleTabs(null).length)
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
  await openTab(page, 'WhoAmI')
  await run(page, 'The Old Mill')

  const outside = requested.filter(url => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))
  expect(outside).toEqual([])
  expect(requested.join()).not.toContain(secret)
})

test('the schema explorer shows the types, before and after a token is typed, and completion knows them', async () => {
  const { page } = await open()
  await explorer(page).getByRole('link', { name: 'PurchasedVoucher', exact: true }).click()
  await explorer(page).getByText('A purchased voucher with its balance.').waitFor()
  await status(page).getByText('Type a token once').waitFor()
  await useToken(page)
  await load(page, () => page.reload())
  await explorer(page).getByRole('link', { name: 'PurchasedVoucher', exact: true }).waitFor()
  expect(await explorer(page).getByText('Error fetching schema').count()).toBe(0)

  await page.getByRole('button', { name: /new tab/i }).click()
  await typeInto(page, 'Operation Editor', '{ vie')
  await page.keyboard.press('Control+Space')
  await page.locator('.suggest-widget').getByText('viewer').first().waitFor()
})

test('without a token, or with a wrong one, the page says what to do', async () => {
  const { page } = await open()
  await run(page, 'token')
  await status(page).getByText('The request had no token. Type one here').waitFor()
  await result(page).getByText('Administrators of this service create tokens').waitFor()
  await result(page)
    .getByText(/\/admin/)
    .first()
    .waitFor()
  for (const wrong of ['vgw_wrong', `${secret}x`, 'a"b']) {
    await typeToken(page, wrong)
    await status(page).getByText('The service refuses this token: it is unknown, expired or revoked.').waitFor()
    expect(await account(page).getByRole('button', { name: 'Sign out' }).count()).toBe(0)
  }
  for (const nothing of ['two words', 'ünicode', '   ']) {
    await typeToken(page, nothing)
    await status(page).getByText('This is not a token').waitFor()
  }
  await typeToken(page, ` Bearer ${secret} `)
  await account(page).getByText('Explorer').waitFor()
})

test('a token that is revoked or removed is not used any more', async () => {
  const { page } = await open()
  const brief = await build.token([tenantId], { name: 'Brief' })
  await typeToken(page, brief.secret)
  await account(page).getByText('Brief').waitFor()
  await revokeToken(database.pool, tester, brief.id)
  await until('revoked', async () => (await client.graphql(brief.secret, '{ viewer { name } }')).status === 401, 5_000)
  await page.getByRole('button', { name: /execute query/i }).click()
  await status(page).getByText('The service refuses this token').waitFor()
  await load(page, () => page.reload())
  await status(page).getByText('Type a token once').waitFor()

  await useToken(page)
  await account(page).getByRole('button', { name: 'Sign out' }).click()
  await status(page).getByText('Type a token once').waitFor()
  expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain(secret)
  await load(page, () => page.reload())
  await status(page).getByText('Type a token once').waitFor()
})

test('the documentation is open on the first visit, where there is room, and afterwards as it was left', async () => {
  const { page } = await open()
  await explorer(page).waitFor()
  await page.getByRole('button', { name: 'Hide Documentation Explorer' }).click()
  await load(page, () => page.reload())
  expect(await explorer(page).count()).toBe(0)
  const another = await page.context().newPage()
  await load(another, () => another.goto(`${origin}/graphiql`))
  expect(await explorer(another).count()).toBe(0)
})

test('an Authorization header that is typed in the headers editor wins', async () => {
  const { page } = await open()
  const other = await build.token([tenantId], { name: 'Another' })
  await useToken(page)
  await page.getByRole('button', { name: 'Headers' }).click()
  await typeInto(page, 'Headers', JSON.stringify({ authorization: `Bearer ${other.secret}` }))
  await run(page, 'Another')
  await typeInto(page, 'Headers', JSON.stringify({ Authorization: 'Bearer wrong' }))
  await run(page, 'UNAUTHENTICATED')
  await account(page).getByText('Explorer').waitFor()
  await typeInto(page, 'Headers', '{}')
  await run(page, 'Explorer')
  const kept = await keptBeyondTab(page)
  for (const token of [secret, other.secret]) expect(kept).not.toContain(token)
})

test('neither tokens nor queries outlive the browser tab', async () => {
  const { page } = await open()
  await useToken(page)
  await run(page, 'The Old Mill')
  await page.getByRole('button', { name: /new tab/i }).click()
  await typeInto(page, 'Operation Editor', '{ viewer { name } } # CHARITY-77')
  await run(page, 'Explorer')
  await openTab(page, 'WhoAmI')
  await run(page, 'The Old Mill')
  const kept = await keptBeyondTab(page)
  for (const text of [secret, 'viewer', 'CHARITY']) expect(kept).not.toContain(text)

  const another = await page.context().newPage()
  await load(another, () => another.goto(`${origin}/graphiql`))
  await status(another).getByText('Type a token once').waitFor()
})

test('it is accessible and fits, wide and narrow, light and dark', async () => {
  for (const view of checkedViews) {
    const { page } = await open(view)
    for (const [state, enter] of [
      ['none', async () => {}],
      ['wrong', async () => typeToken(page, 'vgw_wrong')],
      ['used', async () => typeToken(page, secret)],
    ] as const) {
      await enter()
      await (state === 'used' ? account(page) : status(page))
        .getByText({ none: 'Type a token', wrong: 'refuses', used: 'Explorer' }[state])
        .waitFor()
      if (state === 'used') await run(page, 'The Old Mill')
      await untilAccessible(page, `graphiql-${state}-${view.width}-${view.colorScheme}`, [], ['target-size'])
    }
    await page.context().close()
  }
})

test('on a narrow screen query and answer are both in view, without scrolling sideways or documentation', async () => {
  const { page } = await open(views[1])
  expect(await explorer(page).count()).toBe(0)
  await useToken(page)
  await run(page, 'The Old Mill')
  const query = page.getByRole('region', { name: 'Operation Editor' })
  for (const editor of [query, result(page)]) {
    const box = await editor.boundingBox()
    expect(box?.width).toBeGreaterThan(300)
    expect(box?.height).toBeGreaterThan(200)
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390)
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(900)
    const lines = editor.locator('.view-line > span')
    const ends = await lines.evaluateAll(spans => spans.map(span => span.getBoundingClientRect().right))
    expect(Math.max(...ends)).toBeLessThanOrEqual(390)
  }
})
