/**
 * Sends events to the endpoints of all tokens (R36), in the one process of all instances that holds a lease. Its state
 * is in the database: the positions of lists, and the windows of tries. So no change is lost when the process ends, and
 * no queue grows without limit.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { webhookChannel } from '../channels.ts'
import type { Pool } from '../db/sql.ts'
import {
  type ActiveEndpoint,
  beginTries,
  holdLease,
  leaseSeconds,
  listPositions,
  type Outcome,
  recordOutcomes,
  releaseLease,
  saveProgress,
  type Try,
} from '../domain/event/delivery.ts'
import type { HeadBatch, HeadFeed } from '../domain/event/head-feed.ts'
import { readTokens, type Token } from '../domain/token/token.ts'
import { isDelivered } from './describe.ts'
import { EndpointQueue, keyOf } from './endpoint-queue.ts'
import { toMessage } from './event.ts'
import type { Post } from './post.ts'

/** The maximum number of concurrent tries of this process, for all endpoints together. */
const maxTries = 100

/** The interval at which progress is saved, in milliseconds. */
const progressInterval = 10_000

/** The maximum time for opening queues in one call of `hold`, in milliseconds. Then the lease has to be renewed. */
const openingTime = 2_000

/**
 * The maximum wait for tries under way when the service stops, in milliseconds. The next holder of the lease repeats
 * the tries that have not ended.
 */
const stopTimeout = 500

interface SenderOptions {
  /** The origin at which receivers reach the service. */
  origin: string
  post: Post
  /** Receives errors. The failed work is repeated. */
  report: (error: unknown) => void
}

/** Creates the sender. It sends nothing before `hold` is called. */
export function createWebhookSender(pool: Pool, feed: HeadFeed, { origin, post, report }: SenderOptions) {
  const { background } = pool
  const instance = randomUUID()
  let queues = new Map<number, EndpointQueue>()
  /** The lists with a try under way, in the order in which the tries began. */
  const busy = new Map<string, Promise<void>>()
  /** The outcomes of tries that are not recorded in the database yet. */
  let ended: { outcome: Outcome; retryAfter: number | null }[] = []
  let heldUntil = 0
  let savedAt = 0
  let stopListening: (() => void) | null = null
  let last: HeadBatch | null = null
  let holding: Promise<void> | null = null
  let dispatching: Promise<void> | null = null
  let isClosed = false

  const busyKey = (tried: Pick<Try, 'endpointId' | 'tenantId' | 'record'>) => `${tried.endpointId} ${keyOf(tried)}`

  /**
   * Begins tries and records outcomes, until no try is left. When a statement fails, it is repeated at the next batch
   * of the feed.
   */
  function dispatch(): void {
    dispatching ??= work()
      .catch(report)
      .finally(() => {
        dispatching = null
      })
  }

  async function work(): Promise<void> {
    do await recordEnded()
    while ((await beginChosen()) || ended.length > 0)
  }

  async function recordEnded(): Promise<void> {
    if (ended.length === 0) return
    const recording = ended
    ended = []
    try {
      const outcomes = recording.map(({ outcome }) => outcome)
      await recordOutcomes(pool, outcomes)
    } catch (error) {
      ended = [...recording, ...ended]
      throw error
    }
    for (const { outcome, retryAfter } of recording) {
      busy.delete(busyKey(outcome))
      const queue = queues.get(outcome.endpointId)
      if (queue?.endpoint.generation === outcome.generation) queue.finish(outcome, outcome.isDelivered, retryAfter)
    }
  }

  /** @returns whether a try has begun */
  async function beginChosen(): Promise<boolean> {
    if (isClosed || performance.now() >= heldUntil) return false
    const chosen: { tried: Try; queue: EndpointQueue }[] = []
    for (const queue of queues.values()) {
      const isBusy = (list: Pick<Try, 'tenantId' | 'record'>) =>
        busy.has(busyKey({ endpointId: queue.endpoint.id, ...list }))
      chosen.push(...queue.chooseTries(performance.now(), isBusy).map(tried => ({ tried, queue })))
    }
    // When there is no room for all endpoints, the endpoints take turns.
    const tries = chosen.slice(0, maxTries - busy.size)
    const [first] = queues
    if (tries.length < chosen.length && first) queues = new Map([...[...queues].slice(1), first])
    if (tries.length === 0) return false
    const wanted = tries.map(({ tried }) => tried)
    const begun = await beginTries(pool, instance, wanted)
    const admitted = new Set(begun.map(busyKey))
    for (const { tried, queue } of tries) {
      if (!admitted.has(busyKey(tried))) continue
      queue.start(tried)
      busy.set(busyKey(tried), send(queue.endpoint, tried))
    }
    return begun.length > 0
  }

  async function send(endpoint: ActiveEndpoint, tried: Try): Promise<void> {
    const { generation } = endpoint
    const message = toMessage(origin, generation, tried)
    const { retryAfter, ...answer } = await post(endpoint, message)
    const { status } = answer
    // The stop has closed the connection, so nothing is recorded. The next holder of the lease repeats the try.
    if (isClosed && status === null) return
    const isSuccess = isDelivered(answer)
    webhookChannel.publish({
      result: isSuccess ? 'delivered' : status === null ? 'failed' : 'refused',
      seconds: (Date.now() - Date.parse(tried.until)) / 1000,
    })
    const { id: messageId, type } = message
    ended.push({ outcome: { ...tried, ...answer, generation, messageId, type, isDelivered: isSuccess }, retryAfter })
    dispatch()
  }

  function onBatch(batch: HeadBatch): void {
    last = batch
    for (const [id, queue] of queues) {
      if (queue.epoch === batch.epoch) queue.note(batch)
      // The epoch is new, so all lists must be sent. The next call of `hold` opens the queue again.
      else queues.delete(id)
    }
    dispatch()
  }

  /** Opens the queue of an endpoint. The feed adds changes to this queue from now on. */
  async function openQueue(endpoint: ActiveEndpoint, token: Token): Promise<void> {
    const positions = await listPositions(background, endpoint)
    if (last === null) return
    const queue = new EndpointQueue(endpoint, token, positions, last)
    queues.set(endpoint.id, queue)
    await queue.load(background, token).catch(error => {
      queues.delete(endpoint.id)
      throw error
    })
  }

  async function renew(): Promise<void> {
    const calledAt = performance.now()
    // Another process may have held the lease in between, and changed the positions.
    if (calledAt >= heldUntil) queues.clear()
    const endpoints = isClosed ? [] : await holdLease(background, instance)
    if (endpoints.length === 0) {
      queues.clear()
      stopListening?.()
      stopListening = null
      return
    }
    stopListening ??= await feed.listen(onBatch)
    heldUntil = calledAt + leaseSeconds * 1000
    const present = new Map(endpoints.map(endpoint => [endpoint.id, endpoint]))
    for (const [id, queue] of queues) {
      const endpoint = present.get(id)
      const isSame =
        endpoint?.revision === queue.endpoint.revision && endpoint.tokenRevision === queue.endpoint.tokenRevision
      if (endpoint && isSame) queue.endpoint = endpoint
      else queues.delete(id)
    }
    const opening = endpoints.filter(({ id }) => !queues.has(id))
    if (opening.length > 0) {
      const ids = opening.map(({ tokenId }) => tokenId)
      const tokens = await readTokens(pool, ids)
      for (const endpoint of opening) {
        // The lease must be renewed now. The next call opens the queues of the remaining endpoints.
        if (performance.now() > calledAt + openingTime) break
        const token = tokens.get(endpoint.tokenId)
        if (token) await openQueue(endpoint, token)
      }
    }
    if (performance.now() < savedAt + progressInterval) return
    savedAt = performance.now()
    const progress = [...queues.values()].flatMap(queue => queue.progress ?? [])
    if (progress.length > 0) await saveProgress(background, instance, progress)
  }

  return {
    /**
     * Takes or renews the lease, and opens and closes queues when endpoints or tokens have changed. Call it each
     * second.
     */
    hold(): Promise<void> {
      holding ??= renew().finally(() => {
        holding = null
      })
      return holding
    },
    /** Waits up to half a second for the end of tries, and releases the lease. */
    async close(): Promise<void> {
      isClosed = true
      stopListening?.()
      const ending = async () => {
        await holding
        await Promise.all(busy.values())
        await dispatching
        await recordEnded()
        if (performance.now() < heldUntil) await releaseLease(background, instance)
      }
      // The next holder of the lease repeats unfinished work.
      await Promise.race([ending().catch(() => {}), pause(stopTimeout, undefined, { ref: false })])
    },
  }
}
