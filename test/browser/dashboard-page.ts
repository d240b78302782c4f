import { readFile } from 'node:fs/promises'
import { parse } from 'csv-parse/sync'
import type { Page, Route } from 'playwright-core'
import { projected } from '../support/projected.ts'
import { openPage, type Site } from './site.ts'

/** Types a token into the sign-in. */
export async function enterToken(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.keyboard.press('Enter')
}

/**
 * Opens the dashboard as `openPage` does, when the figures have all changes, and types the token.
 *
 * @param token null: none is typed
 * @param options.clock the time of the browser's clock, in milliseconds since the epoch; default: the time of the machine
 */
export async function openDashboard(
  { browser, origin, pool }: Site,
  query: string,
  token: string | null,
  { clock }: { clock?: number } = {},
) {
  await projected(pool)
  // The browser itself reports failed requests, which some tests provoke.
  const opened = await openPage(browser, 'about:blank', { expected: /status of [45]\d\d|ERR_/ })
  const { page } = opened
  if (clock !== undefined) await page.clock.install({ time: clock })
  await page.goto(`${origin}/dashboard?${query}`)
  if (token !== null) await enterToken(page, token)
  return opened
}

/** The part of the page with the tables, and one of them. */
export const tables = (page: Page) => page.getByRole('region', { name: 'Tables', exact: true })
export const table = (page: Page, name: string) => tables(page).getByRole('table', { name, exact: true })

/** Downloads the table that is shown. @returns its records by their headings, and the name of the file */
export async function downloadCsv(page: Page) {
  const downloading = page.waitForEvent('download')
  await tables(page).getByRole('button', { name: 'Download as CSV' }).click()
  const download = await downloading
  const records = parse<Record<string, string>>(await readFile(await download.path()), { bom: true, columns: true })
  return { records, name: download.suggestedFilename() }
}

/** The answer to a token whose rate is used up. */
export const rateLimited = (seconds: number) => ({
  status: 429,
  headers: { 'Retry-After': String(seconds) },
  json: { errors: [{ message: 'Too many.', extensions: { code: 'RATE_LIMITED' } }] },
})

/** Handles the requests of one operation otherwise until the returned function is called. */
export async function intercept(
  page: Page,
  { id }: { id: string },
  handle: (route: Route) => Promise<void>,
): Promise<() => Promise<void>> {
  const handler = (route: Route) => (route.request().postData()?.includes(id) ? handle(route) : route.fallback())
  await page.route('**/graphql', handler)
  return () => page.unroute('**/graphql', handler)
}

/** Holds the requests of one operation back until the returned function is called. */
export async function hold(page: Page, operation: { id: string }) {
  let release = () => {}
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  const stop = await intercept(page, operation, async route => {
    await released
    // The page may have cancelled it.
    await route.continue().catch(() => undefined)
  })
  return async () => {
    release()
    await stop()
  }
}
