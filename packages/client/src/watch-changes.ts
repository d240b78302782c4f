/**
 * Yields the lists that change, from an event stream. After the stream breaks, a new stream continues at the same
 * position.
 */
import { throwFirstError } from './answer-error.ts'
import { type ChangeOptions, type ListChange, type ListChanges, parseChanges, toGraphqlName } from './changes.ts'
import { WatchChanges } from './documents.ts'
import { VoucherGatewayError } from './error.ts'
import { readEvents } from './event-stream.ts'
import { isUnknownDocument } from './graphql.ts'
import { toInstant } from './list.ts'
import type { Transport } from './transport.ts'

export interface WatchOptions extends ChangeOptions {
  /** Returns only these lists. Default: all lists that the token may read. */
  lists?: readonly ListChange['list'][] | undefined
}

/** Yields changes until the signal is aborted. After every break, a new stream continues from the last position. */
export async function* watchChanges(
  transport: Transport,
  { after: given, tenants, lists, signal }: WatchOptions,
): AsyncGenerator<ListChanges, void, undefined> {
  let document: { documentId: string } | { query: string } = { documentId: WatchChanges.id }
  let after = toInstant(given)
  for (let failures = 1; !signal?.aborted; failures++) {
    const variables = { after, tenants, lists: lists?.map(toGraphqlName) }
    const request = { path: '/graphql', body: { ...document, variables }, repeatable: true, isEndless: true, signal }
    // The service sends parts until `hasMore` is false. Only the last part's `serverTime` is a position, because a list
    // appears once, with its last change.
    const changed = new Map<string, ListChange>()
    try {
      for await (const answer of readEvents(transport, request)) {
        throwFirstError(answer)
        const { hasMore, lists: found, ...changes } = parseChanges(answer)
        for (const change of found) changed.set(`${change.tenantId} ${change.list}`, change)
        failures = 0
        if (hasMore) continue
        after = changes.serverTime
        yield { ...changes, lists: [...changed.values()], rate: null }
        changed.clear()
      }
      throw new VoucherGatewayError('The stream ended.', { code: 'CONNECTION_FAILED' })
    } catch (error) {
      if (signal?.aborted) return
      if ('documentId' in document && isUnknownDocument(error)) document = { query: WatchChanges.text }
      else await transport.waitAfter(error, Math.max(1, failures), request).catch(returnWhenAborted)
    }
  }

  /** @throws the error, unless the signal has ended the wait */
  function returnWhenAborted(error: unknown): void {
    if (!signal?.aborted) throw error
  }
}
