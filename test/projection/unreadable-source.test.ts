/** A row that makes the select of a mapping, or a rule, fail holds up its own type only, and the type comes back by itself. */
import { beforeEach, expect, test } from 'vitest'
import type { Sql } from '../../src/db/sql.ts'
import { checkSomeRecords, findRecordProblems } from '../../src/projection/check.ts'
import { makeStep } from '../../src/projection/step.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'
import { readSelect, writeUncaptured } from '../support/uncaptured.ts'

const database = await createDatabase()
const { pool, platform } = database
const build = createBuilders(database)
const tenant = await build.tenant()
const voucher = await build.voucher(tenant, { product_slug: '7' })
const text = await readSelect(platform, 'voucher')

const setSlug = (sql: Sql, slug: string) =>
  sql`update purchased_voucher set product_slug = ${slug} where id = ${voucher}`

/** Lets the time pass after which steps try to read a source again. */
const retry = async () => {
  await platform`update gateway.scan set failed_at = failed_at - interval '10 seconds'`
  await projected(pool)
}

beforeEach(async () => {
  await platform`
    call gateway.install_mapping('voucher', ${`${text} where coalesce(product_slug::integer, 0) < 100`}, '{}')`
  await setSlug(platform, '7')
  await retry()
  expect(await findRecordProblems(pool)).toEqual([])
})

test('a scan', async () => {
  await setSlug(platform, 'seven')
  await platform`select gateway.request_scan('voucher', 'It is compared.')`
  const other = await build.product(tenant)
  await projected(pool)
  expect(await pool`select id from gateway.product where id = ${other}`).toHaveLength(1)
  const message = 'The mapping of the type voucher does not fit its source: invalid input syntax for type integer.'
  const failing = { rejected: 1, reasons: [{ code: 'MAPPING_BROKEN', message }] }
  expect(await readStepState(pool)).toMatchObject(failing)
  await platform`update gateway.step set behind_since = behind_since - interval '1 minute'`
  await retry()
  expect(await readStepState(pool)).toMatchObject(failing)
  expect((await readStepState(pool)).secondsBehind).toBeGreaterThanOrEqual(60)

  await setSlug(platform, '8')
  await retry()
  expect(await readStepState(pool)).toMatchObject({ rejected: 0, reasons: [], secondsBehind: 0 })
  expect(await findRecordProblems(pool)).toEqual([])
})

test('the check in the background, and verify', async () => {
  const customer = await build.customer(tenant)
  await projected(pool)
  await platform.begin(async sql => {
    await sql`alter table purchased_voucher disable trigger all`
    await sql`alter table customer disable trigger all`
    await setSlug(sql, 'seven')
    await sql`update customer set surname = 'Moss' where id = ${customer}`
    await sql`alter table purchased_voucher enable trigger all`
    await sql`alter table customer enable trigger all`
  })
  const unread = { record: 'voucher', firstKeys: [], reason: expect.stringContaining('invalid input syntax') }
  expect(await findRecordProblems(pool)).toMatchObject([unread, { record: 'customer', firstKeys: [`${customer}`] }])
  const found: string[] = []
  for (let part = 0; part < 12; part++) found.push(...(await checkSomeRecords(pool)))
  expect(found).toContain(`customer ${customer}`)
  await projected(pool)
  expect(await findRecordProblems(pool)).toMatchObject([unread])
  expect((await readStepState(pool)).differed).toBeGreaterThan(0)
})

test('a rule', async () => {
  const rules = { tenant: 'select (select id from purchased_voucher where tenant_id = changed.id)::text from changed' }
  const mapping = `${text} where exists (select from public.tenant where tenant.id = purchased_voucher.tenant_id and name <> '')`
  await build.voucher(tenant)
  const product = await build.product(tenant)
  await platform`call gateway.install_mapping('voucher', ${mapping}, ${JSON.stringify(rules)}::text::jsonb)`
  await platform`call gateway.capture('public.tenant')`
  await projected(pool)
  await platform`update tenant set name = 'New Mill'`
  await platform`update product set title = 'Spa' where id = ${product}`
  await projected(pool)
  expect(await pool`select title from gateway.product where id = ${product}`).toEqual([{ title: 'Spa' }])
  expect(await findRecordProblems(pool)).toEqual([])
})

test('a scan that would remove too much once its source can be read again', async () => {
  await platform`
    insert into purchased_voucher (tenant_id, reference) select ${tenant}, 'V-' || n from generate_series(1, 3000) n`
  await setSlug(platform, 'seven')
  await platform`select gateway.request_scan('voucher', 'It is compared.')`
  await projected(pool)
  await writeUncaptured(platform, async sql => {
    await setSlug(sql, '8')
    await sql`delete from purchased_voucher where reference like 'V-%'`
  })
  await platform`update gateway.scan set removed = 1000`
  await retry()
  expect((await readStepState(pool)).reasons).toMatchObject([{ code: 'MAPPING_STOPPED' }])
  expect(await makeStep(pool)).not.toBe(true)
  await platform`call gateway.allow_removals('voucher')`
  await projected(pool)
})

test('a mapping that did not fit', async () => {
  await platform`create table flag as select '1' as code`
  const rules = { flag: 'select id::text from public.purchased_voucher, changed where changed.code is not null' }
  const mapping = `
    select shown.* from (select max(code::integer) as code from public.flag) flag join (${text}) shown on shown.key > flag.code - 2`
  await platform`call gateway.install_mapping('voucher', ${mapping}, ${JSON.stringify(rules)}::text::jsonb)`
  await projected(pool)
  await platform`alter table purchased_voucher rename product_title to name`
  await platform`update purchased_voucher set name = 'Spa'`
  await projected(pool)
  await platform`update flag set code = 'one'`
  await platform`alter table purchased_voucher rename name to product_title`
  const other = await build.product(tenant)
  await projected(pool)
  expect(await pool`select id from gateway.product where id = ${other}`).toHaveLength(1)
  expect((await readStepState(pool)).reasons).toMatchObject([{ code: 'MAPPING_BROKEN' }])
})
