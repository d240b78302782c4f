/** Lists as async iterables of records or of pages. */

import { array, type Check, cursor, instant, nullable, object, parse } from './check.ts'
import type { CallOptions, GatewayRequest, Transport } from './transport.ts'

/** Options of a call for a list. */
export interface ListOptions extends CallOptions {
  /** Returns only records that were updated at or after this time. Pass a received `serverTime` with all its digits. */
  updatedSince?: string | Date | undefined
  /** The `nextCursor` of a page: the list continues after this page. */
  cursor?: string | undefined
}

/** A page of a list, or a chunk of an export. */
export interface Page<T> {
  records: readonly T[]
  /** The cursor that continues after this page, even in another process; null at the end of the list. */
  nextCursor: string | null
  /** The records include all changes that were published up to this time. */
  serverTime: string
}

/**
 * A list that sends its requests only during an iteration. Each iteration reads the whole list again.
 *
 * @example for await (const { reference } of client.purchasedVouchers(tenantId)) console.log(reference)
 */
export class RecordList<T, P extends Page<T> = Page<T>> implements AsyncIterable<T> {
  readonly #read: () => AsyncIterable<P>
  #serverTime: string | undefined

  /** @param read reads the pages, beginning with the first page */
  constructor(read: () => AsyncIterable<P>) {
    this.#read = read
  }

  /**
   * The `serverTime` of the first page of the latest iteration; undefined before the first page. When the iteration has
   * ended, store the time, and pass it as `updatedSince` in the next call. When an iteration continues from a cursor,
   * keep the time of the iteration that read the first page of the list.
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

/** Returns a time as ISO 8601 text; leaves a text unchanged. */
export const toInstant = (time: string | Date | undefined): string | undefined =>
  time instanceof Date ? time.toISOString() : time

/** Creates a list that reads its pages from v1. @param check checks one record */
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
