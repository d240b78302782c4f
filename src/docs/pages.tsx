// The pages of the documentation.
import { assetsPath, docsPath, exportPath, graphiqlPath, graphqlPath, openApiPath, v1Path } from '../http/paths.ts'
import { Facts } from '../pages/facts.tsx'
import type { Site } from '../pages/site.ts'
import { type Download, downloadsPath } from './downloads.ts'
import { type Guide, guides, type Heading, originPlaceholder, type RenderedGuide } from './guides.ts'
import { docsSearchPath, Frame, referencePath, TextPage } from './layout.tsx'
import type { Match } from './search.ts'

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

/** The page of a guide: its text, its table of contents, and links to the guides before and after it. */
export function GuidePage({ guide, rendered, site }: { guide: Guide; rendered: RenderedGuide; site: Site }) {
  const index = guides.indexOf(guide)
  return (
    <TextPage
      title={guide.title}
      description={guide.summary}
      site={site}
      current={guide.slug}
      aside={<Contents headings={rendered.headings} />}
    >
      <article dangerouslySetInnerHTML={{ __html: rendered.html }} />
      <nav class="neighbours" aria-label="Previous and next guide">
        <Neighbour label="Previous" guide={guides[index - 1]} />
        <Neighbour label="Next" guide={guides[index + 1]} />
      </nav>
    </TextPage>
  )
}

function Neighbour({ label, guide }: { label: string; guide: Guide | undefined }) {
  if (!guide) return null
  return (
    <a class={`card ${label.toLowerCase()}`} href={`${docsPath}/${guide.slug}`}>
      <small>{label}</small>
      {guide.title}
    </a>
  )
}

function Contents({ headings }: { headings: Heading[] }) {
  return (
    <nav class="contents" aria-labelledby="contents-title">
      <p id="contents-title">On this page</p>
      <ul class="plain">
        {headings.map(({ id, text }) => (
          <li>
            <a href={`#${id}`}>{text}</a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/**
 * The page at `/docs/search`: the sections that contain the words of a query. The search field is in the sidebar, at
 * the left of the text.
 */
export const SearchPage = ({ query, matches, site }: { query: string; matches: readonly Match[]; site: Site }) => (
  <TextPage title="Search" {...{ site, query }} current={docsSearchPath}>
    <h1>Search</h1>
    <p role="status">
      {query === '' ? 'Type words to find in the guides.' : `Sections with “${query}”: ${matches.length || 'none'}.`}
    </p>
    <ul class="links">
      {matches.map(({ address, title, excerpt }) => (
        <li class="card">
          <a href={address}>{title}</a>
          <p>{excerpt}</p>
        </li>
      ))}
    </ul>
  </TextPage>
)

/** The page at `/docs/downloads`: the files, with their checksums. */
export function DownloadsPage({ downloads, site }: { downloads: readonly Download[]; site: Site }) {
  return (
    <TextPage title="Downloads" site={site} current={downloadsPath}>
      <article>
        <h1>Downloads</h1>
        <p>These files belong to the version of the service that runs here.</p>
        {downloads.map(({ name, description, content, checksum }) => (
          <>
            <h2 id={name}>
              <a href={`${downloadsPath}/${name}`} download={name}>
                {name}
              </a>
            </h2>
            <p>
              {description} {Math.ceil(content.length / 1024)} KB.
            </p>
            <div class="code">
              <pre>
                <code>{`curl -O ${originPlaceholder}${downloadsPath}/${name}\necho '${checksum}  ${name}' | sha256sum -c`}</code>
              </pre>
              <button type="button" class="copy secondary small" data-copy hidden>
                Copy
              </button>
            </div>
          </>
        ))}
      </article>
    </TextPage>
  )
}

/** The page at `/docs/reference`: Scalar, which `reference.js` starts. */
export const ReferencePage = ({ site }: { site: Site }) => (
  <Frame
    title="API reference · Voucher Gateway"
    section="reference"
    site={site}
    styles={['reference']}
    modules={['reference']}
    head={<script src={`${assetsPath}/scalar.js`} defer />}
  >
    <div id="main" data-document={openApiPath}>
      <noscript>
        <p class="no-script">
          The reference needs JavaScript. Without it, read the <a href={openApiPath}>OpenAPI document</a> or the{' '}
          <a href={docsPath}>guides</a>.
        </p>
      </noscript>
    </div>
  </Frame>
)
