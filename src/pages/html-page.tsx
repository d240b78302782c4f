// The frame of every page: HTML head and HTTP headers, and the functions that send a page.
import type { FastifyReply } from 'fastify'
import type { ComponentChildren, JSX } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { assetsPath } from '../http/paths.ts'
import { SiteHeader, type SiteHeaderProps } from './site-header.tsx'

export const purpose =
  'The integration service of a gift voucher platform. Integrations synchronise voucher products, purchased vouchers and ' +
  'marketing signups over REST v1 or GraphQL, and resolve vouchers before they redeem them.'

export interface HtmlPageProps extends SiteHeaderProps {
  title: string
  /** The text in search engines and previews of links; default: the purpose of the service. */
  description?: string | undefined
  /** The names of the page's style sheets, which are loaded after the style sheet of all pages; default: `base`. */
  styles?: string[]
  /** The names of the page's script modules, which run after the scripts in `head`; default: none. */
  modules?: string[]
  /** Further elements of its HTML head. */
  head?: ComponentChildren
  children: ComponentChildren
}

/** A whole HTML page, with the header that all pages share. Preact escapes all texts and attributes. */
export const HtmlPage = ({
  title,
  description = purpose,
  styles = ['base'],
  modules = [],
  head,
  children,
  ...header
}: HtmlPageProps) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{title}</title>
      <meta name="description" content={description} />
      <link rel="icon" href={`${assetsPath}/icon.svg`} type="image/svg+xml" />
      {['site', ...styles].map(name => (
        <link rel="stylesheet" href={`${assetsPath}/${name}.css`} />
      ))}
      <script src={`${assetsPath}/site.js`} type="module" />
      {head}
      {modules.map(name => (
        <script src={`${assetsPath}/${name}.js`} type="module" />
      ))}
    </head>
    <body>
      <SiteHeader {...header} />
      {children}
    </body>
  </html>
)

/** Returns the HTML of a page. */
export const renderPage = (page: JSX.Element): string => `<!doctype html>${renderToString(page)}`

/** Answers with a page. */
export const sendHtml = (reply: FastifyReply, page: JSX.Element): FastifyReply =>
  reply.type('text/html; charset=utf-8').send(renderPage(page))

/** Answers with the HTML of a part of a page, which a script of the page inserts. */
export const sendFragment = (reply: FastifyReply, part: JSX.Element): FastifyReply =>
  reply.type('text/html; charset=utf-8').send(renderToString(part))

/**
 * Returns the headers of a page.
 *
 * @param sources the CSP directives of the page. Without directives, the page may load nothing
 */
export function pageHeaders(...sources: string[]) {
  const form = sources.some(source => source.startsWith('form-action ')) ? [] : ["form-action 'none'"]
  const directives = ["default-src 'none'", ...sources, "base-uri 'none'", ...form, "frame-ancestors 'none'"]
  return {
    'Content-Security-Policy': directives.join('; '),
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  }
}

/**
 * Returns the headers of a page whose scripts insert styles, and whose styles contain images and fonts.
 *
 * @param sources more directives
 */
export const editorPageHeaders = (...sources: string[]) =>
  pageHeaders(
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    ...sources,
  )

const ownFiles = ["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"]

/** The headers of a page that loads only files of the service, and has no form. */
export const textPageHeaders = pageHeaders(...ownFiles)

/** The headers of a page that loads only files of the service, and has a form. */
export const formPageHeaders = pageHeaders(...ownFiles, "form-action 'self'")
