/** The client of Voucher Gateway. */
import { createExport, type ExportOptions } from './bulk-export.ts'
import { type Check, object, parse } from './check.ts'
import { type CountedList, countRecords } from './count.ts'
import { createList, type ListOptions, type RecordList } from './list.ts'
import type { CatalogVoucher, MarketingSignup, PurchasedVoucher, Resolution, Tenant } from './records.ts'
import * as records from './records.ts'
import { createRemovals, type Removal, type RemovalOptions, type RemovalPage } from './removals.ts'
import { type CallOptions, type ClientOptions, type GatewayRequest, Transport } from './transport.ts'

export type { ExportOptions } from './bulk-export.ts'
export type { CountedList } from './count.ts'
export { type ErrorCode, VoucherGatewayError } from './error.ts'
export type { ListOptions, Page, RecordList } from './list.ts'
export type { CatalogVoucher, MarketingSignup, PurchasedVoucher, Resolution, Tenant } from './records.ts'
export type { Removal, RemovalOptions, RemovalPage, RemovalResource } from './removals.ts'
export type { components, operations, paths } from './schema.ts'
export type { CallOptions, ClientOptions } from './transport.ts'

/** Options of a call for a list of products. */
export interface CatalogOptions extends ListOptions {
  /** Adds `categories` and `variants` to each record. */
  include?: readonly ('categories' | 'variants')[] | undefined
}

/** The identifier of a voucher: its reference, or the QR token or URL that was read from it. */
export type VoucherIdentifier =
  | { voucherReference: string; qrToken?: undefined }
  | { qrToken: string; voucherReference?: undefined }

const v1 = '/api/external/v1'
const bulk = '/api/external/export/v1'

/**
 * A client of one service with one token.
 *
 * Every call waits when the rate limit is exceeded, and tries again when the service is unavailable. Reads are also tried
 * again when the connection breaks. After `maxAttempts` they throw a `VoucherGatewayError`.
 */
export class VoucherGateway {
  readonly #transport: Transport

  /** @throws TypeError when the address is no URL, or the token is empty */
  constructor(options: ClientOptions) {
    this.#transport = new Transport(options)
  }

  /** Lists the tenants of the token. */
  tenants(options: ListOptions = {}): RecordList<Tenant> {
    return createList(this.#transport, `${v1}/tenants`, records.tenant, options)
  }

  /** Lists the products of a tenant. */
  catalogVouchers(tenantId: number, options: CatalogOptions = {}): RecordList<CatalogVoucher> {
    const path = `${v1}/tenants/${id(tenantId)}/catalog/vouchers`
    return createList(this.#transport, path, records.catalogVoucher, options, {
      include: options.include?.join() || undefined,
    })
  }

  /** Reads a product. @throws VoucherGatewayError `NOT_FOUND` */
  catalogVoucher(tenantId: number, productId: number, options: CallOptions = {}): Promise<CatalogVoucher> {
    return this.#get(`tenants/${id(tenantId)}/catalog/vouchers/${id(productId)}`, records.catalogVoucher, options)
  }

  /** Lists the purchased vouchers of a tenant. */
  purchasedVouchers(tenantId: number, options: ListOptions = {}): RecordList<PurchasedVoucher> {
    const path = `${v1}/tenants/${id(tenantId)}/sales/purchased-vouchers`
    return createList(this.#transport, path, records.purchasedVoucher, options)
  }

  /** Reads a purchased voucher. @throws VoucherGatewayError `NOT_FOUND` */
  purchasedVoucher(tenantId: number, voucherId: number, options: CallOptions = {}): Promise<PurchasedVoucher> {
    return this.#get(
      `tenants/${id(tenantId)}/sales/purchased-vouchers/${id(voucherId)}`,
      records.purchasedVoucher,
      options,
    )
  }

  /** Lists the customers of a tenant who opted in to marketing. */
  marketingSignups(tenantId: number, options: ListOptions = {}): RecordList<MarketingSignup> {
    const path = `${v1}/tenants/${id(tenantId)}/customers/marketing-signups`
    return createList(this.#transport, path, records.marketingSignup, options)
  }

  /** Reads a customer who opted in to marketing. @throws VoucherGatewayError `NOT_FOUND` */
  marketingSignup(tenantId: number, customerId: number, options: CallOptions = {}): Promise<MarketingSignup> {
    return this.#get(
      `tenants/${id(tenantId)}/customers/marketing-signups/${id(customerId)}`,
      records.marketingSignup,
      options,
    )
  }

  /**
   * Says whether a voucher may be redeemed at a tenant, and what it is worth. It redeems nothing.
   *
   * Each resolution issues a redemption token, so the request is sent again only after 429 and 503. After 503 a token may
   * have been issued, when the service's time was up just then: it expires unused. When the connection breaks, a token may
   * have been issued: the call throws, and the caller decides.
   */
  async resolve(
    tenantId: number,
    { qrToken, voucherReference }: VoucherIdentifier,
    options: CallOptions = {},
  ): Promise<Resolution> {
    // JSON leaves out what is undefined.
    const body = { qr_token: qrToken, voucher_reference: voucherReference }
    const path = `${v1}/tenants/${id(tenantId)}/redemptions/resolve`
    return this.#data({ path, body, repeatable: false, signal: options.signal }, records.resolution)
  }

  /** Lists the records that left a tenant's lists, so that a copy can follow. Read it before the lists. */
  removals(tenantId: number, options: RemovalOptions = {}): RecordList<Removal, RemovalPage> {
    return createRemovals(this.#transport, tenantId, options)
  }

  /** Reads the epoch: it grows when all copies must be rebuilt. Keep the one from before a full pass with the copy. */
  async epoch(tenantId: number, options: CallOptions = {}): Promise<number> {
    for await (const { epoch } of createRemovals(this.#transport, tenantId, options, 0).pages()) return epoch
    throw new Error('The list of removals has no page.')
  }

  /** Counts the records of a tenant's list, for the progress of a long reading. Counts as one operation. */
  count(tenantId: number, list: CountedList, options: CallOptions = {}): Promise<number> {
    return countRecords(this.#transport, tenantId, list, options)
  }

  /** Exports all tenants of the token. */
  exportTenants(options: ExportOptions = {}): RecordList<Tenant> {
    return createExport(this.#transport, `${bulk}/tenants`, records.tenant, options)
  }

  /** Exports all products of a tenant. */
  exportCatalogVouchers(tenantId: number, options: ExportOptions = {}): RecordList<CatalogVoucher> {
    const path = `${bulk}/tenants/${id(tenantId)}/catalog-vouchers`
    return createExport(this.#transport, path, records.catalogVoucher, options)
  }

  /** Exports all purchased vouchers of a tenant. */
  exportPurchasedVouchers(tenantId: number, options: ExportOptions = {}): RecordList<PurchasedVoucher> {
    const path = `${bulk}/tenants/${id(tenantId)}/purchased-vouchers`
    return createExport(this.#transport, path, records.purchasedVoucher, options)
  }

  /** Exports all customers of a tenant who opted in to marketing. */
  exportMarketingSignups(tenantId: number, options: ExportOptions = {}): RecordList<MarketingSignup> {
    const path = `${bulk}/tenants/${id(tenantId)}/marketing-signups`
    return createExport(this.#transport, path, records.marketingSignup, options)
  }

  #get<T>(path: string, check: Check<T>, { signal }: CallOptions): Promise<T> {
    return this.#data({ path: `${v1}/${path}`, repeatable: true, signal }, check)
  }

  /** Sends a request for one record. */
  async #data<T>(request: GatewayRequest, check: Check<T>): Promise<T> {
    const { body, requestId } = await this.#transport.send(request)
    return parse(object<{ data: T }>({ data: check }), body, requestId).data
  }
}

/** Returns an id as a part of a path. @throws TypeError when code without types passes another value, such as `..` */
function id(value: number): string {
  if (Number.isSafeInteger(value) && value > 0) return String(value)
  throw new TypeError('An id is no positive whole number.')
}
