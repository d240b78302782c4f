import type { ComponentChildren } from 'preact'
import { HtmlPage } from '../http/html-page.tsx'
import { assetsPath, docsPath, graphiqlPath } from '../http/paths.ts'
import { downloadsPath } from './downloads.ts'
import { guides } from './guides.ts'

/** The address of the reference. */
export const referencePath = `${docsPath}/reference`

const stylesheet = (name: string) => <link rel="stylesheet" href={`${docsPath}${assetsPath}/${name}`} />

/** The stylesheets and the script of the pages with text: the reference has its own. */
export const guideHead = (
  <>
    <link rel="stylesheet" href={`${assetsPath}/base.css`} />
    {stylesheet('guides.css')}
    {/* Not deferred: it chooses the language of the samples before the page is shown. */}
    <script src={`${docsPath}${assetsPath}/guides.js`} />
  </>
)

/** What differs from one service to another. */
export interface Site {
  /** Whether the service has GraphiQL. */
  graphiql: boolean
  /** The address of the API access page, which works under PUBLIC_URL alone. */
  adminAddress: string
}

/** What the layout of all pages shows. */
interface FrameProps {
  title: string
  /** The entry of the header that is marked as current. */
  section: 'guides' | 'reference'
  site: Site
  /** The stylesheets and scripts of the page, besides the header's. */
  head: ComponentChildren
  children: ComponentChildren
}

/** A page with the header of the documentation. */
export function Frame({ title, section, site, head, children }: FrameProps) {
  const current = (name: FrameProps['section']) => (name === section ? 'page' : undefined)
  return (
    <HtmlPage
      title={title}
      head={
        <>
          {head}
          {stylesheet('docs.css')}
        </>
      }
    >
      <a class="off-screen" href="#main">
        Skip to the content
      </a>
      <header class="site-header">
        <a class="brand" href="/">
          Voucher Gateway
        </a>
        <nav aria-label="Main">
          <a href={docsPath} aria-current={current('guides')}>
            Guides
          </a>
          <a href={referencePath} aria-current={current('reference')}>
            API reference
          </a>
          {site.graphiql && <a href={graphiqlPath}>GraphiQL</a>}
          <a href={site.adminAddress}>API access</a>
        </nav>
      </header>
      {children}
    </HtmlPage>
  )
}

/** The list of guides. On a narrow screen it is folded. @param current the slug of the guide, or the path of another page */
export function Sidebar({ current }: { current: string | null }) {
  const links = (
    <ul class="guides">
      <li>
        <a href={docsPath} aria-current={current === null ? 'page' : undefined}>
          Overview
        </a>
      </li>
      {guides.map(({ slug, title }) => (
        <li>
          <a href={`${docsPath}/${slug}`} aria-current={slug === current ? 'page' : undefined}>
            {title}
          </a>
        </li>
      ))}
      <li class="apart">
        <a href={referencePath}>API reference</a>
      </li>
      <li>
        <a href={downloadsPath} aria-current={current === downloadsPath ? 'page' : undefined}>
          Downloads
        </a>
      </li>
    </ul>
  )
  return (
    <nav class="sidebar" aria-label="Guides">
      <details class="narrow">
        <summary>All guides</summary>
        {links}
      </details>
      <div class="wide">{links}</div>
    </nav>
  )
}
