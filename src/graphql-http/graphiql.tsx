// `GET /graphiql`: GraphiQL, with a field for the token above it. All files of the page come from the service.
import type { FastifyInstance } from 'fastify'
import { introspectionFromSchema } from 'graphql'
import { schema } from '../graphql/schema.ts'
import { assetsPath, graphiqlPath, graphqlPath } from '../http/paths.ts'
import { createCompressedFileHandler } from '../pages/compressed-file.ts'
import { editorPageHeaders, HtmlPage, renderPage } from '../pages/html-page.tsx'
import type { Site } from '../pages/site.ts'
import { createExampleTabs, type ExampleVoucher } from './graphiql-examples.ts'
import { GraphiqlToken } from './operations.ts'

/** Inline styles are allowed, because the editor inserts such styles. Inline scripts are not allowed. */
const headers = editorPageHeaders("worker-src 'self'")

interface GraphiqlOptions {
  site: Site
  trustedOnly: boolean
  /** The voucher that the examples resolve; null when the reader has to enter a voucher. */
  voucher: ExampleVoucher | null
}

/** Registers `GET /graphiql`. */
export function registerGraphiql(app: FastifyInstance, options: GraphiqlOptions): void {
  const send = createCompressedFileHandler('text/html; charset=utf-8', async () =>
    renderPage(<GraphiqlPage {...options} />),
  )
  app.get(graphiqlPath, (request, reply) => send(request, reply.headers(headers)))
}

const assetPath = (name: string) => `${assetsPath}/${name}`

/** Returns the settings with which `start-graphiql.js` starts GraphiQL. */
const settings = ({ site, voucher }: GraphiqlOptions) => ({
  endpoint: graphqlPath,
  tokenDocument: GraphiqlToken,
  adminAddress: site.adminAddress,
  workers: {
    editorWorkerService: assetPath('graphiql-editor.js'),
    json: assetPath('graphiql-json.js'),
    graphql: assetPath('graphiql-graphql.js'),
  },
  // The page contains the schema, so that the explorer and the completion work before the reader enters a token.
  schema: introspectionFromSchema(schema),
  tabs: createExampleTabs(voucher),
})

function GraphiqlPage(options: GraphiqlOptions) {
  // `<` is escaped because `</script>` would end the element.
  const data = JSON.stringify(settings(options)).replaceAll('<', '\\u003c')
  const head = (
    <>
      <script id="settings" type="application/json" dangerouslySetInnerHTML={{ __html: data }} />
      <script src={assetPath('monaco.js')} defer />
      <script src={assetPath('graphiql.js')} defer />
    </>
  )
  return (
    <HtmlPage
      title="GraphiQL · Voucher Gateway"
      site={options.site}
      page="GraphiQL"
      styles={['graphiql', 'graphiql-page']}
      modules={['start-graphiql']}
      head={head}
    >
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
