import type { ComponentChildren } from 'preact'
import { dashboardPath } from '../http/paths.ts'
import { listSitePages, type Site, type SitePage } from './site.ts'

export interface SiteHeaderProps {
  site: Site
  /** The name of the link that is marked as current, or `home` for the page at `/`; default: none. */
  page?: SitePage['name'] | 'home' | undefined
  /** The links within the page, in the second row. */
  sections?: { label: string; address: string; isCurrent: boolean }[] | undefined
  /** Shows who is signed in. Default: `site.js` shows the token of the browser tab. */
  account?: ComponentChildren
}

/** The pages that have a field for a token. The other pages link to one of these pages instead. */
const asksForToken = new Set<SiteHeaderProps['page']>(['Dashboard', 'GraphiQL'])

const toAriaCurrent = (isCurrent: boolean) => (isCurrent ? 'page' : undefined)

/** The header of every page: links to the pages of the service, and the person who is signed in. */
export const SiteHeader = ({ site, page, sections, account }: SiteHeaderProps) => (
  <>
    <a class="off-screen" href="#main">
      Skip to the content
    </a>
    <header class="site-header" data-demo={site.isDemo || undefined}>
      <a class="brand" href="/" aria-current={toAriaCurrent(page === 'home')}>
        Voucher Gateway
      </a>
      <nav aria-label="Main">
        {listSitePages(site).map(({ name, address }) => (
          <a href={address} aria-current={toAriaCurrent(name === page)}>
            {name}
          </a>
        ))}
      </nav>
      {account ?? (
        <div class="account" id="account" data-sign-in={asksForToken.has(page) ? undefined : dashboardPath} />
      )}
      {sections && (
        <nav class="sections" aria-label={page}>
          {sections.map(({ label, address, isCurrent }) => (
            <a href={address} aria-current={toAriaCurrent(isCurrent)}>
              {label}
            </a>
          ))}
        </nav>
      )}
    </header>
  </>
)
