import { setTimeout as pause } from 'node:timers/promises'
import { connect, serviceRole } from '../../src/db/connect.ts'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { followed } from '../support/followed.ts'
import type { Address } from './seed.ts'

/** The number of comparisons of figures with the records, and the wrong rows that were found. */
export interface FigureChecks {
  checks: number
  wrong: number
}

/**
 * Compares the figures with the records while writers run and the service lets the figures follow, and once more after the
 * writers have stopped.
 *
 * @returns `end`, which makes the last comparison
 */
export function watchFigures(address: Address, stop: AbortSignal): { end(): Promise<FigureChecks> } {
  const pool = connect(address, { max: 1, statementTimeoutMs: 60_000, role: serviceRole })
  const found: FigureChecks = { checks: 0, wrong: 0 }
  const check = async () => {
    const { asOf, differences } = await checkFigures(pool)
    if (asOf !== null) found.checks += 1
    found.wrong += differences.reduce((total, { rows }) => total + rows, 0)
  }
  const watch = async () => {
    while (!stop.aborted) {
      await check()
      await pause(200)
    }
  }
  const watching = watch()
  watching.catch(() => {})
  return {
    end: async () => {
      await watching
      await followed(pool)
      await check()
      await pool.end()
      return found
    },
  }
}
