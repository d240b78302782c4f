import { expect, test } from 'vitest'
import { createApp } from '../support/app.ts'
import { startBrowser } from '../support/browser.ts'
import { createDatabase } from '../support/database.ts'
import { look } from './look.ts'

const database = await createDatabase()
const browser = await startBrowser()

test.each([
  ['landing', {}],
  ['landing-production', { NODE_ENV: 'production', PUBLIC_URL: 'http://localhost:8080' }],
])('the page at / is accessible and fits (%s)', async (name, environment) => {
  const { app } = await createApp(database, { RATE_LIMIT_PER_MINUTE: '120', ...environment })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const page = await browser.newPage()
  const fieldErrors: string[] = []
  page.on('pageerror', error => fieldErrors.push(error.message))
  page.on('console', message => {
    if (message.type() === 'error') fieldErrors.push(message.text())
  })
  await page.goto(origin)
  await page.getByRole('heading', { name: 'Voucher Gateway', level: 1 }).waitFor()
  fieldErrors.push(...(await look(page, name)))
  expect(fieldErrors).toEqual([])
})

test('its cards lead to the dashboard, to GraphiQL, to the documentation and to the sign-in', async () => {
  const { app } = await createApp(database)
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const page = await browser.newPage()
  for (const [name, expected] of [
    ['Dashboard', /\/dashboard$/],
    ['GraphiQL', /\/graphiql$/],
    ['API access', /\/admin\/login/],
    ['Docs', /\/docs$/],
  ] as const) {
    await page.goto(origin)
    await page.getByRole('main').getByRole('link', { name, exact: true }).first().click()
    await page.waitForURL(expected)
  }
  await page.getByRole('heading', { name: 'Documentation', level: 1 }).waitFor()
})
