/**
 * A queue in front of the connections of a pool. Each statement belongs to a class, and the classes share the
 * connections. A class with slow statements, or with statements that wait for a lock, must not delay the other classes.
 */
import { CallerGoneError, onStatementEnd, type Statement, StatementNotSentError } from './statement.ts'

/** The interval at which waiting statements are checked for deadlines and lost callers, in milliseconds. */
const sweepMs = 100

/** The maximum number of waiting statements of a class, per connection of the pool. */
const waitingPerConnection = 200

interface WaitingStatement {
  readonly statement: Statement
  readonly isWanted: () => boolean
  /** The time, of `performance.now()`, at which the statement fails if it still waits. */
  readonly deadline: number
}

/** The waiting and running statements with the same key. */
interface StatementClass {
  readonly key: unknown
  underWay: number
  /** The waiting statements, in the order of their arrival. */
  readonly waiting: Set<WaitingStatement>
}

/**
 * Passes statements on to the driver. A class may use another connection as long as it uses fewer connections than are
 * free (dynamic thresholds, Choudhury and Hahne 1998). So a single class uses at most half of the connections, and
 * another class always finds a free connection. Waiting classes take turns.
 */
export class StatementQueue {
  /** The classes by key, in the order of their turns: a class that has just sent a statement is the last. */
  readonly #classes = new Map<unknown, StatementClass>()
  /** The timer of the checks of waiting statements; null when no statement waits. */
  #sweeping: NodeJS.Timeout | null = null
  #underWay = 0
  #draining = false
  #closed = false

  /**
   * @param connections the number of connections of the pool, and so the maximum number of running statements
   * @param maxWaitMs the maximum time of a statement in the queue, in milliseconds; then the statement fails
   * @param send passes a statement to the driver
   */
  constructor(
    private readonly connections: number,
    private readonly maxWaitMs: number,
    private readonly send: (statement: Statement) => void,
  ) {}

  /**
   * Sends a statement immediately, or when its class may use another connection.
   *
   * @param key the key of the statement's class
   * @param isWanted returns whether the caller still waits; otherwise the statement fails before it is sent
   */
  run(statement: Statement, key: unknown, isWanted: () => boolean): void {
    const statements = this.#classes.get(key) ?? { key, underWay: 0, waiting: new Set() }
    if (!isWanted()) {
      statement.reject(new CallerGoneError(statement))
    } else if (statements.waiting.size === 0 && this.#hasRoom(statements)) {
      this.#start(statements, statement)
    } else if (this.#closed || statements.waiting.size >= this.connections * waitingPerConnection) {
      statement.reject(new StatementNotSentError(statement, 'found too many others waiting'))
    } else {
      this.#classes.set(key, statements)
      statements.waiting.add({ statement, isWanted, deadline: performance.now() + this.maxWaitMs })
      this.#sweeping ??= setInterval(() => this.#sweep(), sweepMs).unref()
    }
  }

  /** Rejects the waiting statements, and from now on each statement that would have to wait. */
  close(): void {
    this.#closed = true
    this.#stopSweeping()
    this.#failWaiting(({ statement }) => new StatementNotSentError(statement, 'came as the pool closed'))
  }

  #hasRoom({ underWay }: StatementClass): boolean {
    return underWay < this.connections - this.#underWay
  }

  #start(statements: StatementClass, statement: Statement): void {
    this.#classes.delete(statements.key)
    this.#classes.set(statements.key, statements)
    this.#underWay++
    statements.underWay++
    onStatementEnd(statement, () => this.#end(statements))
    this.send(statement)
  }

  #end(statements: StatementClass): void {
    this.#underWay--
    statements.underWay--
    this.#deleteIdle(statements)
    this.#drain()
  }

  #deleteIdle({ key, underWay, waiting }: StatementClass): void {
    if (underWay === 0 && waiting.size === 0) this.#classes.delete(key)
  }

  /** Rejects the statements whose time limit is over or whose callers are gone. */
  #sweep(): void {
    const now = performance.now()
    this.#failWaiting(({ statement, isWanted, deadline }) => {
      if (!isWanted()) return new CallerGoneError(statement)
      return deadline <= now ? new StatementNotSentError(statement, 'waited too long for a connection') : null
    })
    if ([...this.#classes.values()].every(({ waiting }) => waiting.size === 0)) this.#stopSweeping()
  }

  #stopSweeping(): void {
    if (this.#sweeping) clearInterval(this.#sweeping)
    this.#sweeping = null
  }

  /** Rejects waiting statements. @param errorOf returns the error of a statement, or null when the statement continues to wait */
  #failWaiting(errorOf: (entry: WaitingStatement) => StatementNotSentError | null): void {
    for (const statements of this.#classes.values()) {
      for (const entry of statements.waiting) {
        const error = errorOf(entry)
        if (error === null) continue
        statements.waiting.delete(entry)
        entry.statement.reject(error)
      }
      this.#deleteIdle(statements)
    }
  }

  /** Sends waiting statements until no class may use another connection. */
  #drain(): void {
    // When a statement fails immediately, its end calls this method again while the loop still runs.
    if (this.#draining) return
    this.#draining = true
    for (let next = this.#nextWithRoom(); next; next = this.#nextWithRoom()) {
      const { statements, entry } = next
      const { statement, isWanted } = entry
      statements.waiting.delete(entry)
      if (isWanted()) this.#start(statements, statement)
      else statement.reject(new CallerGoneError(statement))
      this.#deleteIdle(statements)
    }
    this.#draining = false
  }

  #nextWithRoom(): { statements: StatementClass; entry: WaitingStatement } | null {
    for (const statements of this.#classes.values()) {
      const [entry] = statements.waiting
      if (entry && this.#hasRoom(statements)) return { statements, entry }
    }
    return null
  }
}
