/**
 * The queue before the connections of a pool. Statements belong to classes, which share the connections: a class whose
 * statements are slow, or wait for a lock, must not hold up the others.
 */
import { CallerGoneError, type Statement, StatementNotSentError } from './statement.ts'

export interface QueueLimits {
  /** The number of connections of the pool, which is the most statements under way. */
  connections: number
  /** After this long in the queue a statement fails, in milliseconds. */
  maxWaitMs: number
}

/** The interval at which waiting statements are checked for their end, in milliseconds. */
const sweepMs = 100

/** The most statements of a class that may wait for each connection. */
const waitingPerConnection = 200

interface Waiting {
  readonly statement: Statement
  readonly isWanted: () => boolean
  /** The time at which it fails unless it was sent, in milliseconds of `performance.now()`. */
  readonly deadline: number
}

/** The statements that share a key, while there are any. */
class StatementClass {
  underWay = 0
  /** In the order in which they came. */
  readonly waiting = new Set<Waiting>()

  constructor(readonly key: unknown) {}
}

/**
 * Passes statements on to the driver. A class gets a connection while it uses fewer connections than are free (dynamic
 * thresholds, Choudhury and Hahne 1998): one class alone uses half of them, so a further class always finds some.
 * Classes that wait take turns.
 */
export class StatementQueue {
  readonly #classes = new Map<unknown, StatementClass>()
  /** The classes with waiting statements, in the order of their turns. */
  readonly #waitingClasses = new Set<StatementClass>()
  #underWay = 0
  #sweeping: NodeJS.Timeout | null = null
  #draining = false
  #closed = false

  /** @param send passes a statement to the driver */
  constructor(
    private readonly limits: QueueLimits,
    private readonly send: (statement: Statement) => void,
  ) {}

  /**
   * Sends a statement at once, or when there is room for it.
   *
   * @param key what the statements of its class have in common
   * @param isWanted whether its caller still waits; a statement fails unsent when its caller is gone
   */
  run(statement: Statement, key: unknown, isWanted: () => boolean): void {
    if (!isWanted()) {
      statement.reject(new CallerGoneError(statement))
      return
    }
    const statements = this.#classes.get(key) ?? new StatementClass(key)
    this.#classes.set(key, statements)
    if (statements.waiting.size === 0 && this.#hasRoom(statements)) this.#start(statements, statement)
    else this.#wait(statements, statement, isWanted)
  }

  /** Rejects the statements that wait, and those that come later when they would have to wait. */
  close(): void {
    this.#closed = true
    for (const statements of this.#waitingClasses) {
      for (const entry of statements.waiting)
        this.#fail(statements, entry, new StatementNotSentError(entry.statement, 'came as the pool closed'))
    }
  }

  #hasRoom({ underWay }: StatementClass): boolean {
    return underWay < this.limits.connections - this.#underWay
  }

  #start(statements: StatementClass, statement: Statement): void {
    this.#underWay++
    statements.underWay++
    const { resolve, reject } = statement
    let isUnderWay = true
    const end = () => {
      if (isUnderWay) this.#end(statements)
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
    this.send(statement)
  }

  #end(statements: StatementClass): void {
    this.#underWay--
    statements.underWay--
    this.#forgetIdle(statements)
    if (this.#waitingClasses.size > 0) this.#drain()
  }

  #forgetIdle({ key, underWay, waiting }: StatementClass): void {
    if (underWay === 0 && waiting.size === 0) this.#classes.delete(key)
  }

  #wait(statements: StatementClass, statement: Statement, isWanted: () => boolean): void {
    if (this.#closed || statements.waiting.size >= this.limits.connections * waitingPerConnection) {
      statement.reject(new StatementNotSentError(statement, 'found too many others waiting'))
      return
    }
    statements.waiting.add({ statement, isWanted, deadline: performance.now() + this.limits.maxWaitMs })
    this.#waitingClasses.add(statements)
    this.#sweeping ??= setInterval(() => this.#sweep(), sweepMs).unref()
  }

  #leave(statements: StatementClass, entry: Waiting): void {
    statements.waiting.delete(entry)
    if (statements.waiting.size === 0) this.#waitingClasses.delete(statements)
    if (this.#waitingClasses.size > 0 || !this.#sweeping) return
    clearInterval(this.#sweeping)
    this.#sweeping = null
  }

  #fail(statements: StatementClass, entry: Waiting, error: StatementNotSentError): void {
    this.#leave(statements, entry)
    this.#forgetIdle(statements)
    entry.statement.reject(error)
  }

  /** Rejects the statements whose time limit is over or whose callers are gone. */
  #sweep(): void {
    const now = performance.now()
    for (const statements of this.#waitingClasses) {
      for (const entry of statements.waiting) {
        const { statement } = entry
        if (!entry.isWanted()) this.#fail(statements, entry, new CallerGoneError(statement))
        else if (entry.deadline <= now)
          this.#fail(statements, entry, new StatementNotSentError(statement, 'waited too long for a connection'))
      }
    }
  }

  /** Sends the statements that have room now. */
  #drain(): void {
    // A statement that fails at once ends before the loop does.
    if (this.#draining) return
    this.#draining = true
    for (let next = this.#nextWithRoom(); next; next = this.#nextWithRoom()) {
      const { statements, entry } = next
      if (entry.isWanted()) {
        this.#leave(statements, entry)
        // Its next turn comes after the turns of the other classes.
        if (this.#waitingClasses.delete(statements)) this.#waitingClasses.add(statements)
        this.#start(statements, entry.statement)
      } else this.#fail(statements, entry, new CallerGoneError(entry.statement))
    }
    this.#draining = false
  }

  #nextWithRoom(): { statements: StatementClass; entry: Waiting } | null {
    for (const statements of this.#waitingClasses) {
      const [entry] = statements.waiting
      if (entry && this.#hasRoom(statements)) return { statements, entry }
    }
    return null
  }
}
