import { exportPath } from '../../src/http/paths.ts'

export interface CopiedRecord {
  key: string
  id: number
  /** For a removal: the resource of the record that left. */
  resource: string | null
  updatedAt: string
  /** All that is compared. */
  image: string
}

/** A page of a list, from either transport. */
export interface SyncPage {
  records: CopiedRecord[]
  cursor: string | null
  serverTime: string
}

/** Reads a page of a list that begins at an instant, after a cursor. */
export type Ask = (since: string | null, cursor: string | null) => Promise<SyncPage>

interface Titled {
  id: number
  title: string
}

/** The fields that are compared, under the names of v1. Each list has some of them. */
interface Body extends Partial<Record<'name' | 'title' | 'product_title' | 'surname', string | null>> {
  id?: number
  tenant_id?: number
  updated_at: string
  current_balance?: number | null
  /** For a removal: the resource of the record, and the reason. */
  resource?: string
  reason?: string
  category_refs?: Titled[]
  variant_summaries?: Titled[]
}

export interface PageBody {
  data: Body[]
  next_cursor: string | null
  server_time: string
}

const titles = (list: Titled[] = []) => list.map(({ id, title }) => `${id}:${title}`).sort()

/** @returns a record as a copy holds it */
export function toCopiedRecord(body: Body): CopiedRecord {
  const { name, title, product_title, current_balance, surname, reason, category_refs, variant_summaries } = body
  const plain = [name, title, product_title, current_balance, surname, reason].map(field => field ?? null)
  const image = JSON.stringify([body.updated_at, ...plain, titles(category_refs), titles(variant_summaries)])
  const id = body.id ?? body.tenant_id ?? 0
  // A record can leave more than once; each time has an entry.
  const key = body.resource ? `${body.resource} ${id} ${body.updated_at}` : String(id)
  return { key, id, resource: body.resource ?? null, updatedAt: body.updated_at, image }
}

export interface List {
  name: string
  /** The resource of its records in removals; null for the list of removals. */
  resource: string | null
  /** The path below the base path of v1; null where v1 has no such list. */
  path: null | ((tenant: number) => string)
  /** The path of its export; omitted when the list has no export. */
  exportPath?: (tenant: number) => string
  field: string
  /** The GraphQL selection of a record, under the names of v1. */
  selection: string
  ofTenant: boolean
}

/** The four lists of v1, and the removals, which only GraphQL has. */
export const lists: List[] = [
  {
    name: 'tenants',
    resource: 'TENANT',
    path: () => '/tenants',
    exportPath: () => '/tenants',
    field: 'tenants',
    selection: 'id: databaseId name updated_at: updatedAt',
    ofTenant: false,
  },
  {
    name: 'products',
    resource: 'CATALOG_VOUCHER',
    path: tenant => `/tenants/${tenant}/catalog/vouchers`,
    exportPath: tenant => `/tenants/${tenant}/catalog-vouchers`,
    field: 'catalogVouchers',
    selection: `id: databaseId title updated_at: updatedAt
      category_refs: categories { id: databaseId title } variant_summaries: variants { id: databaseId title }`,
    ofTenant: true,
  },
  {
    name: 'vouchers',
    resource: 'PURCHASED_VOUCHER',
    path: tenant => `/tenants/${tenant}/sales/purchased-vouchers`,
    exportPath: tenant => `/tenants/${tenant}/purchased-vouchers`,
    field: 'purchasedVouchers',
    selection: 'id: databaseId product_title: productTitle current_balance: currentBalance updated_at: updatedAt',
    ofTenant: true,
  },
  {
    name: 'signups',
    resource: 'MARKETING_SIGNUP',
    path: tenant => `/tenants/${tenant}/customers/marketing-signups`,
    exportPath: tenant => `/tenants/${tenant}/marketing-signups`,
    field: 'marketingSignups',
    selection: 'id: databaseId surname updated_at: updatedAt',
    ofTenant: true,
  },
  {
    name: 'removals',
    resource: null,
    path: null,
    field: 'removals',
    selection: 'id: recordId resource reason updated_at: removedAt',
    ofTenant: true,
  },
]

/** @returns a page as clients read it */
export const toPage = ({ data, next_cursor, server_time }: PageBody): SyncPage => ({
  records: data.map(toCopiedRecord),
  cursor: next_cursor,
  serverTime: server_time,
})

export class RequestError extends Error {
  /** @param code the GraphQL error code, also for REST */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

const codeOfStatus: Record<number, string> = { 403: 'FORBIDDEN', 404: 'NOT_FOUND' }

/** Marks the cursor of an export that goes on, for the client that reads it. */
const partPrefix = 'export '

/** Returns an export as if it had broken off behind some of its cursors, or all of it when it is short. */
function cutExport(text: string): SyncPage {
  const lines = text.split('\n').slice(0, -1)
  const cursors = lines.flatMap((line, index) => (line.startsWith('{"cursor"') ? [index] : []))
  // The last cursor stands before the end: nothing is left behind it.
  const cut = cursors[Math.floor(Math.random() * (cursors.length - 1))]
  if (cut === undefined && !/^\{"end":true,"count":\d+\}$/.test(lines.at(-1) ?? ''))
    throw new Error('The export broke off.')
  const part = cursors.length > 1 ? lines.slice(0, (cut ?? 0) + 1) : lines
  const values = part.map((line): Body & { server_time?: string; cursor?: string; end?: true } => JSON.parse(line))
  return {
    records: values.filter(value => !value.server_time && !value.cursor && !value.end).map(toCopiedRecord),
    cursor: part === lines ? null : `${partPrefix}${values.at(-1)?.cursor}`,
    serverTime: values[0]?.server_time ?? '',
  }
}

interface RequestOptions {
  method?: 'POST'
  url: string
  payload?: string
}

/** An instance of the service, in this process or another one. */
export interface Instance {
  inject(
    request: RequestOptions & { headers: Record<string, string> },
  ): PromiseLike<{ statusCode: number; body: string }>
}

/** Sends a request. @returns its body @throws RequestError when the status is not 200 */
async function send(app: Instance, secret: string, options: RequestOptions): Promise<string> {
  const headers = { accept: 'application/json', authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const { statusCode, body } = await app.inject({ headers, ...options })
  if (statusCode === 200 || options.url === '/graphql') return body
  throw new RequestError(codeOfStatus[statusCode] ?? String(statusCode), `${options.url}: ${statusCode} ${body}`)
}

/** The ways to read a list over each transport. */
export const transports = {
  REST: (app: Instance, secret: string, list: List, tenant: number): Ask => {
    return async (since, cursor) => {
      const query = new URLSearchParams({ ...(since && { updated_since: since }), ...(cursor && { cursor }) })
      const page: PageBody = JSON.parse(
        await send(app, secret, { url: `/api/external/v1${list.path?.(tenant)}?${query}` }),
      )
      return toPage(page)
    }
  },

  /** Without removals, which v1 has not. */
  'v1 alone': (app: Instance, secret: string, list: List, tenant: number): Ask =>
    list.path
      ? transports.REST(app, secret, list, tenant)
      : async () => ({ records: [], cursor: null, serverTime: '' }),

  /** The first pass, and some of the later ones, read all of the list as an export: in parts, as after breaks. */
  export: (app: Instance, secret: string, list: List, tenant: number): Ask => {
    const page = transports.REST(app, secret, list, tenant)
    return async (since, cursor) => {
      const isPart = cursor?.startsWith(partPrefix) ?? false
      const isIncrement = cursor === null && since !== null && Math.random() < 0.75
      if (!isPart && (cursor !== null || isIncrement)) return page(since, cursor)
      const query = isPart ? `?cursor=${cursor?.slice(partPrefix.length)}` : ''
      return cutExport(await send(app, secret, { url: `${exportPath}${list.exportPath?.(tenant)}${query}` }))
    }
  },

  GraphQL: (app: Instance, secret: string, list: List, tenant: number): Ask => {
    const connection = `list: ${list.field}(updatedSince: $since, after: $after) {
      data: nodes { ${list.selection} }
      next_cursor: nextCursor server_time: serverTime
    }`
    const query = list.ofTenant
      ? `query ($since: DateTime, $after: String, $tenant: ID!) { owner: tenant(id: $tenant) { ${connection} } }`
      : `query ($since: DateTime, $after: String) { ${connection} }`
    return async (since, after) => {
      const variables = { since, after, ...(list.ofTenant && { tenant: String(tenant) }) }
      const payload = JSON.stringify({ query, variables })
      const body = await send(app, secret, { method: 'POST', url: '/graphql', payload })
      const answer: {
        data?: { list?: PageBody; owner?: { list: PageBody } }
        errors?: { extensions?: { code?: string } }[]
      } = JSON.parse(body)
      const page = answer.data?.owner?.list ?? answer.data?.list
      if (page && !answer.errors) return toPage(page)
      throw new RequestError(answer.errors?.[0]?.extensions?.code ?? '', `${list.name}: ${body}`)
    }
  },
}
