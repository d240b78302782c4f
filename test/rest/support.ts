import type { InjectOptions } from 'fastify'
import type { Permission } from '../../src/domain/token/permission.ts'
import { type Answer, type Client, v1 } from '../support/app.ts'
import { startService } from '../support/service.ts'

/** The ids in the paths of operations. */
export interface Place {
  tenantId: number | string
  product: number | string
  voucher: number | string
  customer: number | string
}

export interface Operation {
  name: string
  method: 'GET' | 'POST'
  path: (place: Place) => string
  permissions: Permission[]
  /** A body that resolves the voucher of `createWorld`. */
  body?: object
}

export const worldReference = 'WORLD-1'

const ofTenant =
  (path: string, record?: keyof Place) =>
  (place: Place): string =>
    `/tenants/${place.tenantId}/${path}${record ? `/${place[record]}` : ''}`

const vouchers: Permission[] = ['view_vouchers']
const orders: Permission[] = [...vouchers, 'view_orders']
const customers: Permission[] = ['export_customer_information']

const described: Omit<Operation, 'method'>[] = [
  { name: 'list tenants', path: () => '/tenants', permissions: [] },
  { name: 'list catalog vouchers', path: ofTenant('catalog/vouchers'), permissions: vouchers },
  { name: 'get catalog voucher', path: ofTenant('catalog/vouchers', 'product'), permissions: vouchers },
  { name: 'list purchased vouchers', path: ofTenant('sales/purchased-vouchers'), permissions: orders },
  { name: 'get purchased voucher', path: ofTenant('sales/purchased-vouchers', 'voucher'), permissions: orders },
  { name: 'list marketing signups', path: ofTenant('customers/marketing-signups'), permissions: customers },
  { name: 'get marketing signup', path: ofTenant('customers/marketing-signups', 'customer'), permissions: customers },
  {
    name: 'resolve voucher',
    path: ofTenant('redemptions/resolve'),
    permissions: ['redeem_vouchers'],
    body: { voucher_reference: worldReference },
  },
]

/** The eight operations of the contract, in the order of the contract. */
export const operations: Operation[] = described.map(it => ({ ...it, method: it.body ? 'POST' : 'GET' }))

export const lists = operations.filter(({ name }) => name.startsWith('list'))
export const underTenant = operations.filter(({ name }) => name !== 'list tenants')

export async function createWorld(environment: NodeJS.ProcessEnv = {}) {
  const { database, build, client } = await startService(environment)
  const tenantId = await build.tenant({ name: 'World' })
  const place: Place = {
    tenantId,
    product: await build.product(tenantId),
    voucher: await build.voucher(tenantId, { reference: worldReference }),
    customer: await build.customer(tenantId),
  }
  const { secret } = await build.token([tenantId])
  return { ...database, build, client, tenantId, place, secret }
}

export type World = Awaited<ReturnType<typeof createWorld>>

/** Sends the request of an operation. A header whose value is undefined is not sent. */
export function perform(
  client: Client,
  { method, path, body }: Operation,
  place: Place,
  headers: Record<string, string | undefined>,
  options: Omit<InjectOptions, 'headers' | 'url'> & { query?: string } = {},
): Promise<Answer> {
  const all = { accept: 'application/json', ...(body && { 'content-type': 'application/json' }), ...headers }
  const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  const { query = '', ...others } = options
  const payload = body && { payload: JSON.stringify(body) }
  return client.ask({ method, ...payload, ...others, url: v1 + path(place) + query, headers: sent })
}

export const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })

export async function walk(client: Client, secret: string, path: string, query: Record<string, string> = {}) {
  // biome-ignore lint/suspicious/noExplicitAny: the tests check the shape of the records
  const pages: any[][] = []
  const cursors: string[] = []
  let cursor: string | null = null
  do {
    const search: string = new URLSearchParams({ ...query, ...(cursor !== null && { cursor }) }).toString()
    const { status, body, text } = await client.rest(secret, `${path}?${search}`)
    if (status !== 200) throw new Error(`${status} ${text}`)
    pages.push(body.data)
    cursor = body.next_cursor
    if (cursor !== null) cursors.push(cursor)
  } while (cursor !== null && pages.length < 20)
  return { pages, cursors, records: pages.flat() }
}

/** Returns the names of the fields with errors in a 422; null for any other status. */
export const faultyFields = ({ status, body }: Answer): string[] | null =>
  status === 422 ? Object.keys(body.errors).sort() : null

const isSentence = (line: unknown) => /^[A-Z].+\.$/.test(String(line))

/**
 * Returns what is wrong with an error response, or null. The response must be JSON with a sentence and without
 * internals (R17, R18).
 */
export function flawOf({ status, headers, text, body }: Answer, wanted: number): string | null {
  if (status !== wanted) return `${status} instead of ${wanted}: ${text}`
  if (headers['content-type'] !== 'application/json; charset=utf-8') return `type ${headers['content-type']}`
  if (headers['cache-control'] !== 'private, no-store') return `cache ${headers['cache-control']}`
  if (!headers['x-request-id']) return 'no request id'
  const keys = Object.keys(body).join()
  if (keys !== (wanted === 422 ? 'message,errors' : 'message')) return `keys ${keys}`
  if (!isSentence(body.message)) return `message ${body.message}`
  if (/select|insert|postgres|relation|column|stack|\.ts|\.js|FST_|syntax|node_modules|undefined/i.test(text))
    return `hint ${text}`
  if (wanted !== 422) return null
  const fields = Object.values<unknown>(body.errors)
  const isRight = fields.every(lines => Array.isArray(lines) && lines.length > 0 && lines.every(isSentence))
  return fields.length > 0 && isRight ? null : `errors ${text}`
}
