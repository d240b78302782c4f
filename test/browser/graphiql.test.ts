import { mkdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createApp } from '../support/app.ts'
import { startBrowser } from '../support/browser.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'

const screenshots = 'test/screenshots'
mkdirSync(screenshots, { recursive: true })

const database = await createDatabase()
const build = createBuilders(database)
const { app } = await createApp(database)
const origin = await app.listen({ host: '127.0.0.1', port: 0 })
const browser = await startBrowser()

test('GraphiQL works with nothing but the service: tabs, headers, introspection, a query', async () => {
  const tenantId = await build.tenant({ name: 'The Old Mill' })
  const { secret } = await build.token([tenantId], { name: 'Explorer' })
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } })
  const asked: string[] = []
  const faults: string[] = []
  page.on('request', request => asked.push(request.url()))
  page.on('pageerror', error => faults.push(error.message))
  page.on('console', message => {
    // Until a token is put in, the schema is refused: that is how it should be.
    if (message.type() === 'error' && !message.text().includes('401')) faults.push(message.text())
  })

  await page.goto(`${origin}/graphiql`)
  await page.getByRole('tab', { name: 'WhoAmI' }).waitFor()
  for (const name of ['Catalog', 'ChangedVouchers', 'Resolve']) {
    expect(await page.getByRole('tab', { name }).count(), name).toBe(1)
  }
  await page.screenshot({ path: `${screenshots}/graphiql-start.png` })

  await page.getByRole('region', { name: 'Headers' }).locator('.monaco-editor').last().click()
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.insertText(JSON.stringify({ Authorization: `Bearer ${secret}` }))
  // The editor closes quotes and brackets of its own.
  await page.keyboard.press('ControlOrMeta+Shift+End')
  await page.keyboard.press('Delete')
  await page.getByRole('button', { name: /execute query/i }).click()
  const response = page.getByRole('region', { name: 'Result Window' })
  await response.getByText('The Old Mill').waitFor()
  expect(await response.textContent()).toContain('Explorer')
  await page.screenshot({ path: `${screenshots}/graphiql-answer.png` })

  const outside = asked.filter(url => !url.startsWith(origin) && !/^(blob|data):/.test(url))
  expect(outside).toEqual([])
  expect(faults).toEqual([])
})
