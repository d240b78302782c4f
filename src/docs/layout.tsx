import type { ComponentChildren } from 'preact'
import { assetsPath, docsPath } from '../http/paths.ts'
import { HtmlPage, type HtmlPageProps } from '../pages/html-page.tsx'
import { downloadsPath } from './downloads.ts'
import { guides } from './guides.ts'

export const referencePath = `${docsPath}/reference`
export const docsSearchPath = `${docsPath}/search`

/** The script is not deferred, because it selects the language of the samples before the page is shown. */
const guideScript = <script src={`${assetsPath}/guides.js`} />

interface FrameProps extends HtmlPageProps {
  /** The entry in the second row of the header to mark as current. */
  section: 'guides' | 'reference'
}

/** A page of the documentation. */
export const Frame = ({ section, ...page }: FrameProps) => (
  <HtmlPage
    {...page}
    page="Docs"
    sections={[
      { label: 'Guides', address: docsPath, isCurrent: section === 'guides' },
      { label: 'API reference', address: referencePath, isCurrent: section === 'reference' },
    ]}
  />
)

interface TextPageProps extends Pick<HtmlPageProps, 'title' | 'description' | 'site' | 'children'> {
  /** The slug of the guide, or the path of another page; null for the overview. */
  current: string | null
  /** The words that the search field shows; default: none. */
  query?: string
  /** The content of the column at the right of the text. Without such a column, the text is wider. */
  aside?: ComponentChildren
}

/** A page with text, and the list of guides at its left. */
export const TextPage = ({ title, description, site, current, query, aside, children }: TextPageProps) => (
  <Frame
    title={`${title} · Voucher Gateway`}
    {...{ description, site }}
    section="guides"
    styles={['base', 'guides']}
    modules={['copy', 'search']}
    head={guideScript}
  >
    <div class="columns">
      <Sidebar current={current} query={query} />
      <main id="main" class={aside ? 'text' : 'text full'}>
        {children}
      </main>
      {aside}
    </div>
  </Frame>
)

/** The search, and the list of guides. On a narrow screen the list is folded. */
function Sidebar({ current, query }: { current: string | null; query: string | undefined }) {
  const links = (
    <ul class="plain">
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
      <search>
        <form action={docsSearchPath}>
          <input type="search" name="q" value={query} aria-label="Search the guides" placeholder="Search the guides" />
        </form>
      </search>
      <details class="narrow">
        <summary>All guides</summary>
        {links}
      </details>
      <div class="wide">{links}</div>
    </nav>
  )
}
