/** A database with records of all kinds that have entries, and the comparison of its entries with them. */
import { expect } from 'vitest'
import type { Sql } from '../../src/db/sql.ts'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { createDatabase } from '../support/database.ts'
import { followed } from '../support/followed.ts'

/** The expected entries, computed from the records by an independent query. */
const expected = {
  voucher_entry: `
    select id, tenant_id, updated_at,
           case when void then 'void' when lower(redemption_status) = 'redeemed' or current_balance <= 0 then 'redeemed'
                when current_balance < initial_balance then 'part' else 'full' end as state,
           purchase_timestamp, date_valid_start, coalesce(date_valid_end, 'infinity') as date_valid_end,
           coalesce(parent_product_id, product_id) as product_id, currency, initial_balance, current_balance, purchase_value
    from purchased_voucher order by id`,
  voucher_text: `
    select id, tenant_id, upper(concat_ws(' ', reference, product_title)) as words, upper(recipient_name) as recipient
    from purchased_voucher order by id`,
  consent_entry: `
    select id, tenant_id, updated_at, marketing_opted, consented_at, consent_source,
           left(upper(coalesce(full_name, forename || ' ' || surname, surname, forename)), 100) as name,
           upper(concat_ws(' ', full_name, forename, surname, email)) as words
    from customer where marketing_opted
    union all
    select id, tenant_id, updated_at, marketing_opted, consented_at, null, '', null
    from customer where not marketing_opted and consented_at is not null order by id`,
}

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

export const step = async (sql: Sql, atMost: number) => (await sql`select gateway.follow(${atMost}) as more`)[0]?.more

/** Lets a transaction or a savepoint fail, which undoes its changes. */
export const undo = () => Promise.reject(new Error('undone'))

/** Creates the database. `reset` fills it again, until no stamp lies ahead. */
export async function createFigures() {
  const database = await createDatabase()
  const { pool, platform } = database
  await platform`insert into tenant (id, parent_id, name) values (1, null, 'A'), (2, 1, 'B'), (3, 2, 'C'), (4, null, 'D')`

  async function expectEntriesOfRecords(what?: string): Promise<void> {
    for (const [table, records] of Object.entries(expected)) {
      const entries = await platform.unsafe(`select * from gateway.${table} order by id`)
      expect([...entries], what).toEqual([...(await platform.unsafe(records))])
    }
    const withdrawals = await platform`
      select id, tenant_id, updated_at from gateway.removal where reason = 'consent_withdrawn' order by id`
    expect(await platform`select * from gateway.withdrawal_entry order by id`, what).toEqual(
      withdrawals.map(({ updated_at, ...removal }) => ({ ...removal, withdrawn_at: updated_at })),
    )
  }

  /** Lets the figures follow, and compares them with the records. */
  async function expectFollowed(what?: string): Promise<void> {
    await followed(pool)
    expect(await checkFigures(pool), what).toEqual({ asOf: expect.any(String), differences: [] })
    await expectEntriesOfRecords(what)
  }

  async function reset(): Promise<void> {
    await platform`truncate purchased_voucher, customer restart identity`
    await insertVouchers(platform)
    await insertCustomers(platform)
    await expectFollowed()
    // Records with a stamp ahead would be read once more.
    while ((await pool`select from gateway.follower where planned <> '{}'`).length > 0) await followed(pool)
  }

  return { ...database, expectEntriesOfRecords, expectFollowed, reset }
}
