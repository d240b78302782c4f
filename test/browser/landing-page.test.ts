import { test } from 'vitest'
import { createApp } from '../support/app.ts'
import { startBrowser } from '../support/browser.ts'
import { createDatabase } from '../support/database.ts'
import { look } from './look.ts'
import { openPage } from './site.ts'

const database = await createDatabase()
const browser = await startBrowser()

test.each([
  ['landing', {}],
  ['landing-production', { NODE_ENV: 'production', DATABASE_URL: database.url, PUBLIC_URL: 'http://localhost:8080' }],
])('the page at / is accessible and fits (%s)', async (name, environment) => {
  const { app } = await createApp(database, { RATE_LIMIT_PER_MINUTE: '120', ...environment })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const { page } = await openPage(browser, origin)
  await page.getByRole('heading', { name: 'Voucher Gateway', level: 1 }).waitFor()
  await look(page, name)
})
