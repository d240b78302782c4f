import { beforeEach, describe, expect, test } from 'vitest'
import { untilLockWaits } from '../support/locks.ts'
import type { Transaction } from './changes.ts'
import { createSyncedClients } from './in-sync.ts'

const synced = await createSyncedClients()
const { knownIds, tenant, voucher, product, variant, customer, sql } = synced
const { pass, expectInSync, commit, connect, serverTime, mark, change, pages } = synced
beforeEach(pass)

const immediate = (on: Transaction) => on`set constraints all immediate`
// Vouchers are left out: every update changes their control column.
const changeNothing = (on: Transaction) => on`update customer set surname = surname where id = ${customer}`

// Pages are read while the transaction is open: a stamp that is taken needs a write marker.
describe('a row that takes no stamp does not queue the commit event', () => {
  test.each<[string, (on: Transaction) => Promise<unknown>]>([
    ['an update that changes nothing', changeNothing],
    [
      'a row with a kept stamp',
      async on => {
        await on`set local gateway.keep_updated_at = 'on'`
        await on`
          insert into purchased_voucher (tenant_id, reference, updated_at)
          values (${knownIds.owners[1] ?? 0}, ${mark()}, '2001-02-03')`
        await on`set local gateway.keep_updated_at = 'off'`
      },
    ],
    [
      'an update without effect, after a change of a variant that took a stamp but wrote no row',
      async on => {
        await on`
          insert into variant (id, product_id, slug, title, currency) values (${variant}, ${product}, 'v', 'v', 'GBP')
          on conflict do nothing`
        await changeNothing(on)
        await pages()
      },
    ],
  ])('%s', (_, work) =>
    commit(async on => {
      await work(on)
      await immediate(on)
      await change(on)
      await pages()
    }))

  test('an update that changes nothing, before a deferred trigger of the platform writes', async () => {
    const key = 1_712_000
    await sql.unsafe(`
      create function public.write_at_commit() returns trigger language plpgsql as $$ begin
        update public.purchased_voucher set product_title = new.title where id = ${voucher};
        perform pg_advisory_xact_lock(${key});
        return null;
      end $$;
      create constraint trigger write_at_commit after update on public.category deferrable initially deferred
        for each row execute function public.write_at_commit();`)
    const holder = connect()
    await holder`select pg_advisory_lock(${key})`
    const writing = sql.begin(async transaction => {
      await changeNothing(transaction)
      await transaction`update category set title = ${mark()} where id not in (select category_id from product_category)`
    })
    await Promise.race([writing, untilLockWaits(sql)])
    await pages()
    await holder`select pg_advisory_unlock(${key})`
    await writing
    await expectInSync()
    await sql`drop function public.write_at_commit() cascade`
  })
})

describe('a bulk load', () => {
  const [, unfollowed = 0] = knownIds.owners
  const load = (on: Transaction, rows: number, reference = mark(), owner = tenant) =>
    on`
      insert into purchased_voucher (tenant_id, reference)
      select ${owner}::bigint, ${reference} || '-' || n from generate_series(1, ${rows}::int) n`
  /** Loads rows for a tenant whose lists no client reads; they are stamped again, because writing took longer than 10 ms. */
  const loadSlowly = (rows: number, reference: string) =>
    sql.begin(async transaction => {
      await load(transaction, rows, reference, unfollowed)
      await transaction`select pg_sleep(0.02)`
    })
  const stampsOf = (reference: string, by: 'planned' | 'updated_at') => sql`
    select updated_at in (select stamp from gateway.planned_stamp) as planned, count(*)::int as rows
    from purchased_voucher where reference like ${`${reference}-%`} group by ${sql(by)}`

  const updates = async (on: Transaction) =>
    (await on`select pg_stat_get_xact_tuples_updated('purchased_voucher'::regclass) as count`)[0]?.count

  test.each([
    [6000, true],
    [1000, true],
    [100, false],
  ])('of %i rows gets a stamp that lies ahead when stamping takes more than 10 ms: %s', async (rows, planned) => {
    const reference = mark()
    await loadSlowly(rows, reference)
    expect(await stampsOf(reference, 'planned')).toEqual([{ planned, rows }])
  })

  test('takes no marker that holds the watermark before its rows are stamped, also when that takes longer than planned', async () => {
    const reference = mark()
    const rows = 200
    await sql.unsafe(`
      create sequence public.stamped;
      create sequence public.stamped_under_marker;
      create function public.stamp_slowly() returns trigger language plpgsql as $$ begin
        perform pg_sleep(0.001), nextval('public.stamped');
        perform nextval('public.stamped_under_marker') from pg_locks
        where pid = pg_backend_pid() and locktype = 'advisory' and (classid::bigint << 32) >> 52 = 1712;
        return new;
      end $$;
      create trigger a_stamp_slowly before update on purchased_voucher for each row
        when (old.updated_at <> new.updated_at) execute function public.stamp_slowly()`)
    await loadSlowly(rows, reference)
    await sql.unsafe('drop trigger a_stamp_slowly on purchased_voucher')
    const [stamped] = await sql<{ attempts: number; marked: boolean }[]>`
      select (last_value / ${rows}::int)::int as attempts, (select is_called from stamped_under_marker) as marked from stamped`
    expect(stamped?.attempts).toBeGreaterThan(1)
    expect(stamped?.marked).toBe(false)
    expect(await stampsOf(reference, 'updated_at')).toEqual([{ planned: true, rows }])
  })

  test('can keep its stamps after the transaction has changed a tenant', async () => {
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
    await expectInSync('tenants')
  })

  test('that is announced writes its rows once and holds the watermark', async () => {
    await commit(async on => {
      await on`select gateway.announce_bulk_write()`
      const held = await serverTime()
      const former = await updates(on)
      await load(on, 100)
      await pages()
      expect(await serverTime()).toBe(held)
      await immediate(on)
      expect(await updates(on)).toBe(former)
    }, 'vouchers')
  })

  test('that is announced after the first rows stamps those again', async () => {
    await commit(async on => {
      await load(on, 3)
      await pages()
      await on`select gateway.announce_bulk_write()`
      await load(on, 3)
      await pages()
    }, 'vouchers')
  })

  test('that is announced with its length lets the watermark pass during that time', async () => {
    await commit(async on => {
      const [row] = await on<{ stamp: string }[]>`
        select to_char(gateway.announce_bulk_write('1 second') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as stamp`
      const before = await serverTime()
      await load(on, 3)
      await pages()
      expect((await serverTime()) > before).toBe(true)
      while ((await serverTime()) < (row?.stamp ?? ''));
      await pages()
      expect(await serverTime(), 'it takes longer than announced').toBe(row?.stamp)
    }, 'vouchers')
  })

  test('cannot be announced with more than an hour', async () => {
    await expect(sql`select gateway.announce_bulk_write('2 hours')`).rejects.toThrow('an interval of 0 to 60 minutes')
  })
})
