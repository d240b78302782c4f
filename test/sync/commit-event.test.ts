import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { Transaction } from './changes.ts'
import { createStep } from './in-sync.ts'
import { open } from './seed.ts'

const { database, ground, tenant, sql, pass, inStep, serverTime, end, mark, change, pages } = await createStep()
const { address } = database
const [voucher = 0] = ground.vouchers
const [customer = 0] = ground.customers
const [product = 0] = ground.products
const [variant = 0] = ground.variants
afterAll(end)
beforeEach(pass)

const immediate = (on: Transaction) => on`set constraints all immediate`
// Not of a voucher: those have a column that each update changes, the control's.
const changeNothing = (on: Transaction) => on`update customer set surname = surname where id = ${customer}`

/** The commit happens under pages that are read: what is stamped before it must be covered by a beacon. */
describe('a row that takes no stamp leaves the commit event to those that do', () => {
  test('an update that changes nothing', async () => {
    await sql.begin(async transaction => {
      await changeNothing(transaction)
      await immediate(transaction)
      await change(transaction)
      await pages()
    })
    await inStep()
  })

  test('a row with a kept stamp', async () => {
    await sql.begin(async transaction => {
      await transaction`set local gateway.keep_updated_at = 'on'`
      await transaction`
        insert into purchased_voucher (tenant_id, reference, updated_at)
        values (${ground.owners[1] ?? 0}, ${mark()}, '2001-02-03')`
      await transaction`set local gateway.keep_updated_at = 'off'`
      await immediate(transaction)
      await change(transaction)
      await pages()
    })
    await inStep()
  })

  test('an update that changes nothing after a variant that took a stamp and was not written', async () => {
    await sql.begin(async transaction => {
      await transaction`
        insert into variant (id, product_id, slug, title, currency) values (${variant}, ${product}, 'v', 'v', 'GBP')
        on conflict do nothing`
      await changeNothing(transaction)
      await pages()
      await immediate(transaction)
      await change(transaction)
      await pages()
    })
    await inStep()
  })

  test("an update that changes nothing before a deferred trigger of the platform's writes", async () => {
    const key = 1_712_000
    await sql.unsafe(`
      create function public.write_at_commit() returns trigger language plpgsql as $$ begin
        update public.purchased_voucher set product_title = new.title where id = ${voucher};
        perform pg_advisory_xact_lock(${key});
        return null;
      end $$;
      create constraint trigger write_at_commit after update on public.category deferrable initially deferred
        for each row execute function public.write_at_commit();`)
    const holder = open(address)
    await holder`select pg_advisory_lock(${key})`
    const writing = sql.begin(async transaction => {
      await changeNothing(transaction)
      await transaction`update category set title = ${mark()} where id not in (select category_id from product_category)`
    })
    await Promise.race([writing, untilOneWaits()])
    await pages()
    await holder`select pg_advisory_unlock(${key})`
    await writing
    await holder.end()
    await inStep()
    await sql`drop function public.write_at_commit() cascade`
  })
})

describe('a bulk load', () => {
  const load = (on: Transaction, rows: number) =>
    on<{ stamp: string }[]>`
      insert into purchased_voucher (tenant_id, reference)
      select ${tenant}::bigint, ${mark()} || '-' || n from generate_series(1, ${rows}::int) n`

  /** Updates of vouchers by this transaction so far. */
  async function updates(on: Transaction): Promise<number> {
    const [row] = await on<{ count: number }[]>`
      select pg_stat_get_xact_tuples_updated('purchased_voucher'::regclass)::int as count`
    return row?.count ?? 0
  }

  // Of a tenant that no client follows here: 6,000 rows are many pages.
  test('gets a stamp that lies ahead, which is noted as planned', async () => {
    const [, unfollowed = 0] = ground.owners
    const reference = mark()
    await sql`
      insert into purchased_voucher (tenant_id, reference)
      select ${unfollowed}::bigint, ${reference} || '-' || n from generate_series(1, 6000) n`
    const stamps = await sql<{ planned: boolean; rows: number }[]>`
      select updated_at in (select stamp from gateway.planned_stamp) as planned, count(*)::int as rows
      from purchased_voucher where reference like ${`${reference}-%`} group by planned`
    expect(stamps).toEqual([{ planned: true, rows: 6000 }])
  })

  test('may keep its stamps after it has changed a tenant', async () => {
    const [, unfollowed = 0] = ground.owners
    const reference = mark()
    await sql.begin(async transaction => {
      await transaction`update tenant set name = ${mark()} where id = ${tenant}`
      await transaction`set local gateway.keep_updated_at = 'on'`
      await transaction`
        insert into purchased_voucher (tenant_id, reference, updated_at)
        select ${unfollowed}::bigint, ${reference} || '-' || n, '2001-02-03' from generate_series(1, 6000) n`
    })
    const [planned] = await sql<{ stamp: string }[]>`
      select to_char(max(stamp) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as stamp from gateway.planned_stamp`
    while ((await serverTime()) <= (planned?.stamp ?? ''));
    await inStep('tenants')
  })

  test('that holds the watermark writes its rows once', async () => {
    await sql.begin(async transaction => {
      await transaction`select gateway.announce_bulk_write()`
      const held = await serverTime()
      const former = await updates(transaction)
      await load(transaction, 100)
      await pages()
      expect(await serverTime()).toBe(held)
      await immediate(transaction)
      expect(await updates(transaction)).toBe(former)
    })
    await inStep('vouchers')
  })

  test('that holds the watermark after it has written stamps those rows anew', async () => {
    await sql.begin(async transaction => {
      await load(transaction, 3)
      await pages()
      await transaction`select gateway.announce_bulk_write()`
      await load(transaction, 3)
      await pages()
    })
    await inStep('vouchers')
  })

  test('that says how long it takes holds nothing back meanwhile', async () => {
    await sql.begin(async transaction => {
      const [row] = await transaction<{ stamp: string }[]>`
        select to_char(gateway.announce_bulk_write('1 second') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as stamp`
      const before = await serverTime()
      await load(transaction, 3)
      await pages()
      expect((await serverTime()) > before).toBe(true)
      while ((await serverTime()) < (row?.stamp ?? ''));
      await pages()
      expect(await serverTime(), 'it takes longer than it said').toBe(row?.stamp)
    })
    await inStep('vouchers')
  })

  test('cannot say that it takes longer than an hour', async () => {
    await expect(sql`select gateway.announce_bulk_write('2 hours')`).rejects.toThrow('an interval of 0 to 60 minutes')
  })
})

/** Until a session of this database waits for a lock. */
async function untilOneWaits(): Promise<void> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; ) {
    const [row] = await sql<{ waits: boolean }[]>`
      select exists (select from pg_stat_activity
                     where datname = current_database() and wait_event_type = 'Lock') as waits`
    if (row?.waits) return
  }
  throw new Error('no session waits for a lock')
}
