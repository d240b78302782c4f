import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { startService } from '../support/service.ts'

/** Starts the service at an address, and a browser. All ends after the file's tests. */
export async function startSite(environment?: NodeJS.ProcessEnv) {
  const service = await startService(environment)
  const origin = await service.client.app.listen({ host: '127.0.0.1', port: 0 })
  return { ...service, origin, browser: await startBrowser() }
}

export type Site = Awaited<ReturnType<typeof startSite>>

/** Returns all that the browser keeps beyond its tab, with the address and the history of the tab. */
export const keptBeyondTab = async (page: Page) =>
  JSON.stringify([
    await page.evaluate('[{ ...localStorage }, document.cookie, location.href, history.state]'),
    await page.context().storageState({ indexedDB: true }),
  ])

/** The options of a browser's context, and the messages that a test provokes. */
interface PageOptions extends BrowserContextOptions {
  /** Matches what the browser itself reports about requests that are refused. */
  expected?: RegExp
}

/**
 * Opens a page in a browser context of its own, which ends with the test. Errors of scripts, of the policy and of requests,
 * and dialogs, fail the test. `requested` receives the addresses of all requests.
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
    // Its scripts would go on during the next tests.
    await context.close()
    expect(problems, `problems of ${url}`).toEqual([])
  })
  await page.goto(url)
  return { page, requested }
}
