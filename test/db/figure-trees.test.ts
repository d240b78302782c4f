/** Rollups of trees that move, of large trees and of large tenants, and the command that checks them. */
import { beforeAll, expect, test } from 'vitest'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { followed } from '../support/followed.ts'
import { untilLockWaits } from '../support/locks.ts'
import { run } from '../support/process.ts'
import { createFigures, step } from './figure-records.ts'

const { pool, platform, url } = await createFigures()
await platform`
  insert into purchased_voucher (tenant_id, reference, current_balance, initial_balance, currency, purchase_timestamp)
  select 1 + n % 3, 'R' || n, 10, 20, 'EUR', timestamptz '2026-01-01Z' + n * interval '1 hour'
  from generate_series(1, 30) n`
await platform`insert into customer (tenant_id, marketing_opted, consented_at) select 3, true, now() from generate_series(1, 4)`

async function expectRight(): Promise<void> {
  expect((await checkFigures(pool)).differences).toEqual([])
}

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

beforeAll(() => followed(pool))

test('the rollups follow the tree', async () => {
  expect(await countInTrees()).toEqual({ 1: 30, 2: 20 })
  expect(await readMembers()).toEqual(['1 1', '1 2', '1 3', '2 2', '2 3'])

  await platform`update tenant set parent_id = 4 where id = 2`
  await followed(pool)
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
  await expectRight()

  // An applier moves a tenant, and changes its vouchers.
  await platform.begin(async sql => {
    await sql`set local session_replication_role = replica`
    await sql`update tenant set parent_id = 1 where id = 3`
    await sql`update purchased_voucher set void = true where tenant_id = 3 and id < 10`
    await sql`insert into tenant (id, parent_id, name) values (5, 3, 'E')`
  })
  await step(pool, 1000)
  await expectRight()
  await followed(pool)
  expect(await countInTrees()).toEqual({ 1: 20, 3: 10, 4: 10 })
  await expectRight()

  await platform`delete from tenant where id = 5`
  await platform`update tenant set parent_id = 2 where id = 3`
  await followed(pool)
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
  await expectRight()
})

test('a step reads the tree and the vouchers at one instant', async () => {
  const move = (parent: number, from: number, to: number) =>
    platform.begin(async sql => {
      await sql`update tenant set parent_id = ${parent} where id = 3`
      await sql`update purchased_voucher set tenant_id = ${to} where tenant_id = ${from}`
    })
  await platform`update purchased_voucher set void = true where id = 1`
  await platform`update tenant set name = 'A2' where id = 1`
  let stepping: Promise<unknown> | undefined
  await platform.begin(async holder => {
    await holder`select from gateway.voucher_entry where id = 1 for update`
    stepping = step(pool, 1000)
    // The step has read what it follows, and waits for the entry.
    await untilLockWaits(platform)
    await move(1, 3, 4)
  })
  await stepping
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
  await expectRight()

  await followed(pool)
  expect(await countInTrees()).toEqual({ 1: 10, 4: 20 })
  await expectRight()
  await move(2, 4, 3)
  await followed(pool)
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
})

test('tenants that come with vouchers, and leave', async () => {
  await platform`insert into tenant (id, parent_id, name) select 10 + n, 1, 'F' from generate_series(1, 50) n`
  await platform`
    insert into purchased_voucher (tenant_id, reference) select id, gen_random_uuid() from tenant where parent_id = 1`
  await followed(pool)
  expect(await countInTrees()).toMatchObject({ 1: 60 })
  await expectRight()
  await platform`delete from purchased_voucher where tenant_id > 10`
  await platform`delete from tenant where parent_id = 1`
  await followed(pool)
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
  await expectRight()
})

test('a tenant with many vouchers has a rollup of its own', async () => {
  await platform`insert into tenant (id, name) values (6, 'Large')`
  await platform`insert into purchased_voucher (tenant_id, reference) select 6, 'L' || n from generate_series(1, 20001) n`
  await followed(pool)
  expect(await readMembers()).toContain('6 6')
  expect(await countInTrees()).toMatchObject({ 6: 20_001 })
  await platform`delete from purchased_voucher where tenant_id = 6`
  await followed(pool)
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
  expect(await readMembers()).not.toContain('6 6')
  await expectRight()
})

test('the command verify reports figures that differ, and repairs them', async () => {
  const verify = (...options: string[]) => run(['verify', ...options], { DATABASE_URL: url })
  const before = await readRollups()
  await platform`update gateway.figure_rollup set records = records + 1 where kind = 'balance' and ancestor_id = 4`
  await platform`delete from gateway.figure_rollup where kind = 'balance' and ancestor_id = 2`
  await platform`update gateway.consent_entry set tenant_id = 4 where id = 1`
  await platform`delete from gateway.figure_member where (ancestor_id, tenant_id) = (4, 3)`
  const wrong = await verify()
  expect([wrong.code, wrong.stderr]).toEqual([1, ''])
  expect(wrong.stdout).toMatch(/^consent \(entries\): 1 row of 1 tenant differ, first tenant 3$/m)
  expect(wrong.stdout).toMatch(/^balance \(rollups\): \d+ rows? of 2 tenants differ, first tenant 2$/m)
  expect(wrong.stdout).toMatch(/^member \(rollups\): 1 row of 1 tenant differ, first tenant 4$/m)
  expect(wrong.stdout).toContain('verify --repair')

  const repaired = await verify('--repair')
  expect(repaired).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('The service counts all figures anew now.'),
  })
  const during = expect.stringContaining('The service is counting the figures.')
  expect(await verify()).toMatchObject({ code: 1, stdout: during })

  await followed(pool)
  const agree = expect.stringMatching(/^The figures of 20[0-9T:.-]+Z agree with the records\.$/m)
  expect(await verify()).toMatchObject({ code: 0, stdout: agree })
  const { code, stdout } = await verify('--json')
  expect([code, JSON.parse(stdout)]).toEqual([0, { asOf: expect.any(String), differences: [], recounted: false }])
  expect(await readRollups()).toEqual(before)
})
