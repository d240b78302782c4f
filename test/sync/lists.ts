import type { FastifyInstance } from 'fastify'
import type postgres from '#postgres'

/** A record as a copy keeps it: `image` holds all that is compared. */
export interface Kept {
  /** What tells it apart in its list. */
  key: string
  updatedAt: string
  image: string
}

/** A page, whatever it came through. */
export interface SyncPage {
  records: Kept[]
  cursor: string | null
  serverTime: string
}

/** Asks for a page of a list: all since an instant, from a cursor on. */
export type Ask = (since: string | null, cursor: string | null) => Promise<SyncPage>

interface Titled {
  id: number
  title: string
}

/** The fields that the comparison looks at, under the names of v1. Each list has some of them. */
interface Body {
  id?: number
  tenant_id?: number
  updated_at: string
  name?: string
  title?: string
  product_title?: string | null
  current_balance?: number | null
  surname?: string | null
  /** Of a removal: what the record was, and why it is gone. */
  resource?: string
  reason?: string
  category_refs?: Titled[]
  variant_summaries?: Titled[]
}

interface PageBody {
  data: Body[]
  next_cursor: string | null
  server_time: string
}

const titles = (list: Titled[] = []) => list.map(({ id, title }) => `${id}:${title}`).sort()

/** @returns what a copy keeps of a record */
export function keep(body: Body): Kept {
  const { name, title, product_title, current_balance, surname, reason, category_refs, variant_summaries } = body
  const plain = [name, title, product_title, current_balance, surname, reason].map(field => field ?? null)
  const image = JSON.stringify([body.updated_at, ...plain, titles(category_refs), titles(variant_summaries)])
  const id = body.id ?? body.tenant_id
  // A record may leave more than once, and each time is told.
  const key = body.resource ? `${body.resource} ${id} ${body.updated_at}` : String(id)
  return { key, updatedAt: body.updated_at, image }
}

/** One of the service's lists. */
export interface List {
  name: string
  /** Below v1's base path; null where v1 has no such list. */
  path: null | ((tenant: number) => string)
  field: string
  /** What GraphQL is asked of a record, under v1's names. */
  selection: string
  /** Whether each tenant has its own. */
  ofTenant: boolean
  /** What the table holds, of which the list should tell. */
  truth: (sql: postgres.Sql, tenant: number) => Promise<Kept[]>
}

/** An instant as the service writes it. */
export const instant = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

const read = async (sql: postgres.Sql, query: string, parameters: number[] = []) =>
  (await sql.unsafe<{ body: Body }[]>(query, parameters)).map(({ body }) => keep(body))

const titledRows = (from: string) => `(select json_agg(json_build_object('id', part.id, 'title', part.title)) ${from})`

/** The four lists of v1, and what left them, which GraphQL alone tells. */
export const lists: List[] = [
  {
    name: 'tenants',
    path: () => '/tenants',
    field: 'tenants',
    selection: 'id: databaseId name updated_at: updatedAt',
    ofTenant: false,
    truth: sql =>
      read(
        sql,
        `select json_build_object('id', id, 'name', name, 'updated_at', ${instant('updated_at')}) body from tenant`,
      ),
  },
  {
    name: 'products',
    path: tenant => `/tenants/${tenant}/catalog/vouchers`,
    field: 'catalogVouchers',
    selection: `id: databaseId title updated_at: updatedAt
      category_refs: categories { id: databaseId title } variant_summaries: variants { id: databaseId title }`,
    ofTenant: true,
    truth: (sql, tenant) =>
      read(
        sql,
        `select json_build_object('id', id, 'title', title, 'updated_at', ${instant('updated_at')},
           'variant_summaries', coalesce(${titledRows('from variant part where product_id = product.id')}, '[]'),
           'category_refs', coalesce(${titledRows(
             `from category part join product_category link on category_id = part.id
              where link.product_id = product.id`,
           )}, '[]')) body
         from product where tenant_id = $1`,
        [tenant],
      ),
  },
  {
    name: 'vouchers',
    path: tenant => `/tenants/${tenant}/sales/purchased-vouchers`,
    field: 'purchasedVouchers',
    selection: 'id: databaseId product_title: productTitle current_balance: currentBalance updated_at: updatedAt',
    ofTenant: true,
    truth: (sql, tenant) =>
      read(
        sql,
        `select json_build_object('id', id, 'product_title', product_title, 'current_balance', current_balance,
           'updated_at', ${instant('updated_at')}) body
         from purchased_voucher where tenant_id = $1`,
        [tenant],
      ),
  },
  {
    name: 'signups',
    path: tenant => `/tenants/${tenant}/customers/marketing-signups`,
    field: 'marketingSignups',
    selection: 'id: databaseId surname updated_at: updatedAt',
    ofTenant: true,
    truth: (sql, tenant) =>
      read(
        sql,
        `select json_build_object('id', id, 'surname', surname, 'updated_at', ${instant('updated_at')}) body
         from customer where tenant_id = $1 and marketing_opted`,
        [tenant],
      ),
  },
  {
    name: 'removals',
    path: null,
    field: 'removals',
    selection: 'id: recordId resource reason updated_at: removedAt',
    ofTenant: true,
    truth: (sql, tenant) =>
      read(
        sql,
        `select json_build_object('id', record_id, 'resource', upper(resource), 'reason', upper(reason),
           'updated_at', ${instant('updated_at')}) body
         from gateway.removal where tenant_id = $1`,
        [tenant],
      ),
  },
]

const toPage = ({ data, next_cursor, server_time }: PageBody): SyncPage => ({
  records: data.map(keep),
  cursor: next_cursor,
  serverTime: server_time,
})

/** The service's doors: how a list is asked for through each. */
export const doors = {
  REST: (app: FastifyInstance, secret: string, list: List, tenant: number): Ask => {
    const headers = { accept: 'application/json', authorization: `Bearer ${secret}` }
    return async (since, cursor) => {
      const query = new URLSearchParams({ ...(since && { updated_since: since }), ...(cursor && { cursor }) })
      const url = `/api/external/v1${list.path?.(tenant)}?${query}`
      const { statusCode, body } = await app.inject({ method: 'GET', url, headers })
      if (statusCode !== 200) throw new Error(`${url}: ${statusCode} ${body}`)
      const page: PageBody = JSON.parse(body)
      return toPage(page)
    }
  },

  GraphQL: (app: FastifyInstance, secret: string, list: List, tenant: number): Ask => {
    const headers = {
      accept: 'application/json',
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
    }
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
      const { body } = await app.inject({ method: 'POST', url: '/graphql', headers, payload })
      const answer: { data?: { list?: PageBody; owner?: { list: PageBody } }; errors?: unknown } = JSON.parse(body)
      const page = answer.data?.owner?.list ?? answer.data?.list
      if (!page || answer.errors) throw new Error(`${list.name}: ${body}`)
      return toPage(page)
    }
  },
}
