import type { DriverPool } from './driver-pool.ts'
import type { Statement } from './statement.ts'
import { type QueueLimits, StatementQueue } from './statement-queue.ts'

/**
 * Puts the queue before the driver's pool. Statements of `begin`, of `reserve` and of `unsafe` do not pass it.
 *
 * @param driver is changed: `end` also rejects the statements that wait
 */
export function queueStatements(
  driver: DriverPool,
  limits: QueueLimits,
): DriverPool & { whileWanted(isWanted: () => boolean): DriverPool } {
  // Creating a statement does not send it.
  const template: unknown = driver``
  if (!isStatement(template)) throw new Error('The driver makes other statements than this version expects.')
  const queue = new StatementQueue(limits, template.handler)
  const end = driver.end
  driver.end = options => {
    queue.close()
    return end(options)
  }
  const whileWanted = (isWanted: () => boolean) => {
    const admit = (statement: Statement) => queue.run(statement, isWanted)
    return new Proxy(driver, {
      apply(target, self, given) {
        const made: unknown = Reflect.apply(target, self, given)
        if (isStatement(made)) made.handler = admit
        return made
      },
    })
  }
  return Object.assign(
    whileWanted(() => true),
    { whileWanted },
  )
}

const isStatement = (made: unknown): made is Statement => typeof made === 'object' && made !== null && 'handler' in made
