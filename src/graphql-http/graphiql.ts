import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import Negotiator from 'negotiator'
import { graphiqlPath, graphqlPath } from '../http/paths.ts'

/** Nothing but the service itself is asked: the page, its scripts and its workers come whole from here. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline' blob:",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "worker-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const examples = [
  `# Who you are, and what is left of your rate.
# Put your token in the headers below.
query WhoAmI {
  viewer {
    name
    permissions
    tenants {
      tenant {
        name
        databaseId
      }
      withDescendants
    }
    rate {
      limit
      remaining
      resetsIn
    }
  }
}
`,
  `# Voucher products of a tenant, each with its categories and variants.
query Catalog($tenant: ID!, $after: String) {
  tenant(id: $tenant) {
    name
    catalogVouchers(first: 10, after: $after) {
      totalCount
      nodes {
        title
        fromPrice
        currency
        categories {
          title
        }
        variants {
          title
          price
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
`,
  `# Vouchers that changed since an instant: pass serverTime on as updatedSince the next time.
query ChangedVouchers($tenant: ID!, $since: DateTime) {
  tenant(id: $tenant) {
    purchasedVouchers(first: 50, updatedSince: $since) {
      serverTime
      nextCursor
      nodes {
        reference
        currentBalance
        currency
        redemptionStatus
        void
        updatedAt
      }
    }
  }
}
`,
  `# What a voucher is worth at a tenant now. Nothing is redeemed.
mutation Resolve($tenant: ID!, $reference: String!) {
  resolveVoucher(input: { tenantId: $tenant, voucherReference: $reference }) {
    status
    reasonCode
    voucher {
      productTitle
      currentBalance
      currency
    }
    redemptionToken
  }
}
`,
]

const headers = JSON.stringify({ Authorization: 'Bearer ' }, null, 2)

/** The page in each form in which it is sent; made once, when it is first asked for. */
async function makePage() {
  // Nine megabytes of script, which only a developer's browser needs.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const page = Buffer.from(
    renderGraphiQL({
      title: 'Voucher Gateway: GraphiQL',
      endpoint: graphqlPath,
      defaultTabs: examples.map(query => ({ query, headers, variables: variablesOf(query) })),
      headers,
      isHeadersEditorEnabled: true,
      defaultEditorToolsVisibility: 'headers',
      shouldPersistHeaders: false,
      credentials: 'same-origin',
    }),
  )
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }
  const etag = `"${createHash('sha256').update(page).digest('base64url')}"`
  const [br, gz] = await Promise.all([promisify(brotliCompress)(page, quality), promisify(gzip)(page)])
  return { etag, forms: { br, gzip: gz, identity: page } }
}

function variablesOf(query: string): string {
  const variables: Record<string, unknown> = {}
  if (query.includes('$tenant')) variables.tenant = '1'
  if (query.includes('$since')) variables.since = '2026-01-01T00:00:00Z'
  if (query.includes('$reference')) variables.reference = ''
  return JSON.stringify(variables, null, 2)
}

/** `GET /graphiql`: GraphiQL, from the package alone, compressed, and kept by the browser until it changes. */
export function registerGraphiql(app: FastifyInstance): void {
  let page: ReturnType<typeof makePage> | undefined
  app.get(graphiqlPath, async (request, reply) => {
    page ??= makePage().catch(error => {
      page = undefined
      throw error
    })
    const { etag, forms } = await page
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
    const encoding = (['br', 'gzip'] as const).find(name => accepted.includes(name))
    if (encoding) reply.header('Content-Encoding', encoding)
    return reply.type('text/html; charset=utf-8').send(forms[encoding ?? 'identity'])
  })
}
