// The till of the demo, a page that resolves and redeems vouchers with the sample platform.
import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import { demoTenant } from '#demo'
import { tillPath } from '../http/paths.ts'
import { createCompressedFileHandler } from './compressed-file.ts'
import { HtmlPage, sendHtml, textPageHeaders } from './html-page.tsx'
import type { Site } from './site.ts'

const scriptUrl = new URL('../../dist/demo-data/till.js', import.meta.url)

/** Registers the till. @param platform the origin of the platform that redeems */
export function registerTill(app: FastifyInstance, site: Site, platform: string): void {
  app.get(tillPath, (_request, reply) => sendHtml(reply.headers(textPageHeaders), <TillPage site={site} />))
  app.get(
    `${tillPath}/till.js`,
    createCompressedFileHandler('text/javascript; charset=utf-8', () => readFile(scriptUrl)),
  )
  // The service passes requests on to the platform, because the platform refuses requests of pages from another origin.
  app.post(`${tillPath}/redeem`, async (request, reply) => {
    const response = await fetch(`${platform}/redeem`, { method: 'POST', body: JSON.stringify(request.body) })
    return reply
      .code(response.status)
      .type('application/json; charset=utf-8')
      .send(await response.text())
  })
}

const TillPage = ({ site }: { site: Site }) => (
  <HtmlPage title="Till" site={site} head={<script src={`${tillPath}/till.js`} type="module" />}>
    <main id="main" class="text" data-tenant={demoTenant.tenantId}>
      <h1>Till</h1>
      <p>
        A till of the demo. The service resolves a voucher; the platform checks the token that it gets, and redeems. It
        is the sample of the guide <a href="/docs/redeeming">Redeeming a voucher</a>.
      </p>
      <form>
        <label for="name">Reference or QR token</label>
        {/* Disabled until the script runs, because the browser would otherwise send the form itself. */}
        <input id="name" name="name" value={demoTenant.voucherReference} autocomplete="off" required disabled />
        <button type="submit" disabled>
          Resolve
        </button>
      </form>
      <dl class="facts" />
      <form hidden>
        <label for="amount">Amount</label>
        <input id="amount" name="amount" inputmode="decimal" pattern="\d+(\.\d{1,2})?" autocomplete="off" required />
        <button type="submit">Redeem</button>
      </form>
      <p role="status" />
    </main>
  </HtmlPage>
)
