/** The requests whose answers over the demo data are the examples of the OpenAPI document. */
import type { InjectOptions } from 'fastify'
import type { RecordedAnswer } from '../../tools/openapi/examples.ts'
import { document } from '../support/openapi.ts'

/** The tokens of the requests: all of the demo group, two tenants of it, no permission, one request, no token. */
export type TokenName = 'all' | 'pair' | 'bare' | 'spent' | 'none'

/** A request as the example shows it, and the parts that the example does not show. */
export interface ExampleRequest extends Pick<RecordedAnswer, 'operation' | 'summary'> {
  path?: Record<string, number>
  query?: Record<string, string>
  body?: unknown
  /** Default: `all`. */
  token?: TokenName
  /** The parts of the request that the example does not show. */
  options?: Pick<InjectOptions, 'method' | 'headers' | 'payload'>
}

const tenant = 1
const otherTenant = 2

/** A voucher that does not expire, so that its resolution stays the same. */
const redeemable = { reference: 'gift-uc49-c34m', qrToken: 'h7fy7dyzhuddbdhpu56p6pqh' }

const updatedSince = (updated_since: string) => ({ updated_since })

/** The requests, in the order of the document. `<after …>` stands for the cursor of a position of the list. */
export const exampleRequests: readonly ExampleRequest[] = [
  { operation: 'listTenants', summary: 'The tenants of a token', token: 'pair' },
  { operation: 'listTenants', summary: 'The last page', query: { cursor: '<after 2025-12-01T00:00:00.000000Z>' } },
  { operation: 'listTenants', summary: 'Nothing has changed', query: updatedSince('2026-01-31T09:30:00.000000Z') },
  {
    operation: 'listCatalogVouchers',
    summary: 'What has changed, with categories and variants',
    path: { tenant },
    query: { ...updatedSince('2025-11-28T00:00:00.000000Z'), include: 'categories,variants' },
  },
  { operation: 'getCatalogVoucher', summary: 'A product without variants', path: { tenant, product: 50 } },
  {
    operation: 'listPurchasedVouchers',
    summary: 'What has changed',
    path: { tenant },
    query: updatedSince('2026-01-28T20:00:00.000000Z'),
  },
  { operation: 'getPurchasedVoucher', summary: 'A voucher of money', path: { tenant, voucher: 1 } },
  { operation: 'getPurchasedVoucher', summary: 'A void voucher', path: { tenant, voucher: 529 } },
  {
    operation: 'listMarketingSignups',
    summary: 'What has changed',
    path: { tenant },
    query: updatedSince('2026-01-29T08:00:00.000000Z'),
  },
  { operation: 'getMarketingSignup', summary: 'A customer', path: { tenant, customer: 87 } },
  {
    operation: 'resolveVoucher',
    summary: 'By reference: redeemable',
    path: { tenant },
    body: { voucher_reference: redeemable.reference },
  },
  {
    operation: 'resolveVoucher',
    summary: 'By QR code, at another tenant: redeemable',
    path: { tenant: otherTenant },
    body: { qr_token: `https://vouchers.example/r/${redeemable.qrToken}` },
  },
  {
    operation: 'resolveVoucher',
    summary: 'By reference: void',
    path: { tenant },
    body: { voucher_reference: 'GIFT-4H9D-5FVZ' },
  },
  { operation: 'exportTenants', summary: 'All tenants of a token', token: 'pair' },
  { operation: 'exportCatalogVouchers', summary: 'All products of a tenant', path: { tenant: 8 } },
  {
    operation: 'exportPurchasedVouchers',
    summary: 'The rest of an export that broke off',
    path: { tenant },
    query: { cursor: '<after 2026-01-28T20:00:00.000000Z>' },
  },
  {
    operation: 'exportMarketingSignups',
    summary: 'The rest of an export that broke off',
    path: { tenant },
    query: { cursor: '<after 2026-01-29T08:00:00.000000Z>' },
  },
  { operation: 'listTenants', summary: 'No token, or no valid one', token: 'none' },
  { operation: 'listCatalogVouchers', summary: 'No permission', path: { tenant }, token: 'bare' },
  { operation: 'listCatalogVouchers', summary: 'A tenant of others', path: { tenant: 9 } },
  { operation: 'listCatalogVouchers', summary: 'No such tenant', path: { tenant: 999_999 } },
  { operation: 'getPurchasedVoucher', summary: 'No such record', path: { tenant, voucher: 999_999 } },
  { operation: 'listTenants', summary: 'Another method', options: { method: 'DELETE' } },
  {
    operation: 'resolveVoucher',
    summary: 'A body that is too large',
    path: { tenant },
    options: { headers: { 'content-type': 'application/json' }, payload: ' '.repeat(65 * 1024) },
  },
  {
    operation: 'listCatalogVouchers',
    summary: 'Parameters that are not valid',
    path: { tenant },
    query: { updated_since: '2026-02-30', cursor: 'x', include: 'prices' },
  },
  { operation: 'listTenants', summary: 'A header that is missing', options: { headers: { accept: '*/*' } } },
  {
    operation: 'resolveVoucher',
    summary: 'Two vouchers',
    path: { tenant },
    body: { qr_token: redeemable.qrToken, voucher_reference: redeemable.reference },
  },
  { operation: 'resolveVoucher', summary: 'No JSON object', path: { tenant }, body: 'GIFT-4H9D-5FVZ' },
  { operation: 'listTenants', summary: 'The rate limit is exceeded', token: 'spent' },
]

/** Returns the options to inject a request with, without its token. */
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
