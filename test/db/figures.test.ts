/**
 * Figures stay equal to the records after each way of writing, and when tenants move in the tree. `test/projection`
 * tests concurrent sessions.
 */
import { expect, test } from 'vitest'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { createDatabase } from '../support/database.ts'
import { run } from '../support/process.ts'
import { projected } from '../support/projected.ts'
import { findRecordProblems } from '../support/record-problems.ts'

const { platform, pool, url } = await createDatabase()
await platform
  .unsafe(`
  insert into tenant (id, parent_id, name) values (1, null, 'A'), (2, 1, 'B'), (3, 2, 'C'), (4, null, 'D');
  insert into purchased_voucher (tenant_id, reference, current_balance, initial_balance, currency, purchase_timestamp)
  select 1 + n % 3, 'R' || n, 10, 20, 'EUR', timestamptz '2026-01-01Z' + n * interval '1 hour' from generate_series(1, 30) n;
  insert into customer (tenant_id, marketing_opted, consented_at) select 3, true, now() from generate_series(1, 4)`)
  .simple()
await projected(pool)

/** Makes the pending steps. Then expects records that equal their sources, and figures that equal the records. */
async function expectConsistent(what?: string): Promise<void> {
  await projected(pool)
  expect(await findRecordProblems(pool), what).toEqual([])
  expect((await checkFigures(pool)).differences, what).toEqual([])
  const withdrawals = await platform`
    select tenant_id, updated_at as withdrawn_at from gateway.removal where reason = 'consent_withdrawn' order by 2`
  const counted = await platform`select * from gateway.consent_withdrawal order by withdrawn_at`
  expect([...counted], what).toEqual([...withdrawals])
}

async function changeAndExpect(statements: string): Promise<void> {
  await platform.unsafe(statements).simple()
  await expectConsistent(statements)
}

/** Returns, by ancestor, the number of vouchers that the rollups count. */
async function countInTrees(): Promise<Record<number, number>> {
  const rows = await pool`
    select ancestor_id::int as tenant, sum(records)::int as records from gateway.figure_rollup
    where kind = 'balance' group by ancestor_id order by ancestor_id`
  return Object.fromEntries(rows.map(({ tenant, records }) => [tenant, records]))
}

const readMembers = async () => {
  const pairs = await pool`select ancestor_id, tenant_id from gateway.figure_member order by ancestor_id, tenant_id`
  return pairs.map(({ ancestor_id, tenant_id }) => `${ancestor_id} ${tenant_id}`)
}

test('the rollups stay correct when tenants move in the tree', async () => {
  expect(await countInTrees()).toEqual({ 1: 30, 2: 20 })
  expect(await readMembers()).toEqual(['1 1', '1 2', '1 3', '2 2', '2 3'])
  await changeAndExpect('update tenant set parent_id = 4 where id = 2')
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
  // A replication session moves a tenant, and changes its vouchers.
  await changeAndExpect(`
    set session_replication_role = replica;
    update tenant set parent_id = 1 where id = 3;
    update purchased_voucher set void = true where tenant_id = 3 and id < 10;
    insert into tenant (id, parent_id, name) values (5, 3, 'E');
    reset session_replication_role`)
  expect(await countInTrees()).toEqual({ 1: 20, 3: 10, 4: 10 })
  await changeAndExpect('delete from tenant where id = 5; update tenant set parent_id = 2 where id = 3')
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
})

test('the rollups stay correct when tenants with vouchers are added and deleted', async () => {
  await changeAndExpect(`
    insert into tenant (id, parent_id, name) select 10 + n, 1, 'F' from generate_series(1, 50) n;
    insert into purchased_voucher (tenant_id, reference) select id, gen_random_uuid() from tenant where parent_id = 1`)
  expect(await countInTrees()).toMatchObject({ 1: 60 })
  await platform`delete from purchased_voucher where tenant_id > 10`
  await platform`select gateway.request_scan('tenant', 'Most of them leave.')`
  await platform`call gateway.allow_removals('tenant')`
  await changeAndExpect('delete from tenant where parent_id = 1')
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
})

test('a tenant with many vouchers gets its own rollup', async () => {
  await platform`insert into tenant (id, name) values (6, 'Large')`
  await platform`insert into purchased_voucher (tenant_id, reference) select 6, 'L' || n from generate_series(1, 20001) n`
  await projected(pool)
  expect(await readMembers()).toContain('6 6')
  expect(await countInTrees()).toMatchObject({ 6: 20_001 })
  await changeAndExpect('delete from purchased_voucher where tenant_id = 6')
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
  expect(await readMembers()).not.toContain('6 6')
})

test('the command verify reports figures and records that differ, and corrects them', async () => {
  const verify = async (...options: string[]) => {
    // verify reports a last step that is older than ten seconds, and no service makes steps here.
    await projected(pool)
    return run(['verify', ...options], { DATABASE_URL: url })
  }
  await platform`update gateway.figure_rollup set records = records + 1 where kind = 'balance' and ancestor_id = 4`
  await platform`delete from gateway.figure_rollup where kind = 'balance' and ancestor_id = 2`
  await platform`delete from gateway.figure_member where (ancestor_id, tenant_id) = (4, 3)`
  await platform`update gateway.customer set full_name = 'Ann' where id = 1`
  await platform`delete from gateway.customer where id = 2`
  const wrong = await verify()
  expect([wrong.code, wrong.stderr]).toEqual([1, ''])
  expect(wrong.stdout).toContain(
    'customer: 2 keys differ from the source:\n  customer 1: full_name\n  customer 2: There is no record.\n',
  )
  expect(wrong.stdout).toMatch(/^figures balance: \d+ rows? of 2 tenants differs?, first tenant 2$/m)
  expect(wrong.stdout).toMatch(/^figures member: 1 row of 1 tenant differs, first tenant 4$/m)
  expect(wrong.stdout).toContain('verify --repair')

  expect(await verify('--repair')).toMatchObject({ code: 0, stdout: expect.stringContaining('Figures are corrected.') })
  const { code, stdout } = await verify('--json')
  const nothing = { reasons: [], records: [], references: [], figures: [], repaired: false }
  expect([code, JSON.parse(stdout)]).toEqual([0, { asOf: expect.any(String), ...nothing }])
})

const voucherInsert = `
  insert into purchased_voucher (tenant_id, reference, initial_balance, current_balance, purchase_value, currency,
    purchase_timestamp, date_valid_end, product_id, parent_product_id)
  select 1 + n % 3, gen_random_uuid(), 50, 50 - n % 3 * 25, 45.5,
         case when n % 4 > 0 then 'EUR' else 'USD' end,
         case when n % 5 > 0 then timestamptz '2026-01-31T22:59:59Z' + n * interval '1 hour' end,
         case when n % 6 > 0 then date '2027-01-01' + n % 7 end, nullif(n % 4, 0), nullif(n % 8, 0)
  from generate_series(1, 40) n`

const customerInsert = `
  insert into customer (tenant_id, marketing_opted, consented_at)
  select 1 + n % 3, n % 2 = 0, case when n % 4 > 0 then timestamptz '2026-03-01T00:30:00Z' + n * interval '20 minutes' end
  from generate_series(1, 40) n`

/** Deletes all rows, and inserts the rows that the statements in `writes` change. */
const insertRows = () =>
  changeAndExpect(`truncate purchased_voucher, customer restart identity; ${voucherInsert}; ${customerInsert}`)

const writes = [
  voucherInsert,
  `insert into purchased_voucher (id, tenant_id, reference, current_balance, currency)
   select id, tenant_id, reference, 1, 'EUR' from purchased_voucher where id in (1, 2)
   union all select 900, 2, 'upserted', 3, 'EUR'
   on conflict (id) do update set current_balance = 7, currency = 'EUR'`,
  `merge into purchased_voucher voucher using generate_series(3, 6) n on voucher.id = n
   when matched and n = 3 then delete
   when matched then update set void = not void
   when not matched then insert (tenant_id, reference) values (1, gen_random_uuid())`,
  ...[
    'tenant_id = tenant_id % 3 + 1',
    'id = id + 1000',
    "purchase_timestamp = purchase_timestamp + interval '1 hour'",
    'date_valid_end = date_valid_end + 1, date_valid_start = date_valid_end',
    'product_id = product_id + 1, parent_product_id = null',
    'current_balance = current_balance / 2, initial_balance = initial_balance + 1',
    'currency = null, initial_balance = null, current_balance = null, purchase_value = null',
    "void = not void, redemption_status = 'Redeemed'",
  ].map(change => `update purchased_voucher set ${change} where id % 5 = 0`),
  'delete from purchased_voucher where id % 2 = 0',
  `delete from purchased_voucher where id in (1, 11, 13);
   insert into purchased_voucher (id, tenant_id, reference) values (1, 4, 'back'), (8, 2, 'late')`,
  'truncate purchased_voucher',
  customerInsert,
  `update customer set consented_at = '2026-06-01T12:34:56Z' where id in (4, 9)`,
  'update customer set consented_at = null where id in (2, 3)',
  'update customer set marketing_opted = false where id % 6 = 0',
  'update customer set tenant_id = tenant_id % 3 + 1',
  'update customer set id = id + 1000 where id % 7 = 0',
  'update customer set id = id + 1000, marketing_opted = false where id % 10 = 0',
  // These customers give or lose their consent, and then are deleted or get other ids in the same transaction.
  `update customer set marketing_opted = true, consented_at = now() where id in (5, 13);
   delete from customer where id in (5, 13)`,
  `update customer set consented_at = null where id in (1, 15, 16); delete from customer where id in (1, 15, 16)`,
  `update customer set consented_at = null where id in (17, 18); update customer set id = id + 1000 where id in (17, 18)`,
  'delete from customer where id between 20 and 30',
  'update customer set consented_at = null where id > 30; truncate customer',
]

test('figures are correct after each way of writing', async () => {
  await insertRows()
  for (const write of writes) await changeAndExpect(write)
})

test('figures are correct when one step contains all ways of writing', async () => {
  await insertRows()
  await changeAndExpect(writes.join(';'))
})
