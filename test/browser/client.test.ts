import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { VoucherGateway } from '#client'
import { startBrowser } from '../support/browser.ts'
import { startService } from '../support/service.ts'

/** A page that loads the client. Vite would replace an `import` in the code of the test. */
const html = `<title>Shop</title>
  <script type="module">import { VoucherGateway } from './index.js'; window.VoucherGateway = VoucherGateway</script>`

/** The compiled modules of the client. The global set-up builds them. */
const modules = new URL('../../dist/client/', import.meta.url)

test('the client works in a browser: lists, exports, resolutions, errors and aborts', async () => {
  const { build, client } = await startService()
  const url = await client.app.listen({ host: '127.0.0.1', port: 0 })
  const tenant = await build.tenant()
  for (let count = 0; count < 51; count++) await build.voucher(tenant, { reference: `GIFT-${count}` })
  const { secret: token } = await build.token([tenant])

  const page = await (await startBrowser()).newPage()
  // The browser gets the page and its modules from the test, at the origin of the service. The service answers all
  // other requests.
  await page.route(`${url}/shop/`, route => route.fulfill({ contentType: 'text/html', body: html }))
  for (const name of readdirSync(modules)) {
    const body = readFileSync(new URL(name, modules), 'utf8')
    await page.route(`${url}/shop/${name}`, route => route.fulfill({ contentType: 'text/javascript', body }))
  }
  await page.goto(`${url}/shop/`)
  await page.waitForFunction(() => 'VoucherGateway' in globalThis)
  const seen = await page.evaluate(
    async ({ token, tenant }) => {
      const Client: typeof VoucherGateway = Reflect.get(globalThis, 'VoucherGateway')
      const client = new Client({ url: location.origin, token })
      const count = async (records: AsyncIterable<unknown>) => {
        let total = 0
        for await (const _ of records) total++
        return total
      }
      const reason = async (call: Promise<unknown>) => {
        const [outcome] = await Promise.allSettled([call])
        return outcome.status === 'rejected' ? outcome.reason : null
      }
      const refused = await reason(client.purchasedVoucher(tenant, 999_999))
      const aborted = await reason(client.purchasedVoucher(tenant, 1, { signal: AbortSignal.abort('left') }))
      const unreachable = new Client({ url: 'http://127.0.0.1:1', token, maxAttempts: 1 })
      return {
        listed: await count(client.purchasedVouchers(tenant)),
        exported: await count(client.exportPurchasedVouchers(tenant)),
        resolved: (await client.resolve(tenant, { voucherReference: 'GIFT-7' })).voucher.reference,
        refused: [refused.name, refused.status, refused.code, typeof refused.requestId],
        aborted,
        unreachable: (await reason(count(unreachable.tenants()))).code,
      }
    },
    { token, tenant },
  )
  expect(seen).toEqual({
    listed: 51,
    exported: 51,
    resolved: 'GIFT-7',
    refused: ['VoucherGatewayError', 404, 'NOT_FOUND', 'string'],
    aborted: 'left',
    unreachable: 'CONNECTION_FAILED',
  })
})
