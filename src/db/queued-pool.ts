import type { DriverPool } from './driver-pool.ts'
import { namedText, nounIn, type Statement } from './statement.ts'
import { type QueueLimits, StatementQueue } from './statement-queue.ts'

/**
 * Puts the queue before the driver's pool. Statements of `begin`, of `reserve` and of `unsafe` do not pass it.
 *
 * @param driver is changed: `end` also rejects the statements that wait
 * @returns a function that makes what sends statements: those with the same key share a class of the queue, and without
 *   a key those whose names have the same noun, which stands for the tables that they need
 */
export function queueStatements(driver: DriverPool, limits: QueueLimits) {
  // Creating a statement object does not send the statement.
  const template: unknown = driver``
  if (!isStatement(template)) throw new Error('The driver makes other statements than this version expects.')
  const queue = new StatementQueue(limits, template.handler)
  const keyOf = createNounKeys()
  const end = driver.end
  driver.end = options => {
    queue.close()
    return end(options)
  }
  return (isWanted: () => boolean, key?: number): DriverPool => {
    const admit = (statement: Statement) => queue.run(statement, key ?? keyOf(statement), isWanted)
    return new Proxy(driver, {
      apply(target, self, given) {
        const made: unknown = Reflect.apply(target, self, given)
        if (isStatement(made)) made.handler = admit
        return made
      },
    })
  }
}

/** Returns the function that returns the noun of a statement's name, or its text when it has no name. */
function createNounKeys(): (statement: Statement) => unknown {
  const known = new WeakMap<readonly string[], unknown>()
  return statement => {
    const found = known.get(statement.strings)
    if (found !== undefined) return found
    const text = namedText(statement)
    const key = known.get(text) ?? nounIn(text) ?? text
    known.set(text, key)
    return key
  }
}

const isStatement = (made: unknown): made is Statement => typeof made === 'object' && made !== null && 'handler' in made
