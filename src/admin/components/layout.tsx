import type { FastifyReply } from 'fastify'
import type { ComponentChildren, VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { adminPath, assetsPath } from '../../http/paths.ts'

/** What every page shows of its visit. */
export interface View {
  /** Who is signed in; null: nobody. */
  administrator: { id: number; email: string } | null
  /** Goes into each form (`CsrfToken`). */
  csrfToken: string
  /** What was just done, said once. */
  notice: string | null
}

const places = [
  { name: 'tokens', path: `${adminPath}/tokens`, label: 'Tokens' },
  { name: 'audit', path: `${adminPath}/audit`, label: 'Audit' },
  { name: 'administrators', path: `${adminPath}/administrators`, label: 'Administrators' },
  { name: 'account', path: `${adminPath}/account`, label: 'Your account' },
] as const

export type Place = (typeof places)[number]['name']

interface PageProps {
  title: string
  view: View
  /** Where in the navigation the page stands. */
  place?: Place
  /** What is done from here, beside the heading. */
  actions?: ComponentChildren
  /** For a form and little else. */
  narrow?: boolean
  children: ComponentChildren
}

/** A whole page. Whatever data hold is escaped: Preact does so for all text and attributes. */
export function Page({ title, view, place, actions, narrow = false, children }: PageProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} · API access`}</title>
        <link rel="stylesheet" href={`${assetsPath}/tokens.css`} />
        <link rel="stylesheet" href={`${adminPath}${assetsPath}/admin.css`} />
        <link rel="icon" href={`${assetsPath}/icon.svg`} />
        <script src={`${adminPath}${assetsPath}/copy.js`} defer />
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <header class="top">
          <a class="brand" href={adminPath}>
            Voucher Gateway
          </a>
          {view.administrator && <Navigation view={view} place={place} />}
        </header>
        <main id="main" class={narrow ? 'narrow' : undefined}>
          <div class="heading">
            <h1>{title}</h1>
            {actions && <div class="actions">{actions}</div>}
          </div>
          {view.notice && (
            <p class="notice" role="status">
              {view.notice}
            </p>
          )}
          {children}
        </main>
      </body>
    </html>
  )
}

function Navigation({ view, place }: { view: View; place: Place | undefined }) {
  return (
    <>
      <nav aria-label="Main">
        {places.map(({ name, path, label }) => (
          <a key={name} href={path} aria-current={name === place ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <form method="post" action={`${adminPath}/logout`} class="sign-out">
        <CsrfToken view={view} />
        <span class="who">{view.administrator?.email}</span>
        <button type="submit" class="plain">
          Sign out
        </button>
      </form>
    </>
  )
}

/** What a form carries to show that it was ours. */
export const CsrfToken = ({ view }: { view: View }) => <input type="hidden" name="_csrf" value={view.csrfToken} />

/** Answers with a page. */
export function sendPage(reply: FastifyReply, page: VNode, status = 200): FastifyReply {
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .send(`<!doctype html>${renderToString(page)}`)
}
