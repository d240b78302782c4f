/** Streams the changed lists of a token to a client. */
import type { Sql } from '../../db/sql.ts'
import type { GatewayError } from '../errors.ts'
import { type Changes, type ListChange, maxHeads, readChanges } from '../record/list-changes.ts'
import { requireCompleteRemovals } from '../sync/full-pass.ts'
import type { Caller } from '../token/caller.ts'
import type { TenantScope } from '../token/scope.ts'
import type { Token } from '../token/token.ts'
import type { Instant } from '../value/instant.ts'
import type { Head, HeadBatch, HeadFeed } from './head-feed.ts'

/**
 * The time after which a stream sends its position even without a change, in milliseconds. Otherwise proxies would
 * close the silent connection; the proxies of deploy/ do so after 15 s.
 */
export const heartbeat = 10_000

/**
 * The maximum age of the last check of the token, in milliseconds. After this time the stream names no lists, because
 * the token may be revoked.
 */
const checkLifetime = 1_000

/** The parts of a request's context that a stream uses. */
export interface StreamContext {
  /** Sends statements to the primary, because a standby may be behind the feed. */
  sql: Sql
  scope: TenantScope
  caller: Caller
}

export interface StreamRequest {
  /** The stream has only changes after this instant; null for changes after the start of the stream. */
  after: Instant | null
  /** The tenants whose lists the stream has; null for all tenants of the token. */
  tenantIds: readonly number[] | null
  /** Returns the requested types of records that a token may read. */
  recordsOf: (token: Token) => readonly string[]
}

/** The rights of a token; all streams of the token share one object. */
export interface StreamAccess {
  token: Token
  includes: (head: Head) => boolean
  /** The time of the last lookup that found the token active, in milliseconds. */
  checkedAt: number
}

const endedResult = { value: undefined, done: true } as const

/**
 * A stream of changes: first the lists that changed since a position, then each list that the feed reads. While the
 * client does not fetch, several changes of a list become one, so the number of the token's lists limits the memory.
 */
export class ChangeStream implements AsyncIterableIterator<Changes> {
  /** The last change of each list that changed after the position, by tenant and type of records. */
  readonly #changed = new Map<string, ListChange>()
  /** The instant up to which the client has all changes; null until the stream has begun. */
  #position: Instant | null
  /** The last read of the feed, without its heads. Null until the first read; then there is also a position. */
  #batch: Omit<HeadBatch, 'heads'> | null = null
  #sent = { at: Number.NEGATIVE_INFINITY, epoch: -1 }
  #records: ReadonlySet<string> = new Set()
  /** True when `#changed` may be incomplete, so that the stream has to read the changes after the position in pages. */
  #isBehind: boolean
  #firstPage: Changes | null = null
  #stopListening: (() => void) | null = null
  #error: GatewayError | null = null
  #isEnded = false
  #wake: (() => void) | null = null

  constructor(
    readonly context: StreamContext,
    private readonly request: StreamRequest,
    private readonly access: StreamAccess,
    private readonly onEnd: () => void,
  ) {
    this.#position = request.after
    this.#isBehind = request.after !== null
    this.#useToken()
  }

  /**
   * Starts the stream. Listens to the feed before it reads the first page, so that it misses no change between the two.
   */
  async start(feed: HeadFeed): Promise<void> {
    const stopListening = await feed.listen(batch => this.#add(batch))
    if (this.#isEnded) return stopListening()
    this.#stopListening = stopListening
    const { after } = this.request
    if (after === null) return
    this.#firstPage = await this.#readPage()
    requireCompleteRemovals(after, this.#firstPage, 'after')
  }

  /**
   * Resolves to the next changes. Each read of the feed gives at most one result.
   *
   * @throws the error that ends the stream
   */
  async next(): Promise<IteratorResult<Changes, undefined>> {
    while (!this.#isEnded) {
      if (this.#error) {
        await this.return()
        throw this.#error
      }
      if (this.#isBehind && this.#isTokenChecked) {
        this.#isBehind = false
        const page = this.#firstPage ?? (await this.#readPage())
        this.#firstPage = null
        // When the rights of the token have changed during the read, the page is discarded, because the new rights may
        // not include its lists.
        if (!this.#isBehind && !this.#error) return { value: this.#takePage(page), done: false }
      } else if (this.#isDue()) {
        return { value: this.#take(), done: false }
      } else {
        await new Promise<void>(resolve => {
          this.#wake = resolve
        })
      }
    }
    return endedResult
  }

  async return(): Promise<typeof endedResult> {
    if (!this.#isEnded) {
      this.#isEnded = true
      this.#stopListening?.()
      this.onEnd()
      this.#wake?.()
    }
    return endedResult
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Makes the next call of `next` fail. */
  fail(error: GatewayError): void {
    this.#error = error
    this.#wake?.()
  }

  /**
   * Continues with the new rights of the token. Reads all changes since the position again, because the token may have
   * new lists that changed since then.
   */
  readAgain(): void {
    this.#useToken()
    this.#changed.clear()
    this.#firstPage = null
    this.#isBehind = this.#position !== null
    this.#wake?.()
  }

  wakeWhenDue(): void {
    if (this.#isDue() || (this.#isBehind && this.#isTokenChecked)) this.#wake?.()
  }

  get #isTokenChecked(): boolean {
    return performance.now() - this.access.checkedAt < checkLifetime
  }

  #isDue(): boolean {
    if (!this.#batch) return false
    if (performance.now() - this.#sent.at >= heartbeat) return true
    const isChanged = this.#changed.size > 0 || this.#batch.epoch !== this.#sent.epoch
    return isChanged && !this.#isBehind && this.#isTokenChecked
  }

  #useToken(): void {
    const { token } = this.access
    // The resolvers read the token from the caller of the context.
    this.context.caller.token = token
    this.#records = new Set(this.request.recordsOf(token))
  }

  #add({ heads, ...batch }: HeadBatch): void {
    this.#batch = batch
    const { tenantIds } = this.request
    for (const head of this.#position === null ? [] : heads) {
      const { tenantId, record, changedAt: since } = head
      if (!this.#records.has(record) || (tenantIds && !tenantIds.includes(tenantId))) continue
      if (!this.access.includes(head) || (this.#position !== null && since <= this.#position)) continue
      const key = `${tenantId} ${record}`
      // `delete` keeps the map in the order of the changes, because `set` alone would not move an existing key to the
      // end.
      this.#changed.delete(key)
      this.#changed.set(key, { tenantId, record, since })
    }
    if (this.#changed.size > maxHeads) {
      // Above this number of changes, the stream discards the changes and later reads them in pages, so that a slow
      // client does not fill the memory.
      this.#changed.clear()
      this.#isBehind = true
    }
    this.#position ??= batch.serverTime
    if (this.#isDue()) this.#wake?.()
  }

  async #readPage(): Promise<Changes> {
    const { sql, scope } = this.context
    const { token } = this.access
    const tenantIds: number[] = []
    for (const id of this.request.tenantIds ?? []) if (await scope.includes(token, id)) tenantIds.push(id)
    return readChanges(sql, token, {
      after: this.#position,
      tenantIds: this.request.tenantIds && tenantIds,
      records: [...this.#records],
    })
  }

  #takePage(page: Changes): Changes {
    this.#position = page.serverTime
    this.#isBehind = page.hasMore
    for (const [key, { since }] of this.#changed) if (since <= page.serverTime) this.#changed.delete(key)
    this.#sent = { at: performance.now(), epoch: page.epoch }
    return page
  }

  #take(): Changes {
    const { serverTime, epoch, removalsCompleteSince } = this.#batch!
    const position = this.#position!
    const isComplete = !this.#isBehind && this.#isTokenChecked
    const lists = isComplete ? [...this.#changed.values()] : []
    if (isComplete) {
      this.#changed.clear()
      // The position may be later than the last read of the feed, because a page can be newer than that read.
      this.#position = serverTime > position ? serverTime : position
    }
    this.#sent = { at: performance.now(), epoch }
    return { lists, serverTime: this.#position!, hasMore: false, epoch, removalsCompleteSince }
  }
}
