/** Tests the till of the demo with its platform, from the page at `/` to the change in the list. */
import { expect, onTestFinished, test } from 'vitest'
import { startPlatform } from '#demo-platform'
import { loadDemo } from '../../src/demo/load.ts'
import { permissionNames } from '../../src/domain/token/permission.ts'
import { createApp } from '../support/app.ts'
import { startBrowser } from '../support/browser.ts'
import { createBuilders, whole } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { projected } from '../support/projected.ts'
import { checkLook } from './look.ts'
import { openPage } from './site.ts'

test('the till resolves a voucher and redeems a part of its balance, and the change arrives in the list', async () => {
  const database = await createDatabase()
  await loadDemo(database.platform, { scale: 1 })
  await projected(database.pool)
  const port = await freePort()
  const platform = await startPlatform({ database: database.address, issuer: `http://localhost:${port}`, tenantId: 1 })
  onTestFinished(platform.stop)
  const { secret: demoToken } = await createBuilders(database).token([whole(1)], { permissions: [...permissionNames] })
  const { app } = await createApp({ ...database, demoToken, demoPlatform: platform.origin }, { PORT: String(port) })
  await app.listen({ host: '127.0.0.1', port })

  const { page } = await openPage(await startBrowser(), `http://127.0.0.1:${port}`, {
    expected: /status of (4\d\d|503)/,
  })
  await page.getByRole('link', { name: 'Till' }).click()
  const says = (text: string | RegExp) => page.getByRole('status').getByText(text).waitFor()
  const name = page.getByLabel('Reference or QR token')
  const reference = await name.inputValue()
  await name.fill('nothing')
  await name.press('Enter')
  await says(/no such voucher|not found/i)
  await name.fill(reference.toLowerCase())
  await name.press('Enter')
  await says('Nothing is redeemed yet.')
  const balance = page.locator('dd').nth(3)
  expect(await balance.textContent()).toBe('£250.00')

  const amount = page.getByLabel('Amount')
  await amount.fill('1000')
  await amount.press('Enter')
  await says('Less than that is left on the voucher.')
  await amount.fill('12.50')
  await amount.press('Enter')
  await says(/^Redeemed\. £237\.50 is left, and the list of v1 had the change after \d+ ms\.$/)
  expect(await balance.textContent()).toBe('£237.50')
  await checkLook(page, 'till')
})
