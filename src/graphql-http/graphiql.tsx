// `GET /graphiql`: GraphiQL, with a field for the token above it. Everything comes from the service.

import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { introspectionFromSchema } from 'graphql'
import { schema } from '../graphql/schema.ts'
import { serveCompressedPage } from '../http/compressed-file.ts'
import { HtmlPage, pageHeaders, renderPage } from '../http/html-page.tsx'
import { graphiqlPath, graphqlPath } from '../http/paths.ts'
import type { Site } from '../http/site.ts'
import { createExampleTabs, type ExampleVoucher } from './graphiql-examples.ts'
import { GraphiqlToken } from './operations.ts'

/** Inline styles, which the editor inserts, are allowed; inline scripts are not. */
const headers = pageHeaders(
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "worker-src 'self'",
  "connect-src 'self'",
)

/** The files below `/graphiql`; the page is the one without a name. */
const names = [
  '',
  'monaco.js',
  'graphiql.js',
  'graphiql.css',
  'start.js',
  'start.css',
  'editor.js',
  'json.js',
  'graphql.js',
] as const

type Name = (typeof names)[number]

const pathOf = (name: Name) => `${graphiqlPath}/${name}`

/** The settings that the page depends on. */
interface GraphiqlOptions {
  site: Site
  /** True when only trusted documents run. */
  trustedOnly: boolean
  /** A voucher that the examples resolve; null: the reader has to name one. */
  voucher: ExampleVoucher | null
}

/** Registers `GET /graphiql` and the files that it loads. */
export const registerGraphiql = (app: FastifyInstance, options: GraphiqlOptions): void =>
  serveCompressedPage(app, { path: graphiqlPath, names, headers, read: () => readFiles(options) })

/** Takes GraphiQL out of its package, whose own page would need inline scripts. */
async function readFiles(options: GraphiqlOptions): Promise<Record<Name, string>> {
  // Nine megabytes of text, which only a developer's browser needs.
  const graphiql = await import('@graphql-yoga/render-graphiql/graphiql')
  const asset = (name: Name) => readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8')
  return {
    '': renderPage(<GraphiqlPage {...options} />),
    'monaco.js': asset('monaco.js'),
    'graphiql.js': graphiql.js,
    'graphiql.css': graphiql.css,
    'start.js': asset('start.js'),
    'start.css': asset('start.css'),
    'editor.js': graphiql.editorWorkerService,
    'json.js': graphiql.jsonWorker,
    'graphql.js': graphiql.graphqlWorker,
  }
}

/** Returns the settings with which `assets/start.js` starts GraphiQL. */
const settings = ({ site, voucher }: GraphiqlOptions) => ({
  endpoint: graphqlPath,
  /** The document that reads the name of a token. */
  tokenDocument: GraphiqlToken,
  adminAddress: site.adminAddress,
  workers: { editorWorkerService: pathOf('editor.js'), json: pathOf('json.js'), graphql: pathOf('graphql.js') },
  // With the schema at hand, the explorer and the completion work before there is a token.
  schema: introspectionFromSchema(schema),
  tabs: createExampleTabs(voucher),
})

function GraphiqlPage(options: GraphiqlOptions) {
  // `<` is escaped because `</script>` would end the element.
  const data = JSON.stringify(settings(options)).replaceAll('<', '\\u003c')
  const head = (
    <>
      <link rel="stylesheet" href={pathOf('graphiql.css')} />
      <link rel="stylesheet" href={pathOf('start.css')} />
      <script id="settings" type="application/json" dangerouslySetInnerHTML={{ __html: data }} />
      <script src={pathOf('monaco.js')} defer />
      <script src={pathOf('graphiql.js')} defer />
      <script src={pathOf('start.js')} type="module" />
    </>
  )
  return (
    <HtmlPage title="GraphiQL · Voucher Gateway" site={options.site} place="GraphiQL" head={head}>
      <section id="token-bar" aria-label="Sign-in">
        <form id="token-form" hidden>
          <label for="token">Token</label>
          <input
            id="token"
            type="password"
            autocomplete="off"
            spellcheck={false}
            required
            aria-describedby="token-status"
          />
          <button type="submit">Use the token</button>
          <p>
            <span id="token-status" role="status">
              Type a token once: all tabs use it. It is kept until this browser tab is closed.
            </span>{' '}
            Administrators create tokens under <a href={options.site.adminAddress}>API access</a>.
          </p>
        </form>
        {options.trustedOnly && (
          <p id="trusted-only">
            This service runs trusted documents only (<code>GRAPHQL_DOCUMENTS=trusted</code>), so queries that are typed
            here are refused. The documentation of the schema is complete.
          </p>
        )}
      </section>
      <main id="main">
        <h1 class="off-screen">GraphiQL</h1>
        <div id="graphiql">
          <noscript>GraphiQL needs JavaScript.</noscript>
        </div>
      </main>
    </HtmlPage>
  )
}
