import { readFile } from 'node:fs/promises'
import { parse } from 'csv-parse/sync'
import type { Page, Route } from 'playwright-core'
import { projected } from '../support/projected.ts'
import { openPage, type Site } from './site.ts'

/** Types a token into the sign-in form, and sends the form. */
export async function enterToken(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.keyboard.press('Enter')
}

/**
 * Waits until the figures include all changes. Then opens the dashboard by `openPage`, and types the token.
 *
 * @param token null: no token is typed
 * @param options.clock the time of the browser's clock, in milliseconds since the epoch; default: the time of the
 *   machine
 */
export async function openDashboard(
  { browser, origin, pool }: Site,
  query: string,
  token: string | null,
  { clock }: { clock?: number } = {},
) {
  await projected(pool)
  // The browser logs failed requests as errors, and some tests cause failed requests.
  const opened = await openPage(browser, 'about:blank', { expected: /status of [45]\d\d|ERR_/ })
  const { page } = opened
  if (clock !== undefined) await page.clock.install({ time: clock })
  await page.goto(`${origin}/dashboard?${query}`)
  if (token !== null) await enterToken(page, token)
  return opened
}

/** Finds the region of the page that contains the tables. */
export const findTablesRegion = (page: Page) => page.getByRole('region', { name: 'Tables', exact: true })
export const findTable = (page: Page, name: string) => findTablesRegion(page).getByRole('table', { name, exact: true })

/** Downloads the table that is shown. @returns the records with the headings as keys, and the name of the file */
export async function downloadCsv(page: Page) {
  const downloading = page.waitForEvent('download')
  await findTablesRegion(page).getByRole('button', { name: 'Download as CSV' }).click()
  const download = await downloading
  const records = parse<Record<string, string>>(await readFile(await download.path()), { bom: true, columns: true })
  return { records, name: download.suggestedFilename() }
}

/** Returns the 429 answer for a token whose rate is used up. */
export const createRateLimitAnswer = (seconds: number) => ({
  status: 429,
  headers: { 'Retry-After': String(seconds) },
  json: { errors: [{ message: 'Too many.', extensions: { code: 'RATE_LIMITED' } }] },
})

/** Passes the requests of one operation to a handler until the returned function is called. */
export async function interceptRequests(
  page: Page,
  { id }: { id: string },
  handle: (route: Route) => Promise<void>,
): Promise<() => Promise<void>> {
  const handler = (route: Route) => (route.request().postData()?.includes(id) ? handle(route) : route.fallback())
  await page.route('**/graphql', handler)
  return () => page.unroute('**/graphql', handler)
}

/** Delays the requests of one operation until the returned function is called. */
export async function delayRequests(page: Page, operation: { id: string }) {
  let release = () => {}
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  const stop = await interceptRequests(page, operation, async route => {
    await released
    // The page may have cancelled the request.
    await route.continue().catch(() => undefined)
  })
  return async () => {
    release()
    await stop()
  }
}
