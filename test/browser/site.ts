import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { startService } from '../support/service.ts'

/** Starts the service and a browser. Both end after the tests of the file. */
export async function startSite(environment?: NodeJS.ProcessEnv) {
  const service = await startService(environment)
  const origin = await service.client.app.listen({ host: '127.0.0.1', port: 0 })
  return { ...service, origin, browser: await startBrowser() }
}

export type Site = Awaited<ReturnType<typeof startSite>>

/** Returns everything that the browser stores outside the tab, with the address and the history of the tab. */
export const readStoredOutsideTab = async (page: Page) =>
  JSON.stringify([
    await page.evaluate('[{ ...localStorage }, document.cookie, location.href, history.state]'),
    await page.context().storageState({ indexedDB: true }),
  ])

interface PageOptions extends BrowserContextOptions {
  /** Matches the error messages that the browser logs about rejected requests, which the test expects. */
  expected?: RegExp
}

/**
 * Opens a page in a new browser context, which ends with the test. An error of a script, of the Content-Security-Policy
 * or of a request fails the test, and so does a dialog. `requested` receives the URL of each request.
 */
export async function openPage(browser: Browser, url: string, { expected, ...options }: PageOptions = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', ...options })
  const page = await context.newPage()
  const problems: string[] = []
  const requested: string[] = []
  page.on('request', request => requested.push(request.url()))
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => {
    if (message.type() === 'error' && !expected?.test(message.text())) problems.push(message.text())
  })
  page.on('dialog', dialog => {
    problems.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  onTestFinished(async () => {
    // The scripts of an open page would run during the next tests.
    await context.close()
    expect(problems, `problems of ${url}`).toEqual([])
  })
  await page.goto(url)
  return { page, requested }
}
