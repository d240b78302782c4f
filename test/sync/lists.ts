import type { FastifyInstance } from 'fastify'
import type postgres from '#postgres'

/** A record as a copy keeps it: `image` holds all that is compared. */
export interface Kept {
  /** What tells it apart in its list. */
  key: string
  id: number
  /** Of a removal: the resource of the record that is gone. */
  resource: string | null
  /** The text that its last writer wrote. */
  mark: string
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
  const id = body.id ?? body.tenant_id ?? 0
  // A record may leave more than once, and each time has an entry.
  const key = body.resource ? `${body.resource} ${id} ${body.updated_at}` : String(id)
  const mark = product_title ?? title ?? name ?? surname ?? ''
  return { key, id, resource: body.resource ?? null, mark, updatedAt: body.updated_at, image }
}

/** One of the service's lists. */
export interface List {
  name: string
  /** What a removal calls its records; null of the list of removals. */
  resource: string | null
  /** Below v1's base path; null where v1 has no such list. */
  path: null | ((tenant: number) => string)
  field: string
  /** What GraphQL is asked of a record, under v1's names. */
  selection: string
  /** Whether each tenant has its own. */
  ofTenant: boolean
  /**
   * What the tables hold that the list should have.
   *
   * @param tenant whose list; of the list of tenants, the granted one, which is above all that are listed
   * @param root the tenant that the token is granted with all below it
   */
  truth: (sql: postgres.Sql, tenant: number, root: number) => Promise<Kept[]>
}

/** An instant as the service writes it. */
export const instant = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

const read = async (sql: postgres.Sql, query: string, parameters: number[] = []) =>
  (await sql.unsafe<{ body: Body }[]>(query, parameters)).map(({ body }) => keep(body))

/** The ids of these tenants and of all below them. */
const treeBelow = (top: string) => `(
  with recursive tree as (
    ${top} union select tenant.id from tenant join tree as above (id) on tenant.parent_id = above.id
  ) select * from tree)`

const readTenants = (sql: postgres.Sql, condition: string, parameters: number[]) =>
  read(
    sql,
    `select json_build_object('id', id, 'name', name, 'updated_at', ${instant('updated_at')}) body
     from tenant where ${condition}`,
    parameters,
  )

/** @returns the tenants that a token is authorised for, by its grants as they are now */
export const readScope = (sql: postgres.Sql, token: number): Promise<Kept[]> =>
  readTenants(
    sql,
    `id in (select tenant_id from gateway.token_tenant where token_id = $1)
     or id in ${treeBelow('select tenant_id from gateway.token_tenant where token_id = $1 and with_descendants')}`,
    [token],
  )

const titledRows = (from: string) => `(select json_agg(json_build_object('id', part.id, 'title', part.title)) ${from})`

/** The four lists of v1, and what left them, which GraphQL alone tells. */
export const lists: List[] = [
  {
    name: 'tenants',
    resource: 'TENANT',
    path: () => '/tenants',
    field: 'tenants',
    selection: 'id: databaseId name updated_at: updatedAt',
    ofTenant: false,
    truth: (sql, tenant) => readTenants(sql, `id in ${treeBelow('select $1::bigint')}`, [tenant]),
  },
  {
    name: 'products',
    resource: 'CATALOG_VOUCHER',
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
              where link.product_id = product.id and part.tenant_id = product.tenant_id`,
           )}, '[]')) body
         from product where tenant_id = $1`,
        [tenant],
      ),
  },
  {
    name: 'vouchers',
    resource: 'PURCHASED_VOUCHER',
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
    resource: 'MARKETING_SIGNUP',
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
    resource: null,
    path: null,
    field: 'removals',
    selection: 'id: recordId resource reason updated_at: removedAt',
    ofTenant: true,
    // A record that left several times while a client did not look has to be reported once. A tenant may have left one
    // tenant for another that the token is authorised for too, and left that later: the last one reports it.
    truth: (sql, tenant, root) =>
      read(
        sql,
        `select distinct on (resource, record_id) json_build_object(
           'id', record_id, 'resource', upper(resource), 'reason', upper(reason), 'updated_at', ${instant('updated_at')}) body
         from gateway.removal where tenant_id = $1 and case resource
           when 'catalog_voucher' then
             not exists (select from product where tenant_id = $1 and product.id = record_id)
           when 'purchased_voucher' then
             not exists (select from purchased_voucher where tenant_id = $1 and purchased_voucher.id = record_id)
           when 'marketing_signup' then
             not exists (select from customer where tenant_id = $1 and customer.id = record_id and marketing_opted)
           else record_id not in ${treeBelow('select $2::bigint')} and not exists (
             select from gateway.removal later where later.resource = 'tenant' and later.record_id = removal.record_id
               and later.updated_at > removal.updated_at) end
         order by resource, record_id, removal.updated_at desc, id desc`,
        [tenant, root],
      ),
  },
]

const toPage = ({ data, next_cursor, server_time }: PageBody): SyncPage => ({
  records: data.map(keep),
  cursor: next_cursor,
  serverTime: server_time,
})

/** A request that the service refused. */
export class RequestError extends Error {
  /** @param code as GraphQL has it, also for REST */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

const codeOfStatus: Record<number, string> = { 403: 'FORBIDDEN', 404: 'NOT_FOUND' }

/** The service's doors: how a list is asked for through each. */
export const doors = {
  REST: (app: FastifyInstance, secret: string, list: List, tenant: number): Ask => {
    const headers = { accept: 'application/json', authorization: `Bearer ${secret}` }
    return async (since, cursor) => {
      const query = new URLSearchParams({ ...(since && { updated_since: since }), ...(cursor && { cursor }) })
      const url = `/api/external/v1${list.path?.(tenant)}?${query}`
      const { statusCode, body } = await app.inject({ method: 'GET', url, headers })
      if (statusCode !== 200) {
        throw new RequestError(codeOfStatus[statusCode] ?? String(statusCode), `${url}: ${statusCode} ${body}`)
      }
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
      const answer: {
        data?: { list?: PageBody; owner?: { list: PageBody } }
        errors?: { extensions?: { code?: string } }[]
      } = JSON.parse(body)
      const page = answer.data?.owner?.list ?? answer.data?.list
      if (!page || answer.errors) {
        throw new RequestError(answer.errors?.[0]?.extensions?.code ?? '', `${list.name}: ${body}`)
      }
      return toPage(page)
    }
  },
}
