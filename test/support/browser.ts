import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { afterFile } from './cleanups.ts'

const paths = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Starts a real browser, and closes it after the tests of the file. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = paths.find(path => path !== undefined && existsSync(path))
  if (!executablePath) throw new Error('Install Chromium (apt-get install chromium), or set CHROMIUM_PATH to its path.')
  const quiet = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
  const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', ...quiet]
  const browser = await chromium.launch({ executablePath, args })
  afterFile(() => browser.close())
  return browser
}
