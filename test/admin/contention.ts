import type { Pool } from '../../src/db/sql.ts'
import { untilLockWaits } from '../support/locks.ts'

/**
 * Makes several actions run at the same time: locks the rows of a table until all actions wait for them. Each action
 * starts when the one before waits, so that they continue in this order.
 *
 * @param platform a pool that the actions do not use
 * @returns the outcome of each
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
      // The outcomes contain the errors.
      acting.catch(() => {})
      under.push(acting)
      await untilLockWaits(platform, under.length)
    }
  })
  return Promise.allSettled(under)
}
