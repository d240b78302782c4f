import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../src/db/sql.ts'

/**
 * Changes the balances of vouchers, ten a transaction, and lets figures follow five times a second, until it is stopped.
 *
 * @param sql one connection, which is closed at the end
 * @returns a function that stops it and returns the number of changes
 */
export function write(sql: Pool, vouchers: number): () => Promise<number> {
  let going = true
  let changes = 0
  async function run(): Promise<void> {
    let followedAt = performance.now()
    while (going) {
      const ids = Array.from({ length: 10 }, () => 1 + Math.floor(Math.random() * vouchers))
      await sql`update purchased_voucher set current_balance = trunc(current_balance / 2)
                where id = any(${`{${ids.join()}}`}::text::bigint[])`
      changes += ids.length
      if (performance.now() - followedAt > 200) {
        await sql`select gateway.follow(10000)`
        followedAt = performance.now()
      }
      await sleep(5)
    }
    await sql.end()
  }
  const running = run()
  return async () => {
    going = false
    await running
    return changes
  }
}
