import { setTimeout as pause } from 'node:timers/promises'
import { connect, serviceRole } from '../../src/db/connect.ts'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { projected } from '../support/projected.ts'
import { type Address, poolAddress } from './seed.ts'

/**
 * Compares the figures with the records while writers run and the service lets the figures follow, and once more after the
 * writers have stopped.
 *
 * @returns `end`, which makes the last comparison, and returns how many were made, and how many rows were wrong
 */
export function watchFigures(address: Address, stop: AbortSignal) {
  const pool = connect(poolAddress(address), { max: 1, statementTimeoutMs: 60_000, role: serviceRole })
  const found = { checks: 0, wrong: 0 }
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
      await projected(pool)
      await check()
      await pool.end()
      return found
    },
  }
}
