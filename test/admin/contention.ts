import type { Pool } from '../../src/db/connect.ts'

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
    const deadline = Date.now() + 20_000
    for (const act of acts) {
      const acting = act()
      // The outcomes contain the errors.
      acting.catch(() => {})
      under.push(acting)
      for (let waiting = 0; waiting < under.length; ) {
        if (Date.now() > deadline) throw new Error(`only ${waiting} of ${under.length} wait`)
        await new Promise(resolve => setTimeout(resolve, 5))
        const [row] = await platform<{ waiting: number }[]>`
          select count(*) as waiting from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`
        waiting = row?.waiting ?? 0
      }
    }
  })
  return Promise.allSettled(under)
}
