/** A database with a tree of tenants, and rows of all kinds that have figures. */
import { expect } from 'vitest'
import type { Sql } from '../../src/db/sql.ts'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { createDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'
import { findRecordProblems } from '../support/record-problems.ts'

export const insertVouchers = (sql: Sql, count = 40) => sql`
  insert into purchased_voucher (tenant_id, reference, initial_balance, current_balance, purchase_value, currency,
    purchase_timestamp, date_valid_end, product_id, parent_product_id)
  select 1 + n % 3, gen_random_uuid(), 50, 50 - n % 3 * 25, 45.5,
         case when n % 4 > 0 then 'EUR' else 'USD' end,
         case when n % 5 > 0 then timestamptz '2026-01-31T22:59:59Z' + n * interval '1 hour' end,
         case when n % 6 > 0 then date '2027-01-01' + n % 7 end, nullif(n % 4, 0), nullif(n % 8, 0)
  from generate_series(1, ${count}::int) n`

export const insertCustomers = (sql: Sql, count = 40) => sql`
  insert into customer (tenant_id, marketing_opted, consented_at)
  select 1 + n % 3, n % 2 = 0, case when n % 4 > 0 then timestamptz '2026-03-01T00:30:00Z' + n * interval '20 minutes' end
  from generate_series(1, ${count}::int) n`

/** Creates the database. `expectFollowed` makes the pending steps, and compares records with sources, and figures with records. */
export async function createFigures() {
  const database = await createDatabase()
  const { pool, platform } = database
  await platform`insert into tenant (id, parent_id, name) values (1, null, 'A'), (2, 1, 'B'), (3, 2, 'C'), (4, null, 'D')`

  async function expectFollowed(what?: string): Promise<void> {
    await projected(pool)
    expect(await findRecordProblems(pool), what).toEqual([])
    expect(await checkFigures(pool), what).toEqual({ asOf: expect.any(String), differences: [] })
    const withdrawals = await platform`
      select tenant_id, updated_at as withdrawn_at from gateway.removal where reason = 'consent_withdrawn' order by 2`
    expect(await platform`select * from gateway.consent_withdrawal order by withdrawn_at`, what).toEqual([
      ...withdrawals,
    ])
  }

  return { ...database, expectFollowed }
}
