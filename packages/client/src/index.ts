/** The client of Voucher Gateway. */
import { type ChangeOptions, type ListChanges, readChanges } from './changes.ts'
import { count as countCheck, object, parse } from './check.ts'
import { runQuery } from './graphql.ts'
import type { RecordList } from './list.ts'
import { RecordReader, resolution, type TenantListName, tenantLists } from './reads.ts'
import { pathId, readRecord } from './record.ts'
import type { Resolution } from './records.ts'
import { createRemovalList, type Removal, type RemovalOptions, type RemovalPage } from './removals.ts'
import type { CallOptions } from './transport.ts'
import { type WatchOptions, watchChanges } from './watch-changes.ts'
import { readWebhooks, type Webhook } from './webhooks.ts'

export type { ExportOptions } from './bulk-export.ts'
export type { ChangeOptions, ListChange, ListChanges } from './changes.ts'
export { type ErrorCode, VoucherGatewayError } from './error.ts'
export type { ListOptions, Page, RecordList } from './list.ts'
export { type TenantListName, tenantListNames, tenantLists } from './reads.ts'
export type * from './records.ts'
export type { Removal, RemovalOptions, RemovalPage, RemovalResource } from './removals.ts'
export type { CallOptions, ClientOptions } from './transport.ts'
export type { WatchOptions } from './watch-changes.ts'
export { type ListChangedEvent, verifyWebhook, type WebhookEvent, type WebhookHeaders } from './webhook.ts'
export type { Webhook } from './webhooks.ts'

const counted = object({ data: object({ tenant: object({ list: object({ totalCount: countCheck }) }) }) })

/** Identifies a voucher by its reference, or by the token or URL in its QR code. */
export type VoucherIdentifier =
  | { voucherReference: string; qrToken?: undefined }
  | { qrToken: string; voucherReference?: undefined }

/**
 * A client that calls one service with one token.
 *
 * Every call waits when the rate limit is exceeded, and tries again when the service is unavailable. Reads are also
 * repeated when the connection breaks. After `maxAttempts` attempts a call throws a `VoucherGatewayError`.
 *
 * @example
 * import { VoucherGateway } from '@voucher-gateway/client'
 *
 * const client = new VoucherGateway({ url: 'https://vouchers.example.com', token })
 * for await (const tenant of client.tenants()) console.log(tenant.name)
 */
export class VoucherGateway extends RecordReader {
  /**
   * Resolves a voucher at a tenant: returns the balance, and whether the voucher may be redeemed at this tenant. It
   * redeems nothing.
   *
   * Each resolution issues a redemption token, so the request is sent again only after 429 and 503. When the 503 came
   * from a timeout, a token may have been issued, which expires unused. When the connection breaks, a token may have
   * been issued: the call throws, and the caller can decide to repeat it.
   *
   * @example
   * const { status, redemption_token } = await client.resolve(tenantId, { voucherReference: 'GIFT-1234' })
   */
  async resolve(
    tenantId: number,
    { qrToken, voucherReference }: VoucherIdentifier,
    options: CallOptions = {},
  ): Promise<Resolution> {
    // JSON leaves out undefined values.
    const body = { qr_token: qrToken, voucher_reference: voucherReference }
    const path = `/api/external/v1/tenants/${pathId(tenantId)}/redemptions/resolve`
    return readRecord(this.transport, { path, body, repeatable: false, signal: options.signal }, resolution)
  }

  /**
   * Returns which lists of the token's tenants have changed. The call counts as one operation of the rate limit. A
   * client that keeps a copy then reads only these lists and their removals. When `after` is too early, the call throws
   * an error with `needsFullPass`.
   *
   * @example
   * const { lists, serverTime, epoch } = await client.changes({ after: lastTime })
   * if (epoch !== copy.epoch) await copy.readEverything()
   * for (const { tenantId, list } of lists) await copy.readAgain(tenantId, list)
   * lastTime = serverTime
   */
  changes(options: ChangeOptions = {}): Promise<ListChanges> {
    return readChanges(this.transport, options)
  }

  /**
   * Reads the webhooks of the token, with their states. Counts as one operation.
   *
   * @example
   * const [webhook] = await client.webhooks()
   * if (webhook?.state !== 'ACTIVE') console.warn(`No events arrive at ${webhook?.url}.`)
   */
  webhooks(options: CallOptions = {}): Promise<Webhook[]> {
    return readWebhooks(this.transport, options)
  }

  /**
   * Yields the lists that change, from an event stream of the service. The first result has the changes since `after`;
   * later changes arrive within a second. While nothing changes, a result without lists and with a new `serverTime`
   * arrives at least every 10 seconds. Without `after`, only changes from now on are yielded. After every break, a new
   * stream continues from the last position; the signal ends the iteration. The call throws errors that a new attempt
   * cannot solve: for a revoked token, and for a time that is too early (`needsFullPass`).
   *
   * @example
   * for await (const { lists, serverTime } of client.watchChanges({ after: lastTime, signal })) {
   *   for (const { tenantId, list } of lists) await copy.readAgain(tenantId, list)
   *   lastTime = serverTime
   * }
   */
  watchChanges(options: WatchOptions = {}): AsyncGenerator<ListChanges, void, undefined> {
    return watchChanges(this.transport, options)
  }

  /**
   * Returns the records that left a tenant's lists, so that a copy can delete them. Read the removals before the lists.
   *
   * @example
   * const removals = client.removals(tenantId, { updatedSince: lastTime })
   * for await (const { resource, recordId } of removals) await copy.delete(resource, tenantId, recordId)
   * lastTime = removals.serverTime
   */
  removals(tenantId: number, options: RemovalOptions = {}): RecordList<Removal, RemovalPage> {
    return createRemovalList(this.transport, tenantId, options)
  }

  /**
   * Reads the id and the epoch of the service. The epoch grows when every copy must be read again from the beginning:
   * read the epoch before a full pass, and store it with the copy. The id is the same at every address of the service.
   *
   * @example const { epoch, serviceId } = await client.identity(tenantId)
   */
  async identity(tenantId: number, options: CallOptions = {}): Promise<Pick<RemovalPage, 'epoch' | 'serviceId'>> {
    for await (const { epoch, serviceId } of createRemovalList(this.transport, tenantId, options, 0).pages())
      return { epoch, serviceId }
    throw new Error('The list of removals has no page.')
  }

  /**
   * Counts the records of a tenant's list, for example to show the progress of a long export. Counts as one operation.
   *
   * @example const total = await client.count(tenantId, 'purchased-vouchers')
   */
  async count(tenantId: number, list: TenantListName, options: CallOptions = {}): Promise<number> {
    // v1 does not count.
    const { body, requestId } = await runQuery(this.transport, tenantLists[list].count, { tenant: tenantId }, options)
    return parse(counted, body, requestId).data.tenant.list.totalCount
  }
}
