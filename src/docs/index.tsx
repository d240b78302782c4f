// `GET /docs`: the guides and the reference. All files that the pages load come from the service.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { JSX } from 'preact'
import { loadOnce } from '../async/load-once.ts'
import type { Config } from '../config/config.ts'
import { notFound } from '../domain/errors.ts'
import { compressResponses } from '../http/compression.ts'
import { requestOrigin } from '../http/origin.ts'
import { docsPath } from '../http/paths.ts'
import { queryParameterValues } from '../http/query-parameter.ts'
import { editorPageHeaders, formPageHeaders, renderPage } from '../pages/html-page.tsx'
import type { Site } from '../pages/site.ts'
import { downloadsPath, readDownloads } from './downloads.ts'
import { guides, originPlaceholder, readRenderedGuides } from './guides.ts'
import { docsSearchPath, referencePath } from './layout.tsx'
import { DownloadsPage, GuidePage, OverviewPage, ReferencePage, SearchPage } from './pages.tsx'
import { openSearch } from './search.ts'

/** Scalar and its editor insert style sheets. Scalar runs without inline scripts and without `eval`. */
const referenceHeaders = editorPageHeaders()

/** Registers `GET /docs`, `/docs/{guide}`, `/docs/search`, `/docs/downloads` and `/docs/reference`. */
export function registerDocs(app: FastifyInstance, config: Config, site: Site): void {
  const rendered = loadOnce(readRenderedGuides)
  const search = loadOnce(openSearch)
  const downloads = loadOnce(async () => readDownloads())

  app.register(async scope => {
    // The pages contain no secrets, so the length of a compressed page reveals nothing.
    if (config.compression) compressResponses(scope)
    const addPage = (
      path: string,
      headers: Record<string, string>,
      render: (request: FastifyRequest) => JSX.Element | Promise<JSX.Element>,
    ) => {
      scope.get(path, async (request, reply) => {
        const html = renderPage(await render(request))
        return reply
          .headers(headers)
          .type('text/html; charset=utf-8')
          .send(html.replaceAll(originPlaceholder, config.publicUrl ?? requestOrigin(request)))
      })
      // Redirects from the address with a slash at its end, because people type it.
      scope.get(`${path}/`, async (_request, reply) => reply.redirect(path, 308))
    }

    addPage(docsPath, formPageHeaders, () => <OverviewPage site={site} />)
    for (const guide of guides) {
      addPage(`${docsPath}/${guide.slug}`, formPageHeaders, async () => (
        <GuidePage guide={guide} rendered={(await rendered())[guide.slug]!} site={site} />
      ))
    }
    addPage(docsSearchPath, formPageHeaders, async request => {
      const query = queryParameterValues(request, 'q').join(' ')
      return <SearchPage query={query} matches={(await search())(query)} site={site} />
    })
    addPage(referencePath, referenceHeaders, () => <ReferencePage site={site} />)
    addPage(downloadsPath, formPageHeaders, async () => <DownloadsPage downloads={await downloads()} site={site} />)
    scope.get<{ Params: { name: string } }>(`${downloadsPath}/:name`, async ({ params }, reply) => {
      const download = (await downloads()).find(({ name }) => name === params.name)
      if (!download) throw notFound('path')
      const { name, type, content } = download
      return reply
        .headers({ 'Content-Disposition': `attachment; filename="${name}"`, 'X-Content-Type-Options': 'nosniff' })
        .type(type)
        .send(content)
    })
  })
}
