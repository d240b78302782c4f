/** Rollups of trees that move, of large trees and of large tenants, and the command that checks them. */
import { beforeAll, expect, test } from 'vitest'
import { run } from '../support/process.ts'
import { projected } from '../support/projected.ts'
import { createFigures } from './figure-records.ts'

const { pool, platform, url, expectFollowed } = await createFigures()
await platform`
  insert into purchased_voucher (tenant_id, reference, current_balance, initial_balance, currency, purchase_timestamp)
  select 1 + n % 3, 'R' || n, 10, 20, 'EUR', timestamptz '2026-01-01Z' + n * interval '1 hour'
  from generate_series(1, 30) n`
await platform`insert into customer (tenant_id, marketing_opted, consented_at) select 3, true, now() from generate_series(1, 4)`

/** Returns how many vouchers the rollups count, by the tenant above. */
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

const readRollups = () => pool`select * from gateway.figure_rollup order by 1, 2, 3, 4, 5, 6, 7`

beforeAll(() => projected(pool))

test('the rollups follow the tree', async () => {
  expect(await countInTrees()).toEqual({ 1: 30, 2: 20 })
  expect(await readMembers()).toEqual(['1 1', '1 2', '1 3', '2 2', '2 3'])

  await platform`update tenant set parent_id = 4 where id = 2`
  await expectFollowed()
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })

  // An applier moves a tenant, and changes its vouchers.
  await platform.begin(async sql => {
    await sql`set local session_replication_role = replica`
    await sql`update tenant set parent_id = 1 where id = 3`
    await sql`update purchased_voucher set void = true where tenant_id = 3 and id < 10`
    await sql`insert into tenant (id, parent_id, name) values (5, 3, 'E')`
  })
  await expectFollowed()
  expect(await countInTrees()).toEqual({ 1: 20, 3: 10, 4: 10 })

  await platform`delete from tenant where id = 5`
  await platform`update tenant set parent_id = 2 where id = 3`
  await expectFollowed()
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
})

test('tenants that come with vouchers, and leave', async () => {
  await platform`insert into tenant (id, parent_id, name) select 10 + n, 1, 'F' from generate_series(1, 50) n`
  await platform`
    insert into purchased_voucher (tenant_id, reference) select id, gen_random_uuid() from tenant where parent_id = 1`
  await expectFollowed()
  expect(await countInTrees()).toMatchObject({ 1: 60 })
  await platform`delete from purchased_voucher where tenant_id > 10`
  await platform`select gateway.request_scan('tenant', 'Most of them leave.')`
  await platform`call gateway.allow_removals('tenant')`
  await platform`delete from tenant where parent_id = 1`
  await expectFollowed()
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
})

test('a tenant with many vouchers has a rollup of its own', async () => {
  await platform`insert into tenant (id, name) values (6, 'Large')`
  await platform`insert into purchased_voucher (tenant_id, reference) select 6, 'L' || n from generate_series(1, 20001) n`
  await projected(pool)
  expect(await readMembers()).toContain('6 6')
  expect(await countInTrees()).toMatchObject({ 6: 20_001 })
  await platform`delete from purchased_voucher where tenant_id = 6`
  await expectFollowed()
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
  expect(await readMembers()).not.toContain('6 6')
})

test('the command verify reports records and figures that differ, and repairs them', async () => {
  const verify = async (...options: string[]) => {
    // No service makes steps here: verify names a step that is ten seconds old.
    await projected(pool)
    return run(['verify', ...options], { DATABASE_URL: url })
  }
  const before = await readRollups()
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
  expect(wrong.stdout).toMatch(/^figures balance: \d+ rows? of 2 tenants differ, first tenant 2$/m)
  expect(wrong.stdout).toMatch(/^figures member: 1 row of 1 tenant differ, first tenant 4$/m)
  expect(wrong.stdout).toContain('verify --repair')

  expect(await verify('--repair')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('The service writes these records with its next steps. Figures are corrected.'),
  })
  const agree = expect.stringMatching(/^The records and figures of 20[0-9T:.-]+Z agree with the sources\.$/m)
  expect(await verify()).toMatchObject({ code: 0, stdout: agree })
  const { code, stdout } = await verify('--json')
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    { asOf: expect.any(String), reasons: [], records: [], references: [], figures: [], repaired: false },
  ])
  expect(await readRollups()).toEqual(before)
})
