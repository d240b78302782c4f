/** Posts a message for each list that changed, until the receiver accepts it. */
import { setTimeout as pause } from 'node:timers/promises'
import type { ListChanges } from '#client'
import type { Position } from './follow.ts'
import { createId, messageType, type Pending, sign, toBody } from './message.ts'

/** The maximum number of messages that are posted at the same time. */
const maxUnderWay = 10

/**
 * `least` is the minimum time between two messages of a list, `longest` the maximum time between two attempts; in
 * milliseconds.
 */
const attemptIntervals = { least: 1_000, longest: 30_000 }

/** The maximum time until the receiver must have answered, in milliseconds. */
const answerTimeout = 15_000

export interface Attempt {
  type: string
  tenant: number
  /** The status of the answer; null without an answer. */
  status: number | null
  /** The reason why the message was not accepted; null when it was accepted. */
  problem: string | null
  /** Seconds until the next attempt; null when the message was accepted. */
  retryIn: number | null
}

interface ForwarderOptions {
  /** The address of the service. */
  service: string
  /** The address of the receiver. */
  to: string
  key: Buffer
  report: (attempt: Attempt) => void
  /** Stores the position up to which the receiver has accepted all changes. */
  save: (position: Position) => void
}

/**
 * Posts the messages of a list in order, one at a time. Changes that arrive while a message waits are combined in one
 * later message.
 */
export class Forwarder {
  readonly #pending = new Map<string, Pending>()
  readonly #deliveries = new Set<Promise<void>>()
  /** Each lane posts one message at a time. */
  readonly #lanes: Promise<void>[] = Array.from({ length: maxUnderWay }, () => Promise.resolve())
  #next = 0
  readonly #stop = new AbortController()
  #position: Position | null
  #pass = 0

  /** @param position the last accepted position; null: start at the position of the first changes */
  constructor(
    private readonly options: ForwarderOptions,
    position: Position | null,
  ) {
    this.#position = position
  }

  /**
   * Adds the next changes to the waiting messages.
   *
   * @param isWhole true when the receiver must read each list from its beginning
   */
  add({ lists, serverTime, epoch, access }: ListChanges, isWhole: boolean): void {
    const since = isWhole ? null : (this.#position?.serverTime ?? serverTime)
    this.#position = { serverTime, epoch, access }
    if (isWhole) this.#pass++
    const pass = this.#pass
    for (const { tenantId, list } of lists) {
      const key = `${tenantId} ${list}`
      const waiting = this.#pending.get(key)
      if (waiting) Object.assign(waiting, { serverTime, id: createId(), ...(isWhole && { since, pass }) })
      else {
        const pending = { tenantId, list, since, serverTime, pass, id: createId() }
        this.#pending.set(key, pending)
        const delivery = this.#deliver(key, pending).finally(() => this.#deliveries.delete(delivery))
        this.#deliveries.add(delivery)
      }
    }
    this.#save()
  }

  /** Ends all attempts. Resolves when no attempt is running. */
  async end(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#deliveries)
    this.#save()
  }

  /**
   * Saves the position of the oldest waiting message, so that a restart sends this message again. While a message waits
   * whose list must be read from its beginning, the saved position stays, so that a restart sends all lists again.
   */
  #save(): void {
    if (this.#position === null) return
    let { serverTime } = this.#position
    for (const { since } of this.#pending.values()) {
      if (since === null) return
      if (since < serverTime) serverTime = since
    }
    this.options.save({ ...this.#position, serverTime })
  }

  async #deliver(key: string, pending: Pending): Promise<void> {
    const { signal } = this.#stop
    for (let failures = 0; !signal.aborted; ) {
      const attempt = await this.#inLane(async () => (signal.aborted ? null : this.#post(pending)))
      if (!attempt) return
      const { sent, ...answer } = attempt
      failures = answer.problem === null ? 0 : failures + 1
      const wait = Math.min(attemptIntervals.longest, attemptIntervals.least * 2 ** Math.max(0, failures - 1))
      this.options.report({
        ...answer,
        type: messageType(sent),
        tenant: sent.tenantId,
        retryIn: failures > 0 ? wait / 1000 : null,
      })
      if (failures === 0 && sent.pass === pending.pass) {
        pending.since = sent.serverTime
        this.#save()
      }
      await pause(wait, undefined, { signal }).catch(() => {})
      // A later change of the list has created another message.
      if (failures > 0 || pending.id !== sent.id) continue
      this.#pending.delete(key)
      return this.#save()
    }
  }

  #inLane<Result>(run: () => Promise<Result>): Promise<Result> {
    const lane = this.#next++ % maxUnderWay
    const result = (this.#lanes[lane] ?? Promise.resolve()).then(run)
    this.#lanes[lane] = result.then(() => {})
    return result
  }

  async #post(pending: Pending) {
    const { service, to, key } = this.options
    const sent = { ...pending }
    const body = toBody(sent, service)
    const headers = { 'content-type': 'application/json', ...sign(key, sent.id, body) }
    try {
      const init = {
        method: 'POST',
        headers,
        body,
        redirect: 'manual',
        signal: AbortSignal.timeout(answerTimeout),
      } as const
      const answer = await fetch(to, init)
      await answer.body?.cancel()
      const { ok, status } = answer
      return { sent, status, problem: ok ? null : `the receiver answered ${status}` }
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
      const message = cause instanceof Error ? cause.message || cause.name : String(cause)
      return { sent, status: null, problem: `the receiver did not answer: ${message}` }
    }
  }
}
