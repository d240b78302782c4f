/** The requests behind the examples of the OpenAPI document. The examples are their answers on the demo data. */
import type { InjectOptions } from 'fastify'
import type { RecordedAnswer } from '../../tools/openapi/examples.ts'
import { document } from '../support/openapi.ts'

/**
 * The token of a request: for the whole demo group, for two of its tenants, without permissions, with a rate of one
 * request, or none.
 */
export type TokenName = 'all' | 'pair' | 'bare' | 'spent' | 'none'

/** A request: the parts that its example shows, and the parts that the example does not show. */
export interface ExampleRequest extends Pick<RecordedAnswer, 'operation' | 'summary'> {
  path?: Record<string, number>
  query?: Record<string, string>
  body?: unknown
  /** The default is `all`. */
  token?: TokenName
  /** The parts of the request that the example does not show. */
  options?: Pick<InjectOptions, 'method' | 'headers' | 'payload'>
}

/** A voucher that does not expire, so its resolution stays the same. */
const voucher = { reference: 'gift-7wrp-dm8h', qrToken: 'zj5ras5t8g8tyc2rg8n3x45j' }

type More = Omit<ExampleRequest, 'operation' | 'summary'>
const request = (operation: string, summary: string, more: More = {}): ExampleRequest => ({
  operation,
  summary,
  ...more,
})
/** Returns a request for tenant 1, or for the tenant in `path`. */
const atTenant = (operation: string, summary: string, { path, ...more }: More = {}) =>
  request(operation, summary, { ...more, path: { tenant: 1, ...path } })
const since = (updated_since: string, more = {}): More => ({ query: { updated_since, ...more } })
const after = (position: string): More => ({ query: { cursor: `<after ${position}>` } })
const body = (sent: unknown): More => ({ body: sent })
const sending = (payload: string, headers = {}): More => ({
  options: { headers: { 'content-type': 'application/json', ...headers }, payload },
})

/** The requests, in the order of the document. `<after …>` stands for a cursor after this stamp. */
export const exampleRequests: readonly ExampleRequest[] = [
  request('listTenants', 'The tenants of a token', { token: 'pair' }),
  request('listTenants', 'The last page', after('2026-01-31T08:01:30.000000Z')),
  request('listTenants', 'Nothing has changed', since('2026-01-31T09:30:00.000000Z')),
  atTenant(
    'listCatalogVouchers',
    'What has changed, with categories and variants',
    since('2026-01-31T08:00:00.000000Z', { include: 'categories,variants' }),
  ),
  atTenant('getCatalogVoucher', 'A product without variants', { path: { product: 50 } }),
  atTenant('listPurchasedVouchers', 'What has changed', since('2026-01-31T08:00:00.000000Z')),
  atTenant('getPurchasedVoucher', 'A voucher of money', { path: { voucher: 1 } }),
  atTenant('getPurchasedVoucher', 'A void voucher', { path: { voucher: 308 } }),
  atTenant('listMarketingSignups', 'What has changed', since('2026-01-31T08:00:00.000000Z')),
  atTenant('getMarketingSignup', 'A customer', { path: { customer: 87 } }),
  atTenant('resolveVoucher', 'By reference: redeemable', body({ voucher_reference: voucher.reference })),
  atTenant('resolveVoucher', 'By QR code, at another tenant: redeemable', {
    path: { tenant: 2 },
    body: { qr_token: `https://vouchers.example/r/${voucher.qrToken}` },
  }),
  atTenant('resolveVoucher', 'By reference: void', body({ voucher_reference: 'GIFT-ZFBT-WDMV' })),
  request('exportTenants', 'All tenants of a token', { token: 'pair' }),
  atTenant('exportCatalogVouchers', 'All products of a tenant', { path: { tenant: 8 } }),
  atTenant('exportPurchasedVouchers', 'The rest of an export that broke off', after('2026-01-31T08:00:00.000000Z')),
  atTenant('exportMarketingSignups', 'The rest of an export that broke off', after('2026-01-31T08:00:00.000000Z')),
  request('listTenants', 'No token, or no valid one', { token: 'none' }),
  atTenant('listCatalogVouchers', 'No permission', { token: 'bare' }),
  atTenant('listCatalogVouchers', 'A tenant of others', { path: { tenant: 9 } }),
  atTenant('listCatalogVouchers', 'No such tenant', { path: { tenant: 999_999 } }),
  atTenant('getPurchasedVoucher', 'No such record', { path: { voucher: 999_999 } }),
  request('listTenants', 'Another method', { options: { method: 'DELETE' } }),
  atTenant('resolveVoucher', 'A body that is too large', sending(' '.repeat(65 * 1024))),
  atTenant('resolveVoucher', 'A body that is compressed', sending('{}', { 'content-encoding': 'gzip' })),
  atTenant(
    'listCatalogVouchers',
    'Parameters that are not valid',
    since('2026-02-30', { cursor: 'x', include: 'prices' }),
  ),
  request('listTenants', 'A header that is missing', { options: { headers: { accept: '*/*' } } }),
  atTenant('resolveVoucher', 'Two vouchers', body({ qr_token: voucher.qrToken, voucher_reference: voucher.reference })),
  atTenant('resolveVoucher', 'No JSON object', body('GIFT-ZFBT-WDMV')),
  request('listTenants', 'The rate limit is exceeded', { token: 'spent' }),
]

export function toInjectOptions({ operation, path = {}, query, body, options }: ExampleRequest): InjectOptions {
  for (const [template, { get, post }] of Object.entries(document.paths)) {
    if (get?.operationId !== operation && post?.operationId !== operation) continue
    const filled = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(path[name]))
    const search = query ? `?${new URLSearchParams(query)}` : ''
    return {
      method: get ? 'GET' : 'POST',
      url: `${document.servers[0]?.url}${filled}${search}`,
      ...(body !== undefined && { payload: JSON.stringify(body) }),
      ...options,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...options?.headers,
      },
    }
  }
  throw new Error(`The document has no operation ${operation}.`)
}
