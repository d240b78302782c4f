import type { FastifyReply, FastifyRequest } from 'fastify'
import { namesMediaType } from '../http/headers.ts'
import { HtmlPage, sendHtml, textPageHeaders } from './html-page.tsx'
import type { Site } from './site.ts'

/** The addresses of APIs, where an error is always JSON (R8). */
const apiPaths = /^\/(api|graphql)(\/|\?|$)/

/**
 * Returns whether an unknown address is answered with a page: true for a GET or HEAD outside of the APIs that accepts
 * HTML.
 */
export const wantsPage = ({ method, url, headers: { accept = '' } }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && !apiPaths.test(url) && namesMediaType(accept, 'text/html')

/** Answers with the page, and status 404. */
export function sendNotFoundPage(reply: FastifyReply, site: Site): FastifyReply {
  const page = (
    <HtmlPage title="Not found · Voucher Gateway" site={site}>
      <main id="main" class="text">
        <h1>Not found</h1>
        <p>
          Nothing is at this address. The links above lead to the pages of the service, or go to{' '}
          <a href="/">the start page</a>.
        </p>
      </main>
    </HtmlPage>
  )
  return sendHtml(reply.code(404).headers(textPageHeaders), page)
}
