/** Lists as async iterables: of records, or of the pages that they come in. */

import { array, type Check, cursor, instant, nullable, object, parse } from './check.ts'
import type { CallOptions, GatewayRequest, Transport } from './transport.ts'

/** Options of a call for a list. */
export interface ListOptions extends CallOptions {
  /** Only records that were updated at or after this time. Pass a `serverTime` as you received it, with all digits. */
  updatedSince?: string | Date | undefined
  /** Continues after a page, with its `nextCursor`. */
  cursor?: string | undefined
}

/** A page of a list, or a chunk of an export. */
export interface Page<T> {
  records: readonly T[]
  /** Continues after this page, even in another process; null at the end of the list. */
  nextCursor: string | null
  /** The list has all changes that were published up to this time. */
  serverTime: string
}

/**
 * A list that is read while it is iterated, and not before. Each iteration reads it again.
 *
 * @example for await (const { reference } of client.purchasedVouchers(tenantId)) console.log(reference)
 */
export class RecordList<T, P extends Page<T> = Page<T>> implements AsyncIterable<T> {
  readonly #read: () => AsyncIterable<P>
  #serverTime: string | undefined

  /** @param read reads the pages, from the first page on */
  constructor(read: () => AsyncIterable<P>) {
    this.#read = read
  }

  /**
   * The time of the first page of the latest iteration. Pass it as `updatedSince` in the next iteration. Keep it when
   * the iteration has ended. When an iteration continues from a cursor, keep the time of the iteration that began the
   * list. It is undefined before the first page.
   *
   * @example
   * const vouchers = client.purchasedVouchers(tenantId, { updatedSince: lastTime })
   * for await (const voucher of vouchers) await store(voucher)
   * lastTime = vouchers.serverTime
   */
  get serverTime(): string | undefined {
    return this.#serverTime
  }

  /**
   * Reads the list page by page. To continue after a stop, store the records and `nextCursor` of a page together.
   *
   * @example
   * const pages = client.purchasedVouchers(tenantId, { cursor }).pages()
   * for await (const { records, nextCursor } of pages) await store(records, nextCursor)
   */
  async *pages(): AsyncGenerator<P, void, undefined> {
    this.#serverTime = undefined
    for await (const page of this.#read()) {
      this.#serverTime ??= page.serverTime
      yield page
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.records
  }
}

/** Returns a time as the service reads it. */
export const toInstant = (time: string | Date | undefined): string | undefined =>
  time instanceof Date ? time.toISOString() : time

/** Creates a list of v1. @param check the check of a record */
export function createList<T>(
  transport: Transport,
  path: string,
  check: Check<T>,
  { updatedSince, cursor: from, signal }: ListOptions,
  query: GatewayRequest['query'] = {},
): RecordList<T> {
  const page = object({ data: array(check), next_cursor: nullable(cursor), server_time: instant })
  return new RecordList<T>(async function* () {
    for (let next: string | null | undefined = from; next !== null; ) {
      const parameters = { ...query, updated_since: toInstant(updatedSince), cursor: next }
      const { body, requestId } = await transport.send({ path, query: parameters, repeatable: true, signal })
      const { data: records, next_cursor: nextCursor, server_time: serverTime } = parse(page, body, requestId)
      next = nextCursor
      yield { records, nextCursor, serverTime }
    }
  })
}
