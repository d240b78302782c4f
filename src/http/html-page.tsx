// The frame of every page: its HTML head, its HTTP headers, and how it is sent.
import type { FastifyReply } from 'fastify'
import type { ComponentChildren, JSX } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { assetsPath } from './paths.ts'
import { SiteHeader, type SiteHeaderProps } from './site-header.tsx'

interface HtmlPageProps extends SiteHeaderProps {
  title: string
  /** The stylesheets and scripts of this page, after those of all pages. */
  head: ComponentChildren
  children: ComponentChildren
}

/** A whole page with the header of all pages. Preact escapes all texts and attributes. */
export const HtmlPage = ({ title, head, children, ...header }: HtmlPageProps) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{title}</title>
      <link rel="icon" href={`${assetsPath}/icon.svg`} />
      <link rel="stylesheet" href={`${assetsPath}/site.css`} />
      <script src={`${assetsPath}/site.js`} type="module" />
      {head}
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

/** Answers with a part of a page, which a script of the page loads. */
export const sendFragment = (reply: FastifyReply, part: JSX.Element): FastifyReply =>
  reply.type('text/html; charset=utf-8').send(renderToString(part))

/**
 * Returns the headers of a page.
 *
 * @param sources the CSP directives of the page: without one, the page may load nothing
 */
export const pageHeaders = (...sources: string[]) => ({
  'Content-Security-Policy': `default-src 'none'; ${sources.join('; ')}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
})
