/**
 * The queue before the connections of a pool. A statement that waits for a lock keeps its connection. So that a locked
 * table holds up only the statements that need it, statements share the connections by the nouns of their names
 * (`voucher` of `voucher.list`), which stand for the tables that they need.
 */
import { Entry, type Lane, Lanes } from './lane.ts'
import { CallerGoneError, type Statement, StatementNotSentError } from './statement.ts'

/** The limits of a queue. */
export interface QueueLimits {
  /** The connections of the pool: as many statements are under way at most. */
  connections: number
  /** After this long in the queue a statement fails, in milliseconds. */
  waitMs: number
}

/** How often the age of statements under way is counted, in milliseconds. */
const tickMs = 10

/** A statement is slow when it has been under way for this many ticks: 20 to 30 ms. */
const slowTicks = 3

/** A statement is stuck when it has been under way for this many ticks: about a second. */
const stuckTicks = 100

/** How often waiting statements are checked for their end, in milliseconds. */
const sweepMs = 100

/** How many statements of a noun may wait for each connection, and how many while one of the noun is stuck. */
const waitingPerConnection = { usual: 200, stuck: 10 }

/**
 * Passes statements on to the driver, at once while there is room for statements of their noun:
 *
 * - A noun with a few statements under way gets nearly each free connection, and one with none also the last one.
 * - One with more leaves some connections free, and gets no more while its statements are slow.
 * - One with a statement that is stuck leaves them free in any case.
 *
 * So a burst of statements that turn out to be blocked takes most of the connections once. When these have failed, it
 * gets a third of them.
 */
export class StatementQueue {
  readonly #send: (statement: Statement) => void
  readonly #connections: number
  /** The few statements that a noun may have under way also when it is slow. */
  readonly #share: number
  /** The connections that a noun with more leaves free. */
  readonly #reserve: number
  readonly #waitMs: number
  readonly #lanes = new Lanes()
  readonly #waitingLanes = new Set<Lane>()
  #underWay = 0
  #order = 0
  #tick = 0
  #ticking: NodeJS.Timeout | null = null
  #sweeping: NodeJS.Timeout | null = null
  #draining = false
  #closed = false

  /** @param send passes a statement to the driver */
  constructor({ connections, waitMs }: QueueLimits, send: (statement: Statement) => void) {
    this.#send = send
    this.#connections = connections
    this.#share = Math.ceil(connections * 0.3)
    this.#reserve = connections === 1 ? 0 : Math.max(1, Math.floor(connections * 0.3))
    this.#waitMs = waitMs
  }

  /**
   * Sends a statement at once, or when there is room for it.
   *
   * @param isWanted whether its caller still waits; a statement fails unsent when its caller is gone
   */
  run(statement: Statement, isWanted: () => boolean): void {
    const lane = this.#lanes.of(statement)
    const entry = new Entry(lane, statement, isWanted)
    if (!isWanted()) statement.reject(new CallerGoneError(statement))
    else if (lane.waiting.length === 0 && this.#hasRoom(lane)) this.#start(entry)
    else this.#wait(entry)
  }

  /** Rejects the statements that wait, and those that come later when they would have to wait. */
  close(): void {
    this.#closed = true
    for (const lane of this.#waitingLanes) {
      for (let entry = lane.waiting.first; entry; entry = lane.waiting.first)
        this.#fail(entry, new StatementNotSentError(entry.statement, 'came as the pool closed'))
    }
  }

  /** Decides whether the oldest statement under way, or the one that ended last, took so long. */
  #isLate({ underWay, lastTicks }: Lane, ticks: number): boolean {
    return lastTicks >= ticks || (underWay.first !== null && this.#tick - underWay.first.tick >= ticks)
  }

  #hasRoom(lane: Lane): boolean {
    const free = this.#connections - this.#underWay
    const own = lane.underWay.length
    if (free > this.#reserve) return own < this.#share || !this.#isLate(lane, slowTicks)
    if (own >= this.#share || free <= (own === 0 ? 0 : this.#reserve >> 1)) return false
    return !this.#isLate(lane, stuckTicks)
  }

  #start(entry: Entry): void {
    const { lane, statement } = entry
    entry.tick = this.#tick
    this.#underWay++
    lane.underWay.push(entry)
    this.#ticking ??= setInterval(() => this.#count(), tickMs).unref()
    const { resolve, reject } = statement
    let isUnderWay = true
    const end = () => {
      if (isUnderWay) this.#end(entry)
      isUnderWay = false
    }
    statement.resolve = rows => {
      resolve(rows)
      end()
    }
    statement.reject = error => {
      reject(error)
      end()
    }
    this.#send(statement)
  }

  #end(entry: Entry): void {
    const { lane } = entry
    this.#underWay--
    lane.underWay.remove(entry)
    lane.lastTicks = this.#tick - entry.tick
    if (this.#waitingLanes.size > 0) this.#drain()
  }

  #count(): void {
    this.#tick++
    if (this.#underWay > 0 || !this.#ticking) return
    clearInterval(this.#ticking)
    this.#ticking = null
  }

  #wait(entry: Entry): void {
    const { lane } = entry
    const isStuck = this.#isLate(lane, stuckTicks)
    const limit = this.#connections * (isStuck ? waitingPerConnection.stuck : waitingPerConnection.usual)
    if (this.#closed || lane.waiting.length >= limit) {
      entry.statement.reject(new StatementNotSentError(entry.statement, 'found too many others waiting'))
      return
    }
    entry.deadline = performance.now() + this.#waitMs
    entry.order = this.#order++
    lane.waiting.push(entry)
    this.#waitingLanes.add(lane)
    this.#sweeping ??= setInterval(() => this.#sweep(), sweepMs).unref()
  }

  #leave(entry: Entry): void {
    const { lane } = entry
    lane.waiting.remove(entry)
    if (lane.waiting.length === 0) this.#waitingLanes.delete(lane)
    if (this.#waitingLanes.size > 0 || !this.#sweeping) return
    clearInterval(this.#sweeping)
    this.#sweeping = null
  }

  #fail(entry: Entry, error: StatementNotSentError): void {
    this.#leave(entry)
    entry.statement.reject(error)
  }

  /** Fails the statements whose time is over or whose callers are gone. */
  #sweep(): void {
    const now = performance.now()
    for (const lane of this.#waitingLanes) {
      for (
        let entry = lane.waiting.first, next = entry?.next ?? null;
        entry;
        entry = next, next = entry?.next ?? null
      ) {
        const { statement } = entry
        if (!entry.isWanted()) this.#fail(entry, new CallerGoneError(statement))
        else if (entry.deadline <= now)
          this.#fail(entry, new StatementNotSentError(statement, 'waited too long for a connection'))
      }
    }
  }

  /** Sends the statements that have room now, in the order in which they came. */
  #drain(): void {
    // A statement that fails at once ends within the loop.
    if (this.#draining) return
    this.#draining = true
    for (let entry = this.#nextWithRoom(); entry; entry = this.#nextWithRoom()) {
      if (entry.isWanted()) {
        this.#leave(entry)
        this.#start(entry)
      } else this.#fail(entry, new CallerGoneError(entry.statement))
    }
    this.#draining = false
  }

  #nextWithRoom(): Entry | null {
    let found: Entry | null = null
    for (const lane of this.#waitingLanes) {
      const { first } = lane.waiting
      if (first && (!found || first.order < found.order) && this.#hasRoom(lane)) found = first
    }
    return found
  }
}
