import { liftLimits } from '../db/connection/lift-limits.ts'
import { createSchema } from '../db/migration/migrate.ts'
import { hasSchema } from '../db/migration/migrations.ts'
import type { Pool, Transaction } from '../db/sql.ts'

/**
 * Runs work in a transaction that is rolled back. When the schema `gateway` does not exist, the transaction creates it.
 *
 * @param sql connections of the owner. Statements of the work have no time limit, and wait for a lock for one second at
 * most
 */
export async function withoutTrace<Result>(
  sql: Pool,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  class Done extends Error {
    constructor(readonly result: Result) {
      super()
    }
  }
  const isMigrated = await hasSchema(sql)
  try {
    return await sql.begin(async transaction => {
      if (!isMigrated) await createSchema(transaction)
      await liftLimits(transaction, true)
      await transaction`
        select /* adoption.begin */ set_config('lock_timeout', '1s', true), set_config('row_security', 'off', true)`
      throw new Done(await work(transaction))
    })
  } catch (error) {
    if (error instanceof Done) return error.result
    throw error
  }
}
