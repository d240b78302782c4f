/** The queue of one endpoint. A changed list has one entry, whatever the number of its changes. */
import type { Sql } from '../db/sql.ts'
import type { ActiveEndpoint, ListKey, Position, Progress, Try, Window } from '../domain/event/delivery.ts'
import { type Head, type HeadBatch, headFilter } from '../domain/event/head-feed.ts'
import { hashAccess, readChanges } from '../domain/record/list-changes.ts'
import type { Token } from '../domain/token/token.ts'
import type { Instant } from '../domain/value/instant.ts'
import { permittedRecords } from './event.ts'

/** The minimum interval between two events of a list, in milliseconds. */
const minInterval = 1_000

/**
 * The maximum number of concurrent tries of an endpoint: usually, and while the endpoint fails. While it fails, at most
 * one of the tries is for a list that has failed. So a try that hangs delays no other list, and leaves room for other
 * endpoints.
 */
const maxTries = { usual: 4, failing: 2 }

/** The waits of a list after failures, in milliseconds. Each wait is three times as long as the previous wait. */
const listWaits = { first: 5_000, factor: 3, longest: 3_600_000 }

/**
 * The waits between the tries of an endpoint after three failures in sequence, in milliseconds. They grow, so that a
 * dead endpoint costs little.
 */
const endpointWaits = { first: 1_000, factor: 2, longest: 300_000 }
const failuresBeforePause = 3

/**
 * Returns a wait of which half is random, so that retries do not come all at once.
 *
 * @param failures the number of failures in sequence, at least 1
 */
const waitAfter = ({ first, factor, longest }: typeof listWaits, failures: number) =>
  Math.min(first * factor ** (failures - 1), longest) * (0.5 + Math.random() / 2)

interface WaitingList extends ListKey {
  /** The stamp of the last change of the list. */
  changedAt: Instant
  /** The instant before which all changes were delivered. */
  waitsSince: Instant
  /** True when the endpoint must read the whole list. */
  isWhole: boolean
  /** The window of all tries until a try succeeds; null before the first try. */
  window: Window | null
  failures: number
  isUnderWay: boolean
  /** The earliest time of the next try, in milliseconds of `performance.now()`. */
  notBefore: number
}

/** The position of a list, and the time of its last event, in milliseconds of `performance.now()`. */
interface Delivered {
  deliveredTo: Instant | null
  sentAt: number
}

/** Returns a text that identifies a list, as a key for maps. */
export const keyOf = ({ tenantId, record }: ListKey): string => `${tenantId} ${record}`

/**
 * The lists whose changes wait for delivery to an endpoint. A new revision of the endpoint or of its token has a new
 * queue.
 */
export class EndpointQueue {
  readonly #waiting = new Map<string, WaitingList>()
  readonly #delivered: Map<string, Delivered>
  readonly #windows: Map<string, Window | null>
  readonly #isGranted: (head: Head) => boolean
  readonly #records: ReadonlySet<string>
  /** A text that changes with the token's tenants and permissions. */
  readonly access: string
  #last: HeadBatch
  #notBefore = 0
  /** The number of failures of all lists since the last success. */
  #failures: number
  #isLoaded = false
  #underWay = 0

  /**
   * @param endpoint the present state of the endpoint, which the sender replaces as long as the revision is the same
   * @param last the last batch of the feed
   */
  constructor(
    public endpoint: ActiveEndpoint,
    token: Token,
    positions: readonly Position[],
    last: HeadBatch,
  ) {
    this.access = hashAccess(token)
    this.#last = last
    this.#delivered = new Map(positions.map(position => [keyOf(position), { ...position, sentAt: -minInterval }]))
    this.#windows = new Map(positions.map(position => [keyOf(position), position.window]))
    this.#isGranted = headFilter(token)
    this.#records = new Set(permittedRecords(token.permissions))
    this.#failures = endpoint.isFailing ? 1 : 0
  }

  /** Reads the changes up to the last batch of the feed. */
  async load(sql: Sql, token: Token): Promise<void> {
    const { epoch, access, startsAt, deliveredTo } = this.endpoint
    const isNewEpoch = epoch !== this.#last.epoch
    // When the tenants or permissions of the token have changed, all lists since the start are read, because the queue
    // has skipped changes of lists that the token could not read.
    let after = isNewEpoch ? null : access === this.access ? deliveredTo : startsAt
    for (let more = true; more; ) {
      const changes = await readChanges(sql, token, { after, tenantIds: null, records: [...this.#records] })
      for (const { since, ...list } of changes.lists) this.#add(list, since, after ?? startsAt, isNewEpoch)
      more = changes.hasMore
      after = changes.serverTime
    }
    this.#isLoaded = true
  }

  /** Adds the lists of a batch that the token may read. */
  note(batch: HeadBatch): void {
    const { serverTime } = this.#last
    this.#last = batch
    for (const head of batch.heads) {
      if (this.#records.has(head.record) && this.#isGranted(head)) this.#add(head, head.changedAt, serverTime, false)
    }
  }

  #add(list: ListKey, changedAt: Instant, waitsSince: Instant, isWhole: boolean): void {
    const key = keyOf(list)
    const { deliveredTo = null, sentAt = Number.NEGATIVE_INFINITY } = this.#delivered.get(key) ?? {}
    if (!isWhole && changedAt <= (deliveredTo ?? this.endpoint.startsAt)) return
    const waiting = this.#waiting.get(key)
    if (waiting) {
      if (changedAt > waiting.changedAt) waiting.changedAt = changedAt
      waiting.isWhole ||= isWhole
      return
    }
    const { tenantId, record } = list
    const window = this.#windows.get(key) ?? null
    this.#waiting.set(key, {
      ...{ tenantId, record, changedAt, waitsSince, isWhole, window, failures: 0, isUnderWay: false },
      notBefore: sentAt + minInterval,
    })
  }

  get epoch(): number {
    return this.#last.epoch
  }

  /** Returns the progress of the endpoint; null when there is no new progress. */
  get progress(): Progress | null {
    const { endpoint, access, epoch } = this
    if (!this.#isLoaded) return null
    let deliveredTo = this.#last.serverTime
    for (const { waitsSince, isWhole } of this.#waiting.values()) {
      if (isWhole) return null
      if (waitsSince < deliveredTo) deliveredTo = waitsSince
    }
    return deliveredTo > endpoint.deliveredTo ? { ...endpoint, deliveredTo, epoch, access } : null
  }

  /**
   * Returns the tries that may begin now.
   *
   * @param isBusy returns whether a try of a list is under way, even of a former revision
   */
  chooseTries(now: number, isBusy: (list: ListKey) => boolean): Try[] {
    const { serverTime } = this.#last
    if (!this.#isLoaded || now < this.#notBefore) return []
    const tries: Try[] = []
    const isFailing = this.#failures > 0
    const most = (isFailing ? maxTries.failing : maxTries.usual) - this.#underWay
    const lists = [...this.#waiting.values()]
    let isRetrying = isFailing && lists.some(({ isUnderWay, failures }) => isUnderWay && failures > 0)
    for (const list of lists) {
      if (tries.length >= most) break
      if (list.isUnderWay || now < list.notBefore || isBusy(list) || (isRetrying && list.failures > 0)) continue
      const window = this.#windowOf(list, serverTime)
      // Waits until the feed has read the change, because the window would otherwise end before the change.
      if (list.window === null && list.changedAt > window.until) continue
      isRetrying ||= isFailing && list.failures > 0
      const { tenantId, record } = list
      const { id: endpointId, revision, tokenRevision } = this.endpoint
      tries.push({ endpointId, revision, tokenRevision, tenantId, record, ...window })
    }
    return tries
  }

  /**
   * Returns the window of the earlier tries of a list, or a new window when there was no try. After a restore or a
   * purge of removals, the window is the whole list.
   */
  #windowOf(list: WaitingList, until: Instant): Window {
    const { removalsCompleteSince } = this.#last
    const isReadable = (since: Instant) => removalsCompleteSince === null || since >= removalsCompleteSince
    const { window, isWhole } = list
    if (window && (window.since === null || (!isWhole && isReadable(window.since)))) return window
    const since = this.#delivered.get(keyOf(list))?.deliveredTo ?? this.endpoint.startsAt
    return { since: isWhole || !isReadable(since) ? null : since, until }
  }

  /** Marks the list of a try that begins. */
  start({ since, until, ...list }: Try): void {
    const waiting = this.#waiting.get(keyOf(list))
    if (!waiting) return
    waiting.isUnderWay = true
    waiting.window = { since, until }
    waiting.notBefore = performance.now() + minInterval
    this.#underWay++
  }

  /**
   * Applies the recorded outcome of a try.
   *
   * @param retryAfter the seconds for which the endpoint wants no request; null when it did not say
   */
  finish({ since, until, ...list }: Try, isDelivered: boolean, retryAfter: number | null): void {
    const key = keyOf(list)
    const waiting = this.#waiting.get(key)
    if (!waiting) return
    // The try may belong to the queue of a former revision, so this queue does not count it.
    if (waiting.isUnderWay) this.#underWay--
    waiting.isUnderWay = false
    // The list goes to the end of the map, so that each list gets its turn.
    this.#waiting.delete(key)
    this.#waiting.set(key, waiting)
    if (isDelivered) {
      this.#recover()
      this.#windows.delete(key)
      this.#delivered.set(key, { deliveredTo: until, sentAt: waiting.notBefore - minInterval })
      if (since === null) waiting.isWhole = false
      Object.assign(waiting, { window: null, failures: 0, waitsSince: until })
      if (waiting.changedAt <= until && !waiting.isWhole) this.#waiting.delete(key)
    } else {
      this.#fail(waiting, retryAfter)
    }
  }

  #fail(list: WaitingList, retryAfter: number | null): void {
    const now = performance.now()
    list.notBefore = now + waitAfter(listWaits, ++list.failures)
    this.#failures++
    const wait =
      this.#failures < failuresBeforePause ? 0 : waitAfter(endpointWaits, this.#failures - failuresBeforePause + 1)
    this.#notBefore = now + Math.max(wait, (retryAfter ?? 0) * 1000)
  }

  /** After a success, lets the lists that failed while the endpoint was down be tried again immediately. */
  #recover(): void {
    const now = performance.now()
    if (this.#failures >= failuresBeforePause) {
      for (const list of this.#waiting.values()) if (list.failures > 0) list.notBefore = Math.min(list.notBefore, now)
    }
    this.#failures = 0
  }
}
