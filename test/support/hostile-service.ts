/** A service that an attacker controls. It answers like the real service, except for one value that a test chooses. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Changes } from '../../packages/client/src/documents.ts'
import { afterFile } from './cleanups.ts'
import { listen } from './free-port.ts'

const examples = readFileSync('schema/examples.v1.json', 'utf8')
const time = '2026-01-31T09:30:00.000000Z'

const tenant = (id: unknown) => ({ tenant_id: id, name: 'Harbour Spa', updated_at: time })

/** Returns the record of a list from the examples of the OpenAPI document, with another id. */
function exampleOf(operation: string, id: unknown): object {
  const all: { operation: string; body: { data: object[] } }[] = JSON.parse(examples)
  return { ...all.find(example => example.operation === operation)?.body.data[0], id, updated_at: time }
}

const product = exampleOf('listCatalogVouchers', 5)

/** A purchased voucher in the form of v1. */
export const voucherRecord = (id: unknown) => exampleOf('listPurchasedVouchers', id)

const signup = exampleOf('listMarketingSignups', 9)

/** The GraphQL error of a service without the field `changes`. */
const unknownField = {
  message: 'Cannot query field "changes" on type "Query".',
  extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
}

/** The answers of the service, by the requested resource. */
export const honestAnswers = () => structuredClone(honest)

const honest = {
  tenants: { data: [tenant(1), tenant(2)], next_cursor: null as unknown, server_time: time as unknown },
  'catalog/vouchers': { data: [product], next_cursor: null as unknown, server_time: time as unknown },
  // The list has a further page, so that the client exports the rest.
  'sales/purchased-vouchers': { data: [voucherRecord(1), voucherRecord(2)], next_cursor: 'more', server_time: time },
  'customers/marketing-signups': { data: [signup], next_cursor: null as unknown, server_time: time as unknown },
  export: [
    { server_time: time },
    voucherRecord(1),
    voucherRecord(2),
    { cursor: 'chunk' },
    voucherRecord(3),
    { end: true, count: 3 },
  ] as object[],
  removals: {
    records: [{ resource: 'PURCHASED_VOUCHER', recordId: 3, reason: 'DELETED', removedAt: time }],
    nextCursor: null as unknown,
    serverTime: time,
    epoch: 1 as unknown,
    serviceId: 'service',
    removalsCompleteSince: null as unknown,
  },
  changes: {
    lists: [1, 2].flatMap(tenantId =>
      ['TENANTS', 'CATALOG_VOUCHERS', 'PURCHASED_VOUCHERS', 'MARKETING_SIGNUPS'].map(list => ({
        tenantId,
        list,
        since: time,
      })),
    ),
    serverTime: time,
    hasMore: false,
    epoch: 1,
    access: 'access',
  } as object | null,
  count: 5_000 as unknown,
  /** When set, the status and the body of every answer. */
  error: null as { status: number; body: string } | null,
}

export type Answers = ReturnType<typeof honestAnswers>

/** Starts the service. Set `answers` before a request. */
export async function startHostileService() {
  const service = { url: '', answers: honestAnswers() }
  const server = createServer((request, response) => {
    const { answers } = service
    const [path = '', query = ''] = (request.url ?? '').split('?')
    const send = (body: unknown) => response.end(JSON.stringify(body))
    // The page after any cursor is the last page.
    const sendPage = (page: object) => send(query === '' ? page : { ...page, next_cursor: null })
    request.resume()
    if (answers.error) return response.writeHead(answers.error.status).end(answers.error.body)
    if (path.includes('/export/')) {
      const rest = [{ server_time: time }, { end: true, count: 0 }]
      const lines = path.endsWith('purchased-vouchers') ? answers.export : rest
      return response.end(lines.map(line => `${JSON.stringify(line)}\n`).join(''))
    }
    if (path.endsWith('/tenants')) return sendPage(answers.tenants)
    for (const list of ['catalog/vouchers', 'sales/purchased-vouchers', 'customers/marketing-signups'] as const) {
      if (path.endsWith(list)) return sendPage(answers[list])
    }
    if (path !== '/graphql') return response.writeHead(404).end('{"message":"Not found."}')
    let text = ''
    request.on('data', chunk => {
      text += chunk
    })
    request.on('end', () => {
      const { variables, documentId } = JSON.parse(text)
      const { changes } = answers
      if (changes && documentId === Changes.id) return send({ data: { changes } })
      if (documentId === Changes.id) return send({ errors: [unknownField] })
      if (!('first' in variables)) return send({ data: { tenant: { list: { totalCount: answers.count } } } })
      const removals = variables.after ? { ...answers.removals, nextCursor: null } : answers.removals
      send({ data: { tenant: { removals } } })
    })
  })
  service.url = `http://127.0.0.1:${await listen(server)}`
  afterFile(() => server.closeAllConnections())
  return service
}
