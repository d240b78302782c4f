// `GET /dashboard`: a page that asks the GraphQL API with the viewer's own token. Everything comes from the service.

import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import { serveCompressedPage } from '../http/compressed-file.ts'
import { HtmlPage, pageHeaders, renderPage } from '../http/html-page.tsx'
import { assetsPath, dashboardPath } from '../http/paths.ts'
import type { Site } from '../http/site.ts'

/** Plots are elements of SVG with attributes: the page needs no inline styles. */
const headers = pageHeaders("script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'")

/** The files that the build bundles from `packages/dashboard`: in `dist`, also when the service runs from its sources. */
const readBundle = (name: string) => readFile(new URL(`../../dist/dashboard/${name}`, import.meta.url), 'utf8')

/** Registers `GET /dashboard` and its files. */
export const registerDashboard = (app: FastifyInstance, site: Site): void =>
  serveCompressedPage(app, {
    path: dashboardPath,
    names: ['', 'assets/dashboard.js', 'assets/dashboard.css'],
    headers,
    read: async () => ({
      '': renderPage(<DashboardPage site={site} />),
      'assets/dashboard.js': await readBundle('assets/dashboard.js'),
      'assets/dashboard.css': await readBundle('assets/dashboard.css'),
    }),
  })

function DashboardPage({ site }: { site: Site }) {
  const head = (
    <>
      <link rel="stylesheet" href={`${assetsPath}/base.css`} />
      <link rel="stylesheet" href={`${dashboardPath}${assetsPath}/dashboard.css`} />
      <script src={`${dashboardPath}${assetsPath}/dashboard.js`} type="module" />
    </>
  )
  return (
    <HtmlPage title="Dashboard · Voucher Gateway" site={site} place="Dashboard" head={head}>
      <div id="dashboard" data-admin={site.adminAddress}>
        <noscript>
          <main id="main">The dashboard needs JavaScript.</main>
        </noscript>
      </div>
    </HtmlPage>
  )
}
