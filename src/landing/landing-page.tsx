// The page at `/`: links to GraphiQL and the API access page, and how to send a first request.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { renderToString } from 'preact-render-to-string'
import type { Config } from '../config.ts'
import { notFound } from '../domain/errors.ts'
import { serveAssets } from '../http/assets.ts'
import { namesMediaType } from '../http/headers.ts'
import { adminPath, assetsPath, graphiqlPath, graphqlPath, v1Path } from '../http/paths.ts'
import type { RestOperation } from '../rest/operation.ts'
import { v1 } from '../rest/v1/routes.ts'

/** Allows the stylesheets and the icon of the service, and nothing else. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * Registers `GET /` and `HEAD /`. Without `text/html` in `Accept` they answer 404, as an unknown path does (R8).
 */
export function registerLandingPage(app: FastifyInstance, config: Config): void {
  serveAssets(app, new URL('./assets/', import.meta.url), ['landing.css'])
  app.get('/', (request, reply) => {
    reply.header('Vary', 'Accept')
    // A range such as `*/*` is not enough, because API clients send it too.
    if (!namesMediaType(request.headers.accept ?? '', 'text/html')) throw notFound('path')
    reply.headers({
      'Content-Security-Policy': contentSecurityPolicy,
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
    })
    const origin = config.publicUrl ?? requestOrigin(request)
    return reply
      .type('text/html; charset=utf-8')
      .send(`<!doctype html>${renderToString(<LandingPage config={config} origin={origin} />)}`)
  })
}

/** Returns the origin of the request's URL, or an empty text when its `Host` header is not a host and port. */
const requestOrigin = ({ protocol, host }: FastifyRequest): string =>
  /^[\w.:[\]-]+$/.test(host) ? `${protocol}://${host}` : ''

interface LandingPageProps {
  config: Config
  origin: string
}

function LandingPage({ config, origin }: LandingPageProps) {
  // With `PUBLIC_URL` the API access page works only under that origin.
  const admin = `${config.publicUrl ?? ''}${adminPath}`
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>Voucher Gateway</title>
        <link rel="stylesheet" href={`${assetsPath}/tokens.css`} />
        <link rel="stylesheet" href={`${assetsPath}/landing.css`} />
        <link rel="icon" href={`${assetsPath}/icon.svg`} />
      </head>
      <body>
        <main>
          <h1>Voucher Gateway</h1>
          <p>
            The integration service of a gift voucher platform. Integrations synchronise voucher products, purchased
            vouchers and marketing signups over REST v1 or GraphQL, and resolve vouchers before they redeem them.
          </p>
          <nav aria-label="Main">
            <ul class="links">
              {config.graphiql && (
                <li>
                  <a href={graphiqlPath}>GraphiQL</a>
                  <p>Run GraphQL queries in the browser. It has examples and describes every type and field.</p>
                </li>
              )}
              <li>
                <a href={admin}>API access</a>
                <p>Administrators sign in to create, rotate and revoke tokens, and to see their requests.</p>
              </li>
              <li>
                <a href="#documentation">Documentation</a>
                <p>Addresses, headers, the operations of REST v1, and the request rate.</p>
              </li>
            </ul>
          </nav>
          <Documentation origin={origin} rate={config.rateLimitPerMinute} graphiql={config.graphiql} />
        </main>
      </body>
    </html>
  )
}

interface DocumentationProps {
  origin: string
  /** Operations per minute of tokens without their own limit. */
  rate: number
  graphiql: boolean
}

function Documentation({ origin, rate, graphiql }: DocumentationProps) {
  return (
    <section id="documentation" aria-labelledby="documentation-title">
      <h2 id="documentation-title">Documentation</h2>
      <dl class="facts">
        <dt>REST v1</dt>
        <dd>
          <code>{origin + v1Path}</code>
        </dd>
        <dt>GraphQL</dt>
        <dd>
          <code>{origin + graphqlPath}</code>
        </dd>
        <dt>Health</dt>
        <dd>
          <a href="/livez">/livez</a>: the process answers. <a href="/readyz">/readyz</a>: the database answers too.
        </dd>
      </dl>

      <h3>A first request</h3>
      <p>
        Every request needs a token, which an administrator creates under <i>API access</i>. Replace <code>$TOKEN</code>{' '}
        with it:
      </p>
      <pre>
        <code>{`curl -H "Authorization: Bearer $TOKEN" -H 'Accept: application/json' ${origin}${v1Path}/tenants`}</code>
      </pre>
      <p>
        REST v1 requires <code>Accept: application/json</code>. Requests with a body also need{' '}
        <code>Content-Type: application/json</code>. GraphQL takes a JSON body with <code>query</code> and{' '}
        <code>variables</code>
        {graphiql ? (
          <>
            ; <a href={graphiqlPath}>GraphiQL</a> documents its types.
          </>
        ) : (
          '.'
        )}
      </p>

      <h3>Operations of REST v1</h3>
      <ul class="operations">
        {v1.operations.map(operation => (
          <Operation key={operation.name} {...operation} />
        ))}
      </ul>
      <p>
        A page holds at most 50 records, <code>next_cursor</code> and <code>server_time</code>. Pass{' '}
        <code>next_cursor</code> as <code>cursor</code> to get the next page. <code>updated_since</code>, for example
        2026-01-31T09:30:00Z, selects the records updated at or after that time. Voucher products also take{' '}
        <code>include=categories,variants</code>.
      </p>
      <p>
        Errors are JSON with a <code>message</code>; status 422 adds <code>errors</code>, a list of messages for each
        field.
      </p>

      <h3>Request rate</h3>
      <p>
        A token may perform {rate} operations per minute from each address, unless it has its own limit.{' '}
        <code>RateLimit-Limit</code>, <code>RateLimit-Remaining</code> and <code>RateLimit-Reset</code> (seconds) show
        what remains. After status 429, wait the seconds in <code>Retry-After</code>, then repeat the same request.
      </p>
    </section>
  )
}

function Operation({ method, path, permissions, returns }: RestOperation) {
  return (
    <li>
      <code>
        {method} {path.replaceAll(/:(\w+)/g, '{$1}')}
      </code>
      <p>
        {returns}
        {permissions.length > 0 && (
          <span class="permissions">
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
