// `GET /dashboard`: a page that asks the GraphQL API with the viewer's own token. Everything comes from the service.

import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import { type CompressedFile, compressFile, sendCompressedFile } from '../http/compressed-file.ts'
import { HtmlPage, pageHeaders, renderPage } from '../http/html-page.tsx'
import { loadOnce } from '../http/load-once.ts'
import { assetsPath, dashboardPath } from '../http/paths.ts'
import type { Site } from '../http/site.ts'

/** The files that the browser loads, which the build bundles from `packages/dashboard`. */
const fileNames = ['dashboard.js', 'dashboard.css'] as const

type FileName = (typeof fileNames)[number]

/** Plots are elements of SVG with attributes: the page needs no inline styles. */
const headers = pageHeaders("script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'")

/** The page is the file without a name. */
const pathOf = (name: FileName | '') => (name === '' ? dashboardPath : `${dashboardPath}${assetsPath}/${name}`)

/** Registers `GET /dashboard` and its files: made when first requested, revalidated by `ETag`. */
export function registerDashboard(app: FastifyInstance, site: Site): void {
  const files = loadOnce(() => makeFiles(site))
  for (const name of ['', ...fileNames] as const) {
    app.get(pathOf(name), async (request, reply) => {
      reply.headers({ 'Cache-Control': 'private, no-cache', ...headers })
      return sendCompressedFile(request, reply, (await files())[name])
    })
  }
}

/** In `dist`, whether the service runs from its sources or from `dist`. */
const readBundle = (name: FileName) => readFile(new URL(`../../dist/dashboard/assets/${name}`, import.meta.url), 'utf8')

async function makeFiles(site: Site): Promise<Record<FileName | '', CompressedFile>> {
  const [page, script, style] = await Promise.all([
    compressFile('text/html; charset=utf-8', renderPage(<DashboardPage site={site} />)),
    compressFile('text/javascript; charset=utf-8', await readBundle('dashboard.js')),
    compressFile('text/css; charset=utf-8', await readBundle('dashboard.css')),
  ])
  return { '': page, 'dashboard.js': script, 'dashboard.css': style }
}

function DashboardPage({ site }: { site: Site }) {
  const head = (
    <>
      <link rel="stylesheet" href={`${assetsPath}/base.css`} />
      <link rel="stylesheet" href={pathOf('dashboard.css')} />
      <script src={pathOf('dashboard.js')} type="module" />
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
