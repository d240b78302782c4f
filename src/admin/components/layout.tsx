import { type ComponentChildren, createContext, type FormHTMLAttributes } from 'preact'
import { useContext } from 'preact/hooks'
import type { Administrator } from '../../domain/administrator/administrator.ts'
import type { FieldErrors } from '../../domain/errors.ts'
import { adminPath, assetsPath } from '../../http/paths.ts'
import { HtmlPage } from '../../pages/html-page.tsx'
import type { Site } from '../../pages/site.ts'

interface AdminRequestContext {
  site: Site
  administrator: Administrator | null
  csrfToken(): string
  /** A message that is shown once, about the action that just succeeded. */
  flash: string | null
  /** The posted form, whose values the fields show; null for a GET. */
  posted: URLSearchParams | null
  fieldErrors: FieldErrors
}

/** Makes the context of the request available to all components of its page. */
export const RequestContext = createContext<AdminRequestContext | null>(null)

/** Returns the context of the request that the page answers. */
export function useRequestContext(): AdminRequestContext {
  const context = useContext(RequestContext)
  if (!context) throw new Error('The page is rendered without a RequestContext.')
  return context
}

const sections = [
  { name: 'tokens', label: 'Tokens' },
  { name: 'dashboard', label: 'Open the dashboard' },
  { name: 'audit', label: 'Audit' },
  { name: 'administrators', label: 'Administrators' },
  { name: 'account', label: 'Your account' },
] as const

interface LayoutProps {
  title: string
  /** The page that the second row of the header marks as current; default: none. */
  section?: (typeof sections)[number]['name']
  /** Links at the right of the heading. */
  actions?: ComponentChildren
  /** True for a narrow column, as for a page with one form. */
  narrow?: boolean
  children: ComponentChildren
}

/** A page below `/admin`, with header, heading and flash message. */
export function Layout({ title, section, actions, narrow = false, children }: LayoutProps) {
  const { site, administrator, flash } = useRequestContext()
  const links = sections.map(({ name, label }) => ({
    label,
    address: `${adminPath}/${name}`,
    isCurrent: name === section,
  }))
  return (
    <HtmlPage
      title={`${title} · API access`}
      site={site}
      page="API access"
      sections={administrator ? links : undefined}
      account={<div class="account">{administrator && <SignOutForm email={administrator.email} />}</div>}
      styles={['base', 'admin']}
      modules={['copy']}
      head={<script src={`${assetsPath}/submit-once.js`} defer />}
    >
      <main id="main" class={narrow ? 'narrow' : undefined}>
        <div class="heading">
          <h1>{title}</h1>
          {actions && <div class="actions">{actions}</div>}
        </div>
        {flash && (
          <p class="notice" role="status">
            {flash}
          </p>
        )}
        {children}
      </main>
    </HtmlPage>
  )
}

const SignOutForm = ({ email }: { email: string }) => (
  <PostForm action={`${adminPath}/logout`} data-sign-out>
    <span>{email}</span>
    <button type="submit">Sign out</button>
  </PostForm>
)

/** A form with its CSRF token. */
export const PostForm = ({ children, ...attributes }: FormHTMLAttributes & { action: string }) => (
  <form method="post" {...attributes}>
    <input type="hidden" name="_csrf" value={useRequestContext().csrfToken()} />
    {children}
  </form>
)

/** A part of a page, as a card with a heading. */
export const Section = ({ id, title, children }: { id: string; title: string; children: ComponentChildren }) => (
  <section class="card" aria-labelledby={id}>
    <h2 id={id}>{title}</h2>
    {children}
  </section>
)

interface ButtonLinkProps {
  href: string
  label: string
  kind?: 'primary' | 'secondary' | 'danger'
}

/** A link that looks like a button. */
export const ButtonLink = ({ href, label, kind = 'secondary' }: ButtonLinkProps) => (
  <a class={`button ${kind}`} href={href}>
    {label}
  </a>
)

interface ConfirmProps {
  action: string
  /** The name of the button's action: `Revoke the token`. */
  confirm: string
  cancelPath: string
}

/** A form that asks for the confirmation of an action that cannot be undone. */
export const ConfirmForm = ({ action, confirm, cancelPath }: ConfirmProps) => (
  <PostForm action={action} class="actions">
    <button type="submit" class="danger">
      {confirm}
    </button>
    <ButtonLink href={cancelPath} label="Cancel" />
  </PostForm>
)
