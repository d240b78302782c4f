import { docsPath, exportPath, graphiqlPath, graphqlPath, openApiPath, v1Path } from '../http/paths.ts'
import { Facts } from '../pages/facts.tsx'
import type { Site } from '../pages/site.ts'
import { downloadsPath } from './downloads.ts'
import { guides, originPlaceholder } from './guides.ts'
import { referencePath, TextPage } from './layout.tsx'

/** The page at `/docs`: the guides, the reference and the addresses. */
export function OverviewPage({ site }: { site: Site }) {
  return (
    <TextPage title="Documentation" site={site} current={null}>
      <h1>Documentation</h1>
      <p class="lead">
        Read voucher products, purchased vouchers and marketing signups of the tenants that your token reaches, keep a
        copy of them in step, and resolve vouchers before they are redeemed.
      </p>
      <p class="actions">
        <a class="button" href={`${docsPath}/quick-start`}>
          Start in five minutes
        </a>
        <a class="button secondary" href={referencePath}>
          Try the API in the reference
        </a>
      </p>
      <h2 id="guides">Guides</h2>
      <ul class="links">
        {guides.map(({ slug, title, summary }) => (
          <li class="card">
            <a href={`${docsPath}/${slug}`}>{title}</a>
            <p>{summary}</p>
          </li>
        ))}
      </ul>
      <h2 id="addresses">Addresses</h2>
      <Facts
        facts={{
          'REST v1': <code>{originPlaceholder + v1Path}</code>,
          'OpenAPI document': (
            <a href={openApiPath}>
              <code>{originPlaceholder + openApiPath}</code>
            </a>
          ),
          'Bulk export': <code>{originPlaceholder + exportPath}</code>,
          GraphQL: (
            <>
              <code>{originPlaceholder + graphqlPath}</code>
              {site.graphiql && (
                <>
                  , with an editor at <a href={graphiqlPath}>{graphiqlPath}</a>
                </>
              )}
            </>
          ),
          Downloads: (
            <a href={downloadsPath}>The client, the command sync, the OpenAPI document and the GraphQL schema</a>
          ),
        }}
      />
    </TextPage>
  )
}
