// `GET /dashboard`: a page that asks the GraphQL API with the viewer's own token. Everything comes from the service.
import type { FastifyInstance } from 'fastify'
import { assetsPath, dashboardPath } from '../http/paths.ts'
import { HtmlPage, pageHeaders, sendHtml } from '../pages/html-page.tsx'
import type { Site } from '../pages/site.ts'

/** Plots are SVG elements styled by attributes, so the page needs no inline styles. */
const headers = pageHeaders("script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'")

/** Registers `GET /dashboard`. */
export const registerDashboard = (app: FastifyInstance, site: Site): void => {
  app.get(dashboardPath, (_request, reply) => sendHtml(reply.headers(headers), <DashboardPage site={site} />))
}

function DashboardPage({ site }: { site: Site }) {
  const head = (
    <>
      <link rel="stylesheet" href={`${assetsPath}/base.css`} />
      <link rel="stylesheet" href={`${assetsPath}/dashboard.css`} />
      <script src={`${assetsPath}/dashboard.js`} type="module" />
    </>
  )
  return (
    <HtmlPage title="Dashboard · Voucher Gateway" site={site} page="Dashboard" head={head}>
      <div id="dashboard" data-admin={site.adminAddress}>
        <noscript>
          <main id="main">The dashboard needs JavaScript.</main>
        </noscript>
      </div>
    </HtmlPage>
  )
}
