/** Tests that changes without capture are found, and that a wrong mapping does not empty the lists. */
import { expect, test } from 'vitest'
import type { Sql } from '../../src/db/sql.ts'
import { checkFigures, repairFigures } from '../../src/domain/figures/check.ts'
import { checkSomeRecords, findRecordProblems } from '../../src/projection/check.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import { createDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'
import { expectProjected } from '../support/record-problems.ts'
import { readSelect, writeUncaptured } from '../support/uncaptured.ts'

const { pool, platform, build } = await createDatabase()
const tenant = await build.tenant()
const vouchers = 2200
await platform`
  insert into purchased_voucher (tenant_id, reference) select ${tenant}, 'V-' || n from generate_series(1, ${vouchers}::int) n`
await projected(pool)

/** Runs the check until all records are compared. @returns the keys that differ */
async function checkAll(sql: Sql = pool): Promise<string[]> {
  const found: string[] = []
  const isAtStart = async () =>
    (await sql`select from gateway.check_progress where record = 'tenant' and reached is null`).length > 0
  do found.push(...(await checkSomeRecords(sql)))
  while (!(await isAtStart()))
  return found.sort()
}

const countRecords = async (sql = pool) => (await sql`select from gateway.voucher`).length

test('the background check finds rows that were written while triggers were disabled', async () => {
  await writeUncaptured(platform, async sql => {
    await sql`update purchased_voucher set void = true where id = 7`
    await sql`delete from purchased_voucher where id = 8`
    await sql`insert into purchased_voucher (id, tenant_id, reference) values (9000, ${tenant}, 'UNSEEN')`
  })
  await projected(pool)
  expect(await checkAll()).toEqual(['voucher 7', 'voucher 8', 'voucher 9000'])
  await projected(pool)
  expect((await readStepState(pool)).verifiedThrough).toBeNull()
  expect(await checkAll()).toEqual([])
  expect((await readStepState(pool)).verifiedThrough).not.toBeNull()
  expect(await findRecordProblems(pool)).toEqual([])
  expect(await pool`select id from gateway.voucher where void or id in (8, 9000)`).toHaveLength(2)
})

test.each<[string, () => Promise<unknown>]>([
  ['the check in the background', () => checkAll()],
  ['verify --repair', () => findRecordProblems(pool, true)],
])('an entry that differs from its record is found, and written again after %s (I11)', async (_, check) => {
  await platform`update gateway.voucher_entry set reference = 'WRONG' where id = 3`
  await platform`delete from gateway.voucher_entry where id = 4`
  const differences = ['3', '4'].map(key => ({ key, columns: [], reason: 'Its entry differs.' }))
  expect(await findRecordProblems(pool)).toMatchObject([{ record: 'voucher', differences }])
  await check()
  await expectProjected(pool)
})

test('a scan that would remove most records stops until an operator allows it or mends the mapping (I9)', async () => {
  const text = await readSelect(platform, 'voucher')
  const install = async (mapping: string) => {
    await platform`call gateway.install_mapping('voucher', ${mapping}, '{}')`
    await projected(pool)
  }
  const wrong = `${text} where id < 10`
  await install(wrong)
  expect(await countRecords()).toBeGreaterThanOrEqual(vouchers - 1000)
  const reason = expect.stringContaining("gateway.allow_removals('voucher')")
  expect(await findRecordProblems(pool)).toMatchObject([{ record: 'voucher', reason, keys: 1 }])
  await install(text)
  expect(await findRecordProblems(pool)).toEqual([])
  expect(await countRecords()).toBe(vouchers)

  await install(wrong)
  await platform`call gateway.allow_removals('voucher')`
  await projected(pool)
  expect(await countRecords()).toBe(8)
  expect(await findRecordProblems(pool)).toEqual([])
})

test('few tenants are removed until an operator allows more, and all stay when their rows return', async () => {
  const { pool, platform } = await createDatabase()
  await platform`insert into tenant (name) select 'Shop ' || n from generate_series(1, 20) n`
  await projected(pool)
  const text = await readSelect(platform, 'tenant')
  const lose: [lose: string, shown: number][] = [
    ['truncate tenant cascade', 0],
    // Rows that still exist are shown in their present state.
    ["delete from tenant where id > 5; update tenant set name = 'Renamed' where id = 5", 1],
    [`call gateway.install_mapping('tenant', $$${text} where id < 3$$, '{}')`, 1],
  ]
  for (const [what, renamed] of lose) {
    await platform`create table former as table tenant`
    await platform.unsafe(what)
    await projected(pool)
    expect(await platform`select from gateway.tenant`, what).toHaveLength(20)
    expect(await platform`select from gateway.tenant where name = 'Renamed'`, what).toHaveLength(renamed)
    const message = expect.stringMatching(/\d+ of 20 records .* gateway\.allow_removals\('tenant'\)/)
    expect((await readStepState(pool)).reasons, what).toMatchObject([{ code: 'MAPPING_STOPPED', message }])
    await platform`insert into tenant table former on conflict do nothing`
    await platform`call gateway.install_mapping('tenant', ${text}, '{}')`
    await platform`drop table former`
    // Makes the failure old enough for steps to try again.
    await platform`update gateway.scan set failed_at = failed_at - interval '10 seconds'`
    await projected(pool)
    expect((await readStepState(pool)).reasons, what).toEqual([])
    expect(await findRecordProblems(pool), what).toEqual([])
  }
  await platform`delete from tenant where id > 12`
  await projected(pool)
  expect(await platform`select from gateway.tenant`).toHaveLength(12)
  await platform`delete from tenant where id > 1`
  await projected(pool)
  await platform`call gateway.allow_removals('tenant')`
  await projected(pool)
  expect(await platform`select from gateway.tenant`).toHaveLength(1)
  expect(await findRecordProblems(pool)).toEqual([])
})

test('a dropped column that only a rule reads is reported, even without a write', async () => {
  const { pool, platform } = await createDatabase()
  const text = await readSelect(platform, 'voucher')
  await platform.unsafe('create table flag (code integer); create table link (voucher bigint, flag integer)').simple()
  const rules = {
    flag: 'select voucher::text from changed join public.link on link.flag = changed.code',
    link: 'select voucher::text from changed',
  }
  const mapping = `${text} where exists (select from public.flag) or not exists (select from public.link)`
  await platform`call gateway.install_mapping('voucher', ${mapping}, ${JSON.stringify(rules)}::text::jsonb)`
  await platform.unsafe(`call gateway.capture('flag'); call gateway.capture('link')`).simple()
  await projected(pool)
  for (const [table, column] of ['flag.code', 'link.voucher', 'link.flag'].map(name => name.split('.'))) {
    await platform.unsafe(`alter table ${table} rename ${column} to other`)
    await checkSomeRecords(pool)
    await projected(pool)
    const message = expect.stringMatching(new RegExp(`voucher .*\\b${column}"? .*does not exist`))
    expect((await readStepState(pool)).reasons).toMatchObject([{ code: 'MAPPING_BROKEN', message }])
    await platform.unsafe(`alter table ${table} rename other to ${column}`)
    await projected(pool)
    expect((await readStepState(pool)).reasons).toEqual([])
  }
})

test.each<[what: string, check: (sql: Sql) => Promise<unknown>]>([
  ['the check in the background', checkAll],
  ['verify --repair', sql => findRecordProblems(sql, true)],
])('%s does not empty the lists when the source is empty', async (_, check) => {
  const { pool, platform } = await createDatabase()
  await platform
    .unsafe(`insert into tenant (name) values ('Old Mill');
      insert into purchased_voucher (tenant_id, reference) select 1, 'V-' || n from generate_series(1, ${vouchers}) n`)
    .simple()
  await projected(pool)
  await writeUncaptured(platform, sql => sql`delete from purchased_voucher`)
  await check(pool)
  await projected(pool)
  expect(await countRecords(pool)).toBeGreaterThanOrEqual(vouchers - 1000)
  const [problem] = await findRecordProblems(pool)
  expect(problem).toMatchObject({ record: 'voucher', reason: expect.stringContaining('have no row in the source') })
  await platform`call gateway.allow_removals('voucher')`
  await expectProjected(pool)
  expect(await countRecords(pool)).toBe(0)
})

test('verify names the types that steps have not yet compared', async () => {
  for (const change of ["select gateway.request_scan('customer', 'It is compared.')", 'truncate customer']) {
    await platform.unsafe(change)
    expect(await findRecordProblems(pool)).toMatchObject([{ record: 'customer', firstKeys: [] }])
    await expectProjected(pool)
  }
})

test('a scan stops at the limit of removals, even when requested again; a truncation removes all', async () => {
  const { pool, platform } = await createDatabase()
  await platform
    .unsafe(`insert into tenant (name) values ('Old Mill');
      insert into purchased_voucher (tenant_id, reference) select 1, 'V-' || n from generate_series(1, 6000) n`)
    .simple()
  await projected(pool)
  await writeUncaptured(platform, sql => sql`delete from purchased_voucher where id % 4 = 0`)
  for (let turn = 0; turn < 3; turn++) {
    await platform`call gateway.capture('purchased_voucher')`
    await projected(pool)
    expect(await findRecordProblems(pool)).toMatchObject([{ reason: expect.stringContaining('have no row') }])
    expect(await countRecords(pool)).toBeGreaterThanOrEqual(5000)
  }
  await platform`truncate purchased_voucher`
  await projected(pool)
  expect(await countRecords(pool)).toBe(0)
  expect(await findRecordProblems(pool)).toEqual([])
})

test('a row whose mapping fails is found, and the check continues with other rows', async () => {
  await writeUncaptured(platform, async sql => {
    await sql`alter table purchased_voucher alter current_balance type text`
    await sql`update purchased_voucher set current_balance = 'n/a' where id = 2`
    await sql`update purchased_voucher set void = not void where id = 3`
  })
  await projected(pool)
  expect(await checkAll()).toEqual(['voucher 2', 'voucher 3'])
  await projected(pool)
  expect(await findRecordProblems(pool)).toMatchObject([{ record: 'voucher', firstKeys: ['2'] }])

  await writeUncaptured(platform, sql => sql`update purchased_voucher set current_balance = null where id = 2`)
  expect(await checkAll()).toEqual([])
  await expectProjected(pool)
})

test('wrong list heads are found, and their repair demands a full pass of all clients', async () => {
  const other = await build.tenant()
  await build.product(tenant)
  await projected(pool)
  await platform`update gateway.list_head set changed_at = '2020-01-01Z' where (tenant_id, record) = (${tenant}, 'voucher')`
  await platform`update gateway.list_head set changed_at = now() + interval '1 h' where (tenant_id, record) = (${other}, 'tenant')`
  await platform`delete from gateway.list_head where (tenant_id, record) = (${tenant}, 'product')`
  const { differences } = await checkFigures(pool)
  expect(differences).toEqual([{ kind: 'head', rows: 3, tenants: 2, firstTenant: tenant }])
  const [former] = await platform<[{ epoch: number }]>`select epoch from gateway.sync_state`
  await repairFigures(pool)
  expect((await checkFigures(pool)).differences).toEqual([])
  const [present] = await platform<[{ epoch: number }]>`select epoch from gateway.sync_state`
  expect(present.epoch).toBeGreaterThan(former.epoch)
})
