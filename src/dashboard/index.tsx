// `GET /dashboard`: a page that reads the GraphQL API with the viewer's own token. All files and data of the page come
// from the service.
import type { FastifyInstance } from 'fastify'
import { dashboardPath } from '../http/paths.ts'
import { HtmlPage, pageHeaders, sendHtml } from '../pages/html-page.tsx'
import type { Site } from '../pages/site.ts'

/** Plots are SVG elements styled by attributes, so the page needs no inline styles. */
const headers = pageHeaders("script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'")

/** Registers `GET /dashboard`. */
export const registerDashboard = (app: FastifyInstance, site: Site): void => {
  app.get(dashboardPath, (_request, reply) => sendHtml(reply.headers(headers), <DashboardPage site={site} />))
}

const DashboardPage = ({ site }: { site: Site }) => (
  <HtmlPage
    title="Dashboard · Voucher Gateway"
    site={site}
    page="Dashboard"
    styles={['base', 'dashboard']}
    modules={['dashboard']}
  >
    <div id="dashboard" data-admin={site.adminAddress}>
      <noscript>
        <main id="main">The dashboard needs JavaScript.</main>
      </noscript>
    </div>
  </HtmlPage>
)
