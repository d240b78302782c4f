/** Lists as async iterables: of records, or of the pages that they come in. */

import type { Answer } from './answer-error.ts'
import { VoucherGatewayError } from './error.ts'
import { isObject } from './json.ts'
import type { CallOptions, GatewayRequest, Transport } from './transport.ts'

/** What a call for a list takes. */
export interface ListOptions extends CallOptions {
  /** Only records that were updated at or after this time. Pass a `serverTime` as you received it, with all digits. */
  updatedSince?: string | Date | undefined
  /** Continues after a page, with its `nextCursor`. */
  cursor?: string | undefined
}

/** A page of a list, or a chunk of an export. */
export interface Page<T> {
  records: readonly T[]
  /** Continues after this page, also in another process; null at the end of the list. */
  nextCursor: string | null
  /** The list reflects all changes before this time. */
  serverTime: string
}

/**
 * A list that is read while it is iterated, and not before. Each iteration reads it again.
 *
 * @example for await (const voucher of client.purchasedVouchers(tenantId)) …
 */
export class RecordList<T, P extends Page<T> = Page<T>> implements AsyncIterable<T> {
  readonly #read: () => AsyncIterable<P>
  #serverTime: string | undefined

  /** @param read reads the pages, from the first one */
  constructor(read: () => AsyncIterable<P>) {
    this.#read = read
  }

  /**
   * The time of the first page of the latest iteration, for the `updatedSince` of the next one. Keep it when the
   * iteration has ended. When an iteration continues from a cursor, keep the time of the iteration that began the list.
   * It is undefined before the first page.
   */
  get serverTime(): string | undefined {
    return this.#serverTime
  }

  /** Reads the list page by page. To continue after a stop, store the records and `nextCursor` of a page together. */
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

/** Creates a list of v1. */
export function createList<T>(
  transport: Transport,
  path: string,
  { updatedSince, cursor, signal }: ListOptions,
  query: GatewayRequest['query'] = {},
): RecordList<T> {
  return new RecordList<T>(async function* () {
    for (let next: string | null | undefined = cursor; next !== null; ) {
      const parameters = { ...query, updated_since: toInstant(updatedSince), cursor: next }
      const page: Page<T> = toPage(await transport.send({ path, query: parameters, repeatable: true, signal }))
      next = page.nextCursor
      yield page
    }
  })
}

/** Checks the envelope of a page. The type of its records is the service's promise. */
function toPage<T>({ body, requestId }: Answer): Page<T> {
  if (isObject(body)) {
    const { data, next_cursor: nextCursor, server_time: serverTime } = body
    if (Array.isArray(data) && isCursor(nextCursor) && typeof serverTime === 'string') {
      return { records: data, nextCursor, serverTime }
    }
  }
  throw invalidResponse(requestId)
}

/** Whether a value is a cursor, or null. A missing cursor must not look like the end of a list. */
export const isCursor = (value: unknown): value is string | null => typeof value === 'string' || value === null

/** The answer has another shape than the service gives it. */
export const invalidResponse = (requestId: string) =>
  new VoucherGatewayError('The answer is not one of Voucher Gateway. Check the address.', {
    code: 'INVALID_RESPONSE',
    requestId,
  })
