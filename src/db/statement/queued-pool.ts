import { type PoolUse, type StatementWork, statementChannel } from '../../channels.ts'
import type { DriverPool } from '../sql.ts'
import { findNamedText, isStatement, nameOf, onStatementEnd, type Statement } from './statement.ts'
import { StatementQueue } from './statement-queue.ts'

/**
 * Creates a queue in front of the driver's pool. Statements of `begin`, `reserve` and `unsafe` bypass the queue.
 *
 * @param driver the pool, which this function changes: `end` also rejects the waiting statements
 * @param maxWaitMs the maximum time of a statement in the queue, in milliseconds; then the statement fails
 * @returns a function that creates a sender of statements. Statements with the same key are in the same class of the
 * queue. Without a key, the class is the noun of the statement's name, because such statements need the same tables
 */
export function queueStatements(driver: DriverPool, pool: PoolUse, maxWaitMs: number) {
  const queue = new StatementQueue(pool.connections, maxWaitMs, findSender(driver))
  const end = driver.end
  driver.end = options => {
    queue.close()
    return end(options)
  }
  return (isWanted: () => boolean, key?: number): DriverPool => {
    const run = (statement: Statement) => queue.run(statement, key ?? defaultKey(statement), isWanted)
    const admit = (statement: Statement) => publishStatement(statement, pool, run)
    return new Proxy(driver, {
      apply(target, self, given) {
        const made: unknown = Reflect.apply(target, self, given)
        if (isStatement(made)) made.handler = admit
        return made
      },
    })
  }
}

/** Publishes, on the statement channel, the statements of a pool without a queue, including statements of `unsafe`. */
export function publishUnqueued(driver: DriverPool, pool: PoolUse): DriverPool {
  const send = findSender(driver)
  const admit = (statement: Statement) => publishStatement(statement, pool, send)
  const publish = <Made>(made: Made): Made => {
    if (isStatement(made)) made.handler = admit
    return made
  }
  return new Proxy(driver, {
    apply: (target, self, given) => publish<unknown>(Reflect.apply(target, self, given)),
    get(target, property, self) {
      if (property !== 'unsafe') return Reflect.get(target, property, self)
      const unsafe: DriverPool['unsafe'] = (text, parameters, options) =>
        publish(target.unsafe(text, parameters, options))
      return unsafe
    },
  })
}

/** Returns the function with which the driver sends a statement. */
function findSender(driver: DriverPool): (statement: Statement) => void {
  // This creates a statement without sending it.
  const template: unknown = driver``
  if (!isStatement(template)) throw new Error('The driver makes other statements than this version expects.')
  const { handler } = template
  return statement => {
    statement.onSend?.()
    handler(statement)
  }
}

/**
 * Returns the noun of a statement's name, for example `voucher` of `voucher.list`; without a name, the statement's
 * text.
 */
const defaultKey = (statement: Statement) => nameOf(statement)?.split('.')[0] ?? findNamedText(statement)

/**
 * Runs a statement, and publishes it on the statement channel.
 *
 * @param run sends the statement, or adds it to a queue
 */
function publishStatement(statement: Statement, pool: PoolUse, run: (statement: Statement) => void): void {
  if (!statementChannel.hasSubscribers) {
    run(statement)
    return
  }
  const work: StatementWork = { name: nameOf(statement), pool }
  const begunAt = performance.now()
  let sentAt: number | null = null
  let waits = false
  onStatementEnd(statement, error => {
    const now = performance.now()
    if (waits) work.secondsWaited = ((sentAt ?? now) - begunAt) / 1000
    if (sentAt !== null) {
      work.seconds = (now - sentAt) / 1000
      pool.busy--
    }
    if (error !== undefined) work.error = error
    statementChannel.asyncEnd.publish(work)
  })
  statement.onSend = () => {
    sentAt = performance.now()
    pool.busy++
  }
  statementChannel.start.runStores(work, run, undefined, statement)
  waits = sentAt === null
}
