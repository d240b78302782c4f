import type { Sql } from '../db/sql.ts'

/** Reports changes of sources that no trigger notes, so that records stay behind them. */
export interface CaptureWatch {
  /**
   * Reads the catalog.
   *
   * @param sql a pool of any role
   * @returns a sentence for each source that is not captured, with the remedy, no older than the call
   */
  check(sql: Sql): Promise<string[]>
}

/**
 * Creates the watch.
 *
 * @param onChange called with the sentences when they differ from the check before; before the first check there are none
 */
export function createCaptureWatch(onChange: (problems: string[]) => void): CaptureWatch {
  let latest: string[] = []
  return {
    async check(sql) {
      const rows = await sql<{ problem: string }[]>`
        select /* capture.find_missing */ problem from gateway.find_uncaptured() order by source`
      const problems = rows.map(({ problem }) => problem)
      if (problems.join('\n') !== latest.join('\n')) onChange(problems)
      latest = problems
      return problems
    },
  }
}
