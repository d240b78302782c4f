import { type PoolUse, type StatementWork, statementChannel } from '../../channels.ts'
import type { DriverPool } from '../sql.ts'
import { isStatement, namedText, nameOf, onStatementEnd, type Statement } from './statement.ts'
import { StatementQueue } from './statement-queue.ts'

/**
 * Puts the queue before the driver's pool. Statements of `begin`, of `reserve` and of `unsafe` do not pass it.
 *
 * @param driver is changed: `end` also rejects the statements that wait
 * @param maxWaitMs after this long in the queue a statement fails
 * @returns a function that makes senders of statements. Statements with the same key share a class of the queue;
 * without a key, statements whose names have the same noun, because they need the same tables
 */
export function queueStatements(driver: DriverPool, pool: PoolUse, maxWaitMs: number) {
  const queue = new StatementQueue(pool.connections, maxWaitMs, senderOf(driver))
  const end = driver.end
  driver.end = options => {
    queue.close()
    return end(options)
  }
  return (isWanted: () => boolean, key?: number): DriverPool => {
    const run = (statement: Statement) => queue.run(statement, key ?? keyOf(statement), isWanted)
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

/** Publishes the statements of a pool that has no queue, including statements of `unsafe`. */
export function publishUnqueued(driver: DriverPool, pool: PoolUse): DriverPool {
  const send = senderOf(driver)
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

/** Returns the function by which the driver sends a statement. */
function senderOf(driver: DriverPool): (statement: Statement) => void {
  // Creating a statement object does not send the statement.
  const template: unknown = driver``
  if (!isStatement(template)) throw new Error('The driver makes other statements than this version expects.')
  const { handler } = template
  return statement => {
    statement.onSend?.()
    handler(statement)
  }
}

/** Returns the noun of a statement's name, `voucher` of `voucher.list`, or its text when it has no name. */
const keyOf = (statement: Statement) => nameOf(statement)?.split('.')[0] ?? namedText(statement)

/** Runs a statement, and publishes it on its channel. @param run sends it, or lets it wait */
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
