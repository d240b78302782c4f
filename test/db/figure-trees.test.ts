/** Figures of trees that move, of removals that are purged, and their repair. */
import { expect, test } from 'vitest'
import { createFigureFolding } from '../../src/domain/figure-folding.ts'
import { createDatabase } from '../support/database.ts'
import { run } from '../support/process.ts'

const { pool, platform, url } = await createDatabase()
const figures = createFigureFolding(pool, new AbortController().signal)
await platform`insert into tenant (id, parent_id, name) values (1, null, 'A'), (2, 1, 'B'), (3, 2, 'C'), (4, null, 'D')`
await platform`
  insert into purchased_voucher (tenant_id, reference, current_balance, initial_balance, currency, purchase_timestamp)
  select 1 + n % 3, 'R' || n, 10, 20, 'EUR', timestamptz '2026-01-01Z' + n * interval '1 hour'
  from generate_series(1, 30) n`
await platform`insert into customer (tenant_id, marketing_opted, consented_at) select 3, true, now() from generate_series(1, 4)`

const readDifferences = () => pool`select * from gateway.figure_differences()`

/** Returns how many vouchers the rows with_descendants count, by tenant. */
async function countInTrees(): Promise<Record<number, number>> {
  const rows = await pool<{ tenant: number; records: number }[]>`
    select tenant_id::int as tenant, sum(records)::int as records from gateway.figure_rollup
    where with_descendants and kind = 'balance' group by tenant_id order by tenant_id`
  return Object.fromEntries(rows.map(({ tenant, records }) => [tenant, records]))
}

const readMembers = async () => {
  const rows = await pool<{ pair: string }[]>`
    select ancestor_id || ' ' || tenant_id as pair from gateway.figure_member order by ancestor_id, tenant_id`
  return rows.map(({ pair }) => pair)
}

const verify = (...options: string[]) => run(['verify', ...options], { DATABASE_URL: url })

test('the figures of a tenant with those below it follow the tree', async () => {
  await figures.fold()
  await figures.refreshMembers()
  expect(await countInTrees()).toEqual({ 1: 30, 2: 20 })
  expect(await readMembers()).toEqual(['1 1', '1 2', '1 3', '2 2', '2 3'])

  await platform`update tenant set parent_id = 4 where id = 2`
  await figures.refreshMembers()
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
  expect(await readDifferences()).toEqual([])

  // An applier moves a tenant, while deltas wait.
  await platform.begin(async sql => {
    await sql`set local session_replication_role = replica`
    await sql`update tenant set parent_id = 1 where id = 3`
    await sql`update purchased_voucher set void = true where tenant_id = 3 and id < 10`
    await sql`insert into tenant (id, parent_id, name) values (5, 3, 'E')`
  })
  await figures.refreshMembers()
  expect(await readDifferences()).toEqual([])
  await figures.fold()
  expect(await countInTrees()).toEqual({ 1: 20, 3: 10, 4: 10 })
  expect(await readDifferences()).toEqual([])

  await platform`delete from tenant where id = 5`
  await platform`update tenant set parent_id = 2 where id = 3`
  await figures.refreshMembers()
  expect(await countInTrees()).toEqual({ 2: 20, 4: 20 })
  expect(await readDifferences()).toEqual([])
})

test('a large tree is followed in parts', async () => {
  await platform`insert into tenant (id, parent_id, name) select 10 + n, 1, 'F' from generate_series(1, 5) n`
  expect(await pool`select gateway.refresh_figure_members(4) as changed`).toEqual([{ changed: 4 }])
  expect(await readDifferences()).toEqual([])
  expect(await pool`select gateway.refresh_figure_members(4) as changed`).toEqual([{ changed: 2 }])
  expect(await readDifferences()).toEqual([])
  await platform`delete from tenant where parent_id = 1`
  await figures.refreshMembers()
})

test('a withdrawal counts in the quarter hour of its final stamp, and stays after the purge of its removal', async () => {
  const [then] = await pool<{ at: string }[]>`select (now() - interval '3 hours')::text as at`
  const earlier = then?.at ?? ''
  const countWithdrawals = async () => {
    const rows = await pool<{ at: string; records: number }[]>`
      select (at = gateway.quarter_hour(${earlier}::text::timestamptz))::text as at, sum(records)::int as records
      from gateway.figure_rollup where kind = 'withdrawal' and grain = 'quarter_hour' and not with_descendants group by 1 order by 1`
    return rows.map(({ at, records }) => [at, records])
  }
  await platform`update customer set marketing_opted = false where id <= 2`
  await platform.begin(async sql => {
    await sql`alter table gateway.removal disable trigger z_stamp_insert`
    await sql`
      insert into gateway.removal (resource, tenant_id, record_id, reason, updated_at)
      values ('marketing_signup', 3, 77, 'consent_withdrawn', ${earlier}::text::timestamptz),
             ('marketing_signup', 3, 78, 'consent_withdrawn', ${earlier}::text::timestamptz),
             ('marketing_signup', 3, 79, 'deleted', now())`
    await sql`alter table gateway.removal enable always trigger z_stamp_insert`
  })
  await figures.fold()
  expect(await countWithdrawals()).toEqual([
    ['false', 2],
    ['true', 2],
  ])
  await platform`update gateway.removal set record_id = 76 where record_id = 77`
  await figures.fold()
  expect(await countWithdrawals()).toEqual([
    ['false', 3],
    ['true', 1],
  ])
  expect(await readDifferences()).toEqual([])

  await platform`delete from gateway.removal where record_id > 2`
  await figures.fold()
  expect(await countWithdrawals()).toEqual([
    ['false', 3],
    ['true', 1],
  ])
  expect(await readDifferences()).toEqual([])
})

test('the command verify reports figures that differ, and repairs them', { timeout: 60_000 }, async () => {
  const before = await pool`select * from gateway.figure_rollup order by 1, 2, 3, 4, 5, 6, 7, 8`
  await platform`update gateway.figure_rollup set records = records + 1 where kind = 'balance' and tenant_id = 3`
  await platform`insert into gateway.voucher_delta select * from gateway.vouchers_as_deltas() where tenant_id = 1 limit 1`
  const wrong = await verify()
  expect([wrong.code, wrong.stderr]).toEqual([1, ''])
  expect(wrong.stdout).toMatch(/^balance: \d+ rows? of 2 tenants differ, first tenant 1$/m)
  expect(wrong.stdout).toMatch(/^sale: \d+ rows? of 1 tenant differ, first tenant 1$/m)
  expect(wrong.stdout).toContain('verify --repair')
  expect((await verify('--repair')).stdout).toMatch(/^Corrected \d+ rows\.$/m)
  const right = await verify()
  expect([right.code, right.stdout.trim()]).toEqual([0, 'The figures agree with the records.'])
  await platform`delete from gateway.voucher_delta`
  await platform`select gateway.repair_figures()`
  expect(await pool`select * from gateway.figure_rollup order by 1, 2, 3, 4, 5, 6, 7, 8`).toEqual(before)
})

test('lost rollups are counted anew', async () => {
  const before =
    await pool`select * from gateway.figure_rollup where kind <> 'withdrawal' order by 1, 2, 3, 4, 5, 6, 7, 8`
  expect(before.length).toBeGreaterThan(0)
  await platform`truncate gateway.figure_rollup, gateway.figure_member, gateway.voucher_delta`
  await platform`select gateway.repair_figures()`
  await figures.refreshMembers()
  expect(await readDifferences()).toEqual([])
  const after =
    await pool`select * from gateway.figure_rollup where kind <> 'withdrawal' order by 1, 2, 3, 4, 5, 6, 7, 8`
  expect(after).toEqual(before)
})
