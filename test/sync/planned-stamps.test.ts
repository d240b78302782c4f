/** Loads that write long enough to get stamps that lie ahead. Some of the stamps pass before the commit. */
import { beforeAll, expect, test } from 'vitest'
import type { Transaction } from './changes.ts'
import { createSyncedClients } from './in-sync.ts'

const { tenant, sql, pass, expectInSync, mark, pages } = await createSyncedClients()

// Slow rows let stamps pass. A row counts for at most 100 µs, so stamps are planned after 500 rows.
beforeAll(async () => {
  await sql.unsafe(`
    create function public.write_slowly() returns trigger language plpgsql as $$ begin
      perform pg_sleep(0.001);
      return new;
    end $$;
    create trigger a_write_slowly before insert on purchased_voucher for each row
      execute function public.write_slowly()`)
  await pass()
})

const load = (on: Transaction, rows: number) => on`
  insert into purchased_voucher (tenant_id, reference)
  select ${tenant}::bigint, ${mark()} || '-' || n from generate_series(1, ${rows}::int) n`

const endings: Record<string, (on: Transaction) => Promise<unknown>> = {
  'in two statements': on => load(on, 300),
  'and rolls a part back': async on => {
    await on
      .savepoint(async part => {
        await load(part, 300)
        await part`select 1 / 0`
      })
      .catch(() => {})
    await load(on, 300)
  },
  'and then keeps stamps': async on => {
    await load(on, 300)
    await on`set local gateway.keep_updated_at = 'on'`
    await on`update purchased_voucher set void = true where updated_at > clock_timestamp()`
  },
  'and is prepared': async on => {
    await load(on, 300)
    await on.prepare('slow load')
  },
}
test.each(Object.entries(endings))('a load that writes %s: pages miss no row', async (name, finish) => {
  const [{ newest } = { newest: 0 }] = await sql<{ newest: number }[]>`
      select max(id)::int as newest from purchased_voucher`
  let isWriting = true
  const read = async () => {
    while (isWriting) await pass()
  }
  const write = async () => {
    await sql.begin(async transaction => {
      await load(transaction, 700)
      await finish(transaction)
    })
    isWriting = false
  }
  await Promise.all([read(), write()])
  await pages()
  if (name === 'and is prepared') await sql`commit prepared 'slow load'`
  const [stamps] = await sql<{ count: number }[]>`
      select count(distinct updated_at)::int as count from purchased_voucher
      where id > ${newest} and updated_at in (select stamp from gateway.planned_stamp)`
  // Usually several stamps; on a busy machine, the first one may lie after the commit.
  expect(stamps?.count).toBeGreaterThan(0)
  await expectInSync('vouchers')
})
