import type { Pool } from '../../src/db/sql.ts'
import { untilLockWaits } from '../support/locks.ts'

/**
 * Makes several actions run at the same time: locks the rows of a table until all actions wait for the lock. Each
 * action starts when the previous action waits, so PostgreSQL continues the actions in this order.
 *
 * @param platform a pool from which the actions take no connection
 * @returns the outcome of each action
 */
export async function atOnce<Result>(
  platform: Pool,
  table: string,
  acts: (() => Promise<Result>)[],
): Promise<PromiseSettledResult<Result>[]> {
  const under: Promise<Result>[] = []
  await platform.begin(async sql => {
    await sql`select from ${sql(table)} for update`
    for (const act of acts) {
      const acting = act()
      // Without a handler, an early rejection would end the process. `allSettled` returns the errors.
      acting.catch(() => {})
      under.push(acting)
      await untilLockWaits(platform, under.length)
    }
  })
  return Promise.allSettled(under)
}
