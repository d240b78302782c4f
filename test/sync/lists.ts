/** Reads lists as clients do: through the client for integrators, and over GraphQL. */
import type { FastifyInstance } from 'fastify'
import { throwFirstError } from '../../packages/client/src/answer-error.ts'
import { array, cursor, id, instant, nullable, object, parse } from '../../packages/client/src/check.ts'
import {
  type Page,
  type Removal,
  type TenantListName,
  tenantLists,
  VoucherGateway,
} from '../../packages/client/src/index.ts'
import { Transport } from '../../packages/client/src/transport.ts'

/** The four lists of v1, and the removals, which only GraphQL has. */
export type ListName = 'tenants' | TenantListName | 'removals'

/** A record in a copy. */
export interface CopiedRecord {
  key: string
  id: number
  /** For a removal, the resource of the removed record; null for other records. */
  resource: Removal['resource'] | null
  updatedAt: string
  /** All that is compared. */
  image: string
}

/** Reads a page of a list, from an instant and after a cursor. */
export type Ask = (since: string | null, cursor: string | null) => Promise<Page<CopiedRecord>>

interface Titled {
  id: number
  title: string
}

/** The compared fields, under the names of v1. Each list has some of these fields. */
interface Body {
  id?: number
  tenant_id?: number
  updated_at?: string | null
  name?: string
  title?: string
  product_title?: string | null
  current_balance?: number | null
  surname?: string | null
  category_refs?: readonly Titled[]
  variant_summaries?: readonly Titled[]
}

const titles = (list: readonly Titled[] = []) => list.map(({ id, title }) => `${id}:${title}`).sort()

function toCopiedRecord(body: Body | Removal): CopiedRecord {
  if ('resource' in body) {
    const { resource, recordId: id, reason, removedAt: updatedAt } = body
    // A record can leave a list several times, and each time has a removal.
    return { key: `${resource} ${id} ${updatedAt}`, id, resource, updatedAt, image: `${updatedAt} ${reason}` }
  }
  const { name, title, product_title, current_balance, surname, category_refs, variant_summaries } = body
  const plain = [body.updated_at, name, title, product_title, current_balance, surname].map(field => field ?? null)
  const image = JSON.stringify([...plain, titles(category_refs), titles(variant_summaries)])
  const id = body.id ?? body.tenant_id ?? 0
  return { key: String(id), id, resource: null, updatedAt: body.updated_at ?? '', image }
}

const toPage = ({ records, ...page }: Page<Body | Removal>) => ({ ...page, records: records.map(toCopiedRecord) })

/** An instance of the service, in this process or another one. */
export interface Instance {
  /** The address of the instance; undefined for an instance in this process. */
  origin?: string
  fetch: typeof fetch
}

/** Returns an instance in this process, which answers without a socket. */
export const instanceOf = (app: Pick<FastifyInstance, 'inject'>): Instance => ({
  async fetch(input, init) {
    const { pathname, search } = new URL(String(input))
    const headers = Object.fromEntries(new Headers(init?.headers))
    const request = { method: init?.body ? 'POST' : 'GET', url: pathname + search, headers } as const
    const { statusCode, body } = await app.inject({ ...request, ...(init?.body && { payload: String(init.body) }) })
    return new Response(body, { status: statusCode })
  },
})

const optionsOf = ({ origin = 'http://localhost', fetch }: Instance, token: string) => ({
  ...{ url: origin, token, fetch, maxAttempts: 1 },
})

/** The GraphQL selections of the compared fields, under the names of v1. */
const selections = {
  tenants: 'name',
  'catalog-vouchers': `title category_refs: categories { id: databaseId title }
    variant_summaries: variants { id: databaseId title }`,
  'purchased-vouchers': 'product_title: productTitle current_balance: currentBalance',
  'marketing-signups': 'surname',
}

const connection = object({
  records: array(object({ id, updated_at: nullable(instant) })),
  nextCursor: nullable(cursor),
  serverTime: instant,
})
const rootAnswer = object({ data: object({ list: connection }) })
const tenantAnswer = object({ data: object({ tenant: object({ list: connection }) }) })

type Reader = (instance: Instance, secret: string, list: ListName, tenant: number) => Ask

/** Reads a list by pages of v1, or the removals over GraphQL. */
const byPages: Reader = (instance, secret, list, tenant) => {
  const client = new VoucherGateway(optionsOf(instance, secret))
  return async (since, cursor) => {
    const options = { updatedSince: since ?? undefined, cursor: cursor ?? undefined }
    const read = () => {
      if (list === 'tenants') return client.tenants(options)
      return list === 'removals' ? client.removals(tenant, options) : client[tenantLists[list].list](tenant, options)
    }
    for await (const page of read().pages()) return toPage(page)
    throw new Error('The list has no page.')
  }
}

/** The prefix of a cursor that continues an export. */
const partPrefix = 'export '

/** The ways to read a list, by name. */
export const transports = {
  REST: byPages,

  /** Reads no removals, because v1 does not have them. */
  'v1 alone': (instance, secret, list, tenant) =>
    list === 'removals'
      ? async () => ({ records: [], nextCursor: null, serverTime: '' })
      : byPages(instance, secret, list, tenant),

  /** The first pass and some later passes read the whole list as an export, in parts, as after broken connections. */
  export: (instance, secret, list, tenant) => {
    const page = byPages(instance, secret, list, tenant)
    if (list === 'removals') return page
    const client = new VoucherGateway(optionsOf(instance, secret))
    return async (since, cursor) => {
      const isPart = cursor?.startsWith(partPrefix) ?? false
      const isIncrement = cursor === null && since !== null && Math.random() < 0.75
      if (!isPart && (cursor !== null || isIncrement)) return page(since, cursor)
      const options = { cursor: isPart ? cursor?.slice(partPrefix.length) : undefined }
      const read =
        list === 'tenants' ? client.exportTenants(options) : client[tenantLists[list].export](tenant, options)
      const chunks: Page<CopiedRecord>[] = []
      for await (const chunk of read.pages()) chunks.push(toPage(chunk))
      chunks.length = 1 + Math.floor(Math.random() * chunks.length)
      const { nextCursor = null, serverTime = '' } = chunks.at(-1) ?? {}
      const records = chunks.flatMap(chunk => chunk.records)
      return { records, nextCursor: nextCursor === null ? null : partPrefix + nextCursor, serverTime }
    }
  },

  GraphQL: (instance, secret, list, tenant) => {
    if (list === 'removals') return byPages(instance, secret, list, tenant)
    const transport = new Transport(optionsOf(instance, secret))
    const field = list === 'tenants' ? 'tenants' : tenantLists[list].list
    const selected = `list: ${field}(updatedSince: $since, after: $after) {
      records: nodes { id: databaseId ${selections[list]} updated_at: updatedAt } nextCursor serverTime
    }`
    const query = `query ($since: DateTime, $after: String) {
      ${list === 'tenants' ? selected : `tenant(id: ${tenant}) { ${selected} }`}
    }`
    return async (since, after) => {
      const request = { path: '/graphql', body: { query, variables: { since, after } }, repeatable: true }
      const { body, requestId } = await transport.send(request, throwFirstError)
      if (list === 'tenants') return toPage(parse(rootAnswer, body, requestId).data.list)
      return toPage(parse(tenantAnswer, body, requestId).data.tenant.list)
    }
  },
} satisfies Record<string, Reader>
