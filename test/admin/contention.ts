import type { Pool } from '../../src/db/connect.ts'
import { untilLockWaits } from '../support/locks.ts'

/**
 * Lets several acts meet: none gets on before all wait for the rows of a table, which are held until then. Each comes
 * when the one before waits, so that they get on in their order.
 *
 * @param platform a pool that is not the one of the acts
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
