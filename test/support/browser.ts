import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { afterAll } from 'vitest'

const places = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Starts a real browser, closed when the file's tests have run. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = places.find(place => place !== undefined && existsSync(place))
  if (!executablePath) {
    throw new Error('No Chromium is installed. Install one (apt-get install chromium), or name it in CHROMIUM_PATH.')
  }
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  afterAll(() => browser.close())
  return browser
}
