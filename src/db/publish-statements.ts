import { type PoolUse, type StatementWork, statementChannel } from '../channels.ts'
import { nameOf, type Statement } from './statement.ts'

/**
 * Runs a statement, and publishes it on its channel.
 *
 * @param run sends it, or lets it wait
 */
export function publishStatement(statement: Statement, pool: PoolUse, run: (statement: Statement) => void): void {
  if (!statementChannel.hasSubscribers) {
    run(statement)
    return
  }
  const work: StatementWork = { name: nameOf(statement), pool }
  const { resolve, reject } = statement
  const begunAt = performance.now()
  let sentAt: number | null = null
  let waits = false
  let hasEnded = false
  const end = () => {
    // The driver rejects a statement again when its connection closes.
    if (hasEnded) return
    hasEnded = true
    const now = performance.now()
    if (waits) work.secondsWaited = ((sentAt ?? now) - begunAt) / 1000
    if (sentAt !== null) {
      work.seconds = (now - sentAt) / 1000
      pool.busy--
    }
    statementChannel.asyncEnd.publish(work)
  }
  statement.onSend = () => {
    sentAt = performance.now()
    pool.busy++
  }
  statement.resolve = rows => {
    end()
    resolve(rows)
  }
  statement.reject = error => {
    work.error = error
    end()
    reject(error)
  }
  statementChannel.start.runStores(work, run, undefined, statement)
  waits = sentAt === null
}
