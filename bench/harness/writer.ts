import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../src/db/sql.ts'

/**
 * The number of changes in a transaction, and the time between two transactions in milliseconds: 500 changes per
 * second.
 */
const [changesOfOne, interval] = [10, 20]

/** The SQLSTATE of a statement that ended because of a deadlock. */
const deadlock = '40P01'

/** The number of changes per second. */
export const changesPerSecond = changesOfOne * (1000 / interval)

/**
 * Changes the balances of random vouchers until it is stopped.
 *
 * @param sql one connection
 * @param vouchers the highest id of a voucher
 * @returns a function that stops the writer and returns the number of changes
 */
export function startWriter(sql: Pool, vouchers: number): () => Promise<number> {
  let going = true
  let changes = 0
  const running = (async () => {
    for (let due = performance.now(); going; due += interval) {
      await sleep(Math.max(0, due - performance.now()))
      const ids = Array.from({ length: changesOfOne }, () => 1 + Math.floor(Math.random() * vouchers))
      try {
        await sql`update purchased_voucher set current_balance = trunc(random() * 100)
                  where id = any(${`{${ids.join()}}`}::text::bigint[])`
        changes += ids.length
      } catch (error) {
        // Other writers change many of these vouchers in another order, so a deadlock is possible.
        if (!(error instanceof Error && 'code' in error && error.code === deadlock)) throw error
      }
    }
  })()
  // The returned function throws the error.
  running.catch(() => {})
  return async () => {
    going = false
    await running
    return changes
  }
}
