// `GET /graphiql`: GraphiQL, with a field for the token above it. Everything comes from the service.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { introspectionFromSchema } from 'graphql'
import Negotiator from 'negotiator'
import { renderToString } from 'preact-render-to-string'
import { schema } from '../graphql/schema.ts'
import { adminPath, assetsPath, graphiqlPath, graphqlPath } from '../http/paths.ts'
import { exampleTabs } from './graphiql-examples.ts'

/** Inline styles, which the editor inserts, are allowed; inline scripts are not. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "worker-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The files below `/graphiql`; the page is the one without a name. */
const names = [
  '',
  'graphiql.js',
  'graphiql.css',
  'start.js',
  'start.css',
  'editor.js',
  'json.js',
  'graphql.js',
] as const

type Name = (typeof names)[number]

/** A file in each form in which it is sent. */
interface File {
  type: string
  etag: string
  forms: { br: Buffer; gzip: Buffer; identity: Buffer }
}

const pathOf = (name: Name) => `${graphiqlPath}/${name}`

/** Registers `GET /graphiql` and the files that it loads: compressed when first requested, revalidated by `ETag`. */
export function registerGraphiql(app: FastifyInstance): void {
  let files: ReturnType<typeof makeFiles> | undefined
  for (const name of names) {
    app.get(name === '' ? graphiqlPath : pathOf(name), async (request, reply) => {
      files ??= makeFiles().catch(error => {
        files = undefined
        throw error
      })
      const { type, etag, forms } = (await files)[name]
      reply.headers({
        'Cache-Control': 'private, no-cache',
        'Content-Security-Policy': contentSecurityPolicy,
        'Referrer-Policy': 'no-referrer',
        'X-Content-Type-Options': 'nosniff',
        ETag: etag,
        Vary: 'Accept-Encoding',
      })
      if (request.headers['if-none-match'] === etag) return reply.code(304).send()
      const accepted = new Negotiator(request.raw).encodings(['br', 'gzip', 'identity'])
      const encoding = (['br', 'gzip'] as const).find(coding => accepted.includes(coding))
      if (encoding) reply.header('Content-Encoding', encoding)
      return reply.type(type).send(forms[encoding ?? 'identity'])
    })
  }
}

const html = 'text/html; charset=utf-8'
const javascript = 'text/javascript; charset=utf-8'
const css = 'text/css; charset=utf-8'

/** Takes GraphiQL out of its package, whose own page would need inline scripts. */
async function makeFiles(): Promise<Record<Name, File>> {
  // Nine megabytes of text, which only a developer's browser needs.
  const graphiql = await import('@graphql-yoga/render-graphiql/graphiql')
  const asset = (name: string) => readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8')
  return {
    '': await makeFile(html, `<!doctype html>${renderToString(<GraphiqlPage />)}`),
    'graphiql.js': await makeFile(javascript, graphiql.js),
    'graphiql.css': await makeFile(css, graphiql.css),
    'start.js': await makeFile(javascript, asset('start.js')),
    'start.css': await makeFile(css, asset('start.css')),
    'editor.js': await makeFile(javascript, graphiql.editorWorkerService),
    'json.js': await makeFile(javascript, graphiql.jsonWorker),
    'graphql.js': await makeFile(javascript, graphiql.graphqlWorker),
  }
}

const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

async function makeFile(type: string, text: string): Promise<File> {
  const identity = Buffer.from(text)
  const etag = `"${createHash('sha256').update(identity).digest('base64url')}"`
  const [br, gz] = await Promise.all([promisify(brotliCompress)(identity, quality), promisify(gzip)(identity)])
  return { type, etag, forms: { br, gzip: gz, identity } }
}

/** What `assets/start.js` starts GraphiQL with. */
const settings = () => ({
  endpoint: graphqlPath,
  workers: { editorWorkerService: pathOf('editor.js'), json: pathOf('json.js'), graphql: pathOf('graphql.js') },
  // With the schema at hand, the explorer and the completion work before there is a token.
  schema: introspectionFromSchema(schema),
  tabs: exampleTabs,
})

function GraphiqlPage() {
  // `<` is escaped because `</script>` would end the element.
  const data = JSON.stringify(settings()).replaceAll('<', '\\u003c')
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>GraphiQL · Voucher Gateway</title>
        <link rel="stylesheet" href={`${assetsPath}/tokens.css`} />
        <link rel="stylesheet" href={pathOf('graphiql.css')} />
        <link rel="stylesheet" href={pathOf('start.css')} />
        <link rel="icon" href={`${assetsPath}/icon.svg`} />
        <script id="settings" type="application/json" dangerouslySetInnerHTML={{ __html: data }} />
        <script src={pathOf('graphiql.js')} defer />
        <script src={pathOf('start.js')} type="module" />
      </head>
      <body>
        <header id="token-bar">
          <form id="token-form">
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
            <button type="button" id="token-remove" class="plain" hidden>
              Remove the token
            </button>
          </form>
          <p>
            <span id="token-status" role="status">
              Type a token once: all tabs use it. It is kept until this browser tab is closed.
            </span>{' '}
            Administrators create tokens under <a href={adminPath}>API access</a>.
          </p>
        </header>
        <main id="graphiql">
          <noscript>GraphiQL needs JavaScript.</noscript>
        </main>
      </body>
    </html>
  )
}
