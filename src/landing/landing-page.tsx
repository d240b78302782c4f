// The page at `/`, with links to the other pages and instructions for a first request.

import type { FastifyInstance } from 'fastify'
import Negotiator from 'negotiator'
import type { Config } from '../config/config.ts'
import { notFound } from '../domain/errors.ts'
import { namesMediaType } from '../http/headers.ts'
import { requestOrigin } from '../http/origin.ts'
import { graphiqlPath, graphqlPath, openApiPath, tillPath, v1Path } from '../http/paths.ts'
import { Facts } from '../pages/facts.tsx'
import { HtmlPage, purpose, sendHtml, textPageHeaders } from '../pages/html-page.tsx'
import { listSitePages, type Site, type SitePage } from '../pages/site.ts'
import type { RestOperation } from '../rest/operation.ts'
import { v1 } from '../rest/v1/routes.ts'

/** The media ranges that allow text. curl sends the last one. */
const textRanges = new Set(['text/plain', 'text/*', '*/*'])

/** Returns whether `Accept` allows text. Without the header, every media type is allowed (RFC 9110 §12.5.1). */
const allowsText = (accept: string | undefined): boolean =>
  new Negotiator({ headers: { accept } }).mediaTypes().some(range => textRanges.has(range))

/**
 * Registers `GET /` and `HEAD /`. The answer is a page when `Accept` names `text/html`, the links of the page as text
 * when `Accept` only allows text, and otherwise 404 as for an unknown path (R8).
 */
export function registerLandingPage(app: FastifyInstance, config: Config, site: Site): void {
  app.get('/', (request, reply) => {
    reply.header('Vary', 'Accept')
    const { accept } = request.headers
    const origin = config.publicUrl ?? requestOrigin(request)
    if (!namesMediaType(accept ?? '', 'text/html')) {
      if (!allowsText(accept)) throw notFound('path')
      return reply.type('text/plain; charset=utf-8').send(linksAsText(site, origin))
    }
    return sendHtml(reply.headers(textPageHeaders), <LandingPage config={config} site={site} origin={origin} />)
  })
}

const descriptions: Record<SitePage['name'], string> = {
  Dashboard: 'Sales, balances and vouchers of your tenants, as figures, plots and tables.',
  GraphiQL: 'Run GraphQL queries in the browser. It has examples and describes every type and field.',
  Docs: 'Guides with samples in four languages, and the reference, in which you can send requests.',
  'API access': 'Administrators sign in to create, rotate and revoke tokens, and to see their requests.',
}

function linksAsText(site: Site, origin: string): string {
  const links = [
    ...listSitePages(site),
    { name: 'REST v1', address: v1Path },
    { name: 'OpenAPI', address: openApiPath },
    { name: 'GraphQL', address: graphqlPath },
  ]
  const lines = links.map(
    ({ name, address }) => `${name.padEnd(15)}${address.startsWith('/') ? origin + address : address}\n`,
  )
  return `Voucher Gateway\n\n${lines.join('')}`
}

function LandingPage({ config, site, origin }: { config: Config; site: Site; origin: string }) {
  return (
    <HtmlPage title="Voucher Gateway" site={site} page="home">
      <main id="main" class="text">
        <h1>Voucher Gateway</h1>
        <p>{purpose}</p>
        <ul class="links">
          {listSitePages(site).map(({ name, address }) => (
            <li class="card" key={name}>
              <a href={address}>{name}</a>
              <p>{descriptions[name]}</p>
            </li>
          ))}
          {site.hasTill && (
            <li class="card">
              <a href={tillPath}>Till</a>
              <p>Resolve a voucher of the demo, redeem a part of it, and see the change arrive.</p>
            </li>
          )}
        </ul>
        <section aria-labelledby="at-a-glance">
          <h2 id="at-a-glance">At a glance</h2>
          <Facts
            facts={{
              'REST v1': <code>{origin + v1Path}</code>,
              GraphQL: <code>{origin + graphqlPath}</code>,
              Health: (
                <>
                  <a href="/livez">/livez</a>: the process answers. <a href="/readyz">/readyz</a>: the database also
                  answers.
                </>
              ),
            }}
          />

          <h3>A first request</h3>
          <p>
            Every request needs a token, which an administrator creates under <i>API access</i>. Replace{' '}
            <code>$TOKEN</code> with it:
          </p>
          <pre class="code-block">
            {`curl -H "Authorization: Bearer $TOKEN" -H 'Accept: application/json' ${origin}${v1Path}/tenants`}
          </pre>
          <p>
            REST v1 requires <code>Accept: application/json</code>. Requests with a body also need{' '}
            <code>Content-Type: application/json</code>. GraphQL takes a JSON body with <code>query</code> and{' '}
            <code>variables</code>
            {config.graphiql ? (
              <>
                ; <a href={graphiqlPath}>GraphiQL</a> documents its types.
              </>
            ) : (
              '.'
            )}
          </p>

          <h3>Operations of REST v1</h3>
          <ul class="card rows">
            {v1.operations.map(operation => (
              <OperationItem key={operation.name} {...operation} />
            ))}
          </ul>
          <p>
            A page holds at most 50 records, <code>next_cursor</code> and <code>server_time</code>. Pass{' '}
            <code>next_cursor</code> as <code>cursor</code> to get the next page. <code>updated_since</code>, for
            example 2026-01-31T09:30:00Z, selects the records updated at or after that time. Voucher products also take{' '}
            <code>include=categories,variants</code>.
          </p>
          <p>
            Errors are JSON with a <code>message</code>; status 422 adds <code>errors</code>, a list of messages for
            each field.
          </p>

          <h3>Request rate</h3>
          <p>
            A token may perform {config.rateLimitPerMinute} operations per minute from each address, unless it has its
            own limit. <code>RateLimit-Limit</code>, <code>RateLimit-Remaining</code> and <code>RateLimit-Reset</code>{' '}
            (seconds) show what remains. After status 429, wait the seconds in <code>Retry-After</code>, then repeat the
            same request.
          </p>
        </section>
      </main>
    </HtmlPage>
  )
}

function OperationItem({ method, path, permissions, returns }: RestOperation) {
  return (
    <li>
      <code>
        {method} {path.replaceAll(/:(\w+)/g, '{$1}')}
      </code>
      <p>
        {returns}
        {permissions.length > 0 && (
          <span class="muted">
            {' '}
            Needs{' '}
            {permissions.map((permission, index) => (
              <>
                {index > 0 && ' and '}
                <code>{permission}</code>
              </>
            ))}
            .
          </span>
        )}
      </p>
    </li>
  )
}
