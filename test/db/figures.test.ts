/** Figures stay those of the records, however these are written. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, expect, test } from 'vitest'
import type { Sql } from '../../src/db/connect.ts'
import { createFigureFolding } from '../../src/domain/figure-folding.ts'
import { createDatabase } from '../support/database.ts'

const { pool, platform, loader } = await createDatabase()
const figures = createFigureFolding(pool, new AbortController().signal)
await platform`insert into tenant (id, parent_id, name) values (1, null, 'A'), (2, 1, 'B'), (3, 2, 'C'), (4, null, 'D')`

const readDifferences = (sql: Sql = pool) => sql`select * from gateway.figure_differences()`

async function countDeltas(sql: Sql = pool): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select ((select count(*) from gateway.voucher_delta) + (select count(*) from gateway.consent_delta))::int as count`
  return row?.count ?? 0
}

const insertVouchers = (sql: Sql, count = 40) => sql`
  insert into purchased_voucher (tenant_id, reference, initial_balance, current_balance, purchase_value, currency,
    purchase_timestamp, date_valid_end, product_id, parent_product_id)
  select 1 + n % 3, gen_random_uuid(), 50, 50 - n % 3 * 25, 45.5,
         case when n % 4 > 0 then 'EUR' else 'USD' end,
         case when n % 5 > 0 then timestamptz '2026-01-31T22:59:59Z' + n * interval '1 hour' end,
         case when n % 6 > 0 then date '2027-01-01' + n % 7 end, nullif(n % 4, 0), nullif(n % 8, 0)
  from generate_series(1, ${count}::int) n`

const insertCustomers = (sql: Sql, count = 40) => sql`
  insert into customer (tenant_id, marketing_opted, consented_at)
  select 1 + n % 3, n % 2 = 0, case when n % 4 > 0 then timestamptz '2026-03-01T00:30:00Z' + n * interval '20 minutes' end
  from generate_series(1, ${count}::int) n`

async function copy(sql: Sql, statement: string, text: string): Promise<void> {
  await pipeline(Readable.from([text]), await sql.unsafe(statement).writable())
}

/** Statements of a platform. */
const writes: Record<string, (sql: Sql) => Promise<unknown>> = {
  'an insert of one voucher': sql => insertVouchers(sql, 1),
  'an insert of many vouchers': sql => insertVouchers(sql),
  'a copy of vouchers': sql =>
    copy(
      sql,
      'copy purchased_voucher (tenant_id, reference, current_balance, currency) from stdin',
      Array.from({ length: 30 }, (_, n) => `${1 + (n % 3)}\tC${n}\t${n}\tEUR\n`).join(''),
    ),
  'an insert that updates': sql => sql`
    insert into purchased_voucher (id, tenant_id, reference, current_balance, currency)
    select id, tenant_id, reference, 1, 'EUR' from purchased_voucher where id in (1, 2)
    union all select 900, 2, 'upserted', 3, 'EUR'
    on conflict (id) do update set current_balance = 7, currency = 'EUR'`,
  'a merge': sql => sql`
    merge into purchased_voucher voucher using generate_series(3, 6) n on voucher.id = n
    when matched and n = 3 then delete
    when matched then update set void = not void
    when not matched then insert (tenant_id, reference) values (1, 'merged')`,
  ...Object.fromEntries(
    [
      'tenant_id = tenant_id % 3 + 1',
      "purchase_timestamp = purchase_timestamp + interval '1 hour'",
      'purchase_timestamp = null',
      'date_valid_end = date_valid_end + 1',
      'date_valid_end = null',
      'parent_product_id = 77',
      'product_id = product_id + 1, parent_product_id = null',
      'initial_balance = initial_balance + 1',
      'current_balance = current_balance / 2',
      'current_balance = 0',
      'purchase_value = null',
      "currency = 'GBP'",
      'currency = null, initial_balance = null, current_balance = null, purchase_value = null',
      'void = not void',
      "redemption_status = 'Redeemed'",
    ].flatMap(change => [
      [`one voucher: ${change}`, (sql: Sql) => sql.unsafe(`update purchased_voucher set ${change} where id = 7`)],
      [`vouchers: ${change}`, (sql: Sql) => sql.unsafe(`update purchased_voucher set ${change} where id % 2 = 0`)],
    ]),
  ),
  'a deletion of one voucher': sql => sql`delete from purchased_voucher where id = 7`,
  'a deletion of vouchers': sql => sql`delete from purchased_voucher where id % 2 = 0`,
  'a truncation of vouchers': sql => sql`truncate purchased_voucher`,
  'an insert of one customer': sql => insertCustomers(sql, 1),
  'an insert of many customers': sql => insertCustomers(sql),
  'a consent': sql => sql`update customer set consented_at = '2026-06-01T12:34:56Z' where id = 4`,
  'a consent that is forgotten': sql => sql`update customer set consented_at = null where id = 2`,
  'a consent that is withdrawn': sql => sql`update customer set marketing_opted = false where id % 2 = 0`,
  'customers of another tenant': sql => sql`update customer set tenant_id = tenant_id % 3 + 1`,
  'a deletion of one customer': sql => sql`delete from customer where id = 1`,
  'a deletion of customers': sql => sql`delete from customer where id < 30`,
  'a truncation of customers': sql => sql`truncate customer`,
}

/** The kinds of sessions: which triggers they set off. */
const sessions = [
  { session: 'an ordinary session', role: 'origin' },
  { session: 'an applier', role: 'replica' },
]

/** Fills the tables anew, and folds what that changed. */
async function reset(): Promise<void> {
  await platform`truncate purchased_voucher, customer restart identity`
  await insertVouchers(platform)
  await insertCustomers(platform)
  await figures.fold()
}

await figures.refreshMembers()

describe.each(sessions)('$session', ({ role }) => {
  const run = (write: (sql: Sql) => Promise<unknown>) =>
    platform.begin(async sql => {
      await sql`select set_config('session_replication_role', ${role}, true)`
      await write(sql)
    })

  test('every way of writing changes the figures by what it changes of the records', async () => {
    await reset()
    const undone = new Error('undone')
    for (const [name, write] of Object.entries(writes)) {
      const written = run(async sql => {
        await write(sql)
        expect(await countDeltas(sql), name).toBeGreaterThan(0)
        expect(await readDifferences(sql), name).toEqual([])
        throw undone
      })
      await expect(written).rejects.toBe(undone)
    }
  })

  test('all of them in turn, folded after each', async () => {
    await reset()
    for (const write of Object.values(writes)) {
      await run(write)
      await figures.fold()
    }
    expect(await countDeltas()).toBe(0)
    expect(await readDifferences()).toEqual([])
  })

  test('what no figure shows yields no delta', async () => {
    await reset()
    await run(sql => sql`update purchased_voucher set recipient_name = 'R', updated_at = now()`)
    await run(sql => sql`update purchased_voucher set recipient_name = 'S' where id = 7`)
    await run(sql => sql`update customer set forename = 'F'`)
    expect(await countDeltas()).toBe(0)
  })

  test('rows that are stamped again at the commit yield no delta', async () => {
    await reset()
    await run(async sql => {
      await insertVouchers(sql, 1)
      // The write marker has expired at the commit.
      await sql`select pg_sleep(0.02)`
    })
    expect(await countDeltas()).toBe(1)
    expect(await readDifferences()).toEqual([])
  })
})

test('a rollback takes the deltas back, also to a savepoint', async () => {
  await reset()
  await platform.begin(async sql => {
    await insertVouchers(sql, 1)
    await sql
      .savepoint(inner => insertVouchers(inner, 1).then(() => Promise.reject(new Error('undone'))))
      .catch(() => {})
    await sql`update purchased_voucher set current_balance = 3 where id = 5`
  })
  await platform.begin(sql => insertVouchers(sql).then(() => Promise.reject(new Error('undone')))).catch(() => {})
  expect(await countDeltas()).toBe(3)
  expect(await readDifferences()).toEqual([])
})

test('a loader that keeps stamps changes figures too', async () => {
  await insertVouchers(loader)
  expect(await readDifferences()).toEqual([])
})

test('folding neither waits for a writer nor takes what it has not committed', async () => {
  await reset()
  await platform.begin(async sql => {
    await insertVouchers(sql, 1)
    await sql`delete from purchased_voucher where id = 9`
    await insertVouchers(loader, 1)
    await figures.fold()
    expect(await countDeltas()).toBe(0)
    expect(await readDifferences()).toEqual([])
  })
  expect(await countDeltas()).toBe(2)
  expect(await readDifferences()).toEqual([])
})

test('one transaction folds at a time, and a second one does not wait', async () => {
  await reset()
  await insertVouchers(platform, 5)
  await platform.begin(async sql => {
    expect(await sql`select gateway.fold_figures(2) as folded`).toEqual([{ folded: 2 }])
    await figures.fold()
    expect(await countDeltas()).toBe(5)
    expect(await pool`select gateway.refresh_figure_members() as changed`).toEqual([{ changed: 0 }])
  })
  await figures.fold()
  expect(await countDeltas()).toBe(0)
})

test('each snapshot is exact while writers and folds run', async () => {
  await reset()
  const write = async (writer: number) => {
    for (let turn = 0; turn < 8; turn++) {
      await insertVouchers(platform, 1 + ((writer * turn) % 25)).catch(() => {})
      await platform`update purchased_voucher set current_balance = current_balance / 2 where id % 7 = ${turn % 7}`.catch(
        () => {},
      )
    }
  }
  let writing = true
  const done = Promise.all([write(1), write(2), write(3)]).finally(() => {
    writing = false
  })
  const fold = async () => {
    while (writing) await pool`select gateway.fold_figures(7)`
  }
  const verify = async () => {
    while (writing) expect(await readDifferences()).toEqual([])
  }
  await Promise.all([done, fold(), verify()])
  await figures.fold()
  expect(await readDifferences()).toEqual([])
})

test('the platform may change the types of columns', async () => {
  await platform`alter table purchased_voucher alter initial_balance type numeric(15, 3), alter product_title type varchar`
  await platform`alter table purchased_voucher alter initial_balance type numeric, alter product_title type text`
  expect(await readDifferences()).toEqual([])
})
