/** Helpers of the dashboard's tests for its page. */
import type { Browser, Page, Route } from 'playwright-core'
import type { Operation } from '../../packages/dashboard/src/operation.ts'

/**
 * Opens the dashboard in a browser of its own and types the token. `problems` receives errors of scripts and of the
 * policy.
 *
 * @param options.clock the time of the browser's clock, in milliseconds since the epoch; default: that of the machine
 */
export async function openDashboard(
  browser: Browser,
  origin: string,
  query: string,
  token: string,
  { clock }: { clock?: number } = {},
) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' })
  const page = await context.newPage()
  if (clock !== undefined) await page.clock.install({ time: clock })
  const problems: string[] = []
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => {
    // The browser itself reports failed requests, which some tests provoke.
    if (message.type() === 'error' && !/status of [45]\d\d|ERR_/.test(message.text())) problems.push(message.text())
  })
  await page.goto(`${origin}/dashboard?${query}`)
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.keyboard.press('Enter')
  return { page, problems }
}

/** Handles the requests of one operation otherwise until the returned function is called. */
export async function intercept<Data, Variables>(
  page: Page,
  { id }: Operation<Data, Variables>,
  handle: (route: Route) => Promise<void>,
): Promise<() => Promise<void>> {
  const handler = (route: Route) => (route.request().postData()?.includes(id) ? handle(route) : route.fallback())
  await page.route('**/graphql', handler)
  return () => page.unroute('**/graphql', handler)
}

/** Holds the requests of one operation back until the returned function is called. */
export async function hold<Data, Variables>(page: Page, operation: Operation<Data, Variables>) {
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
