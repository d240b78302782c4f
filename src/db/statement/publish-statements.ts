import { type PoolUse, type StatementWork, statementChannel } from '../../channels.ts'
import { nameOf, onStatementEnd, type Statement } from './statement.ts'

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
