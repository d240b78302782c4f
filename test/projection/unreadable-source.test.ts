/** When a mapping or a rule fails for a row, or its source is missing, only its record type stops until the repair. */
import { beforeEach, expect, test } from 'vitest'
import type { Sql } from '../../src/db/sql.ts'
import { checkSomeRecords, findRecordProblems } from '../../src/projection/check.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import type { Reason } from '../../src/reasons.ts'
import { createApp } from '../support/app.ts'
import { createDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'
import { expectProjected } from '../support/record-problems.ts'
import { readSelect, writeUncaptured } from '../support/uncaptured.ts'

const database = await createDatabase()
const { pool, platform, build } = database
const tenant = await build.tenant()
const voucher = await build.voucher(tenant, { product_slug: '7' })
await build.voucher(tenant)
const text = await readSelect(platform, 'voucher')

const setSlug = (sql: Sql, slug: string) =>
  sql`update purchased_voucher set product_slug = ${slug} where id = ${voucher}`

/** Lets steps try to read a failed source again. */
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

test('a scan that reads a failing row reports its record type, and ends when the row is repaired', async () => {
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

test('when a row fails, the background check and verify continue with the other record types', async () => {
  const customer = await build.customer(tenant)
  await projected(pool)
  await writeUncaptured(platform, sql => setSlug(sql, 'seven'))
  await writeUncaptured(platform, sql => sql`update customer set surname = 'Moss'`, 'customer')
  const unread = { record: 'voucher', firstKeys: [], reason: expect.stringContaining('invalid input syntax') }
  expect(await findRecordProblems(pool)).toMatchObject([unread, { record: 'customer', firstKeys: [`${customer}`] }])
  for (let part = 0; part < 12; part++) await checkSomeRecords(pool)
  await projected(pool)
  expect(await findRecordProblems(pool)).toMatchObject([unread])
  expect((await readStepState(pool)).differed).toBeGreaterThan(0)
})

test('when a rule fails, steps compare all records of its type, and other types are not delayed', async () => {
  const rules = { tenant: 'select (select id from purchased_voucher where tenant_id = changed.id)::text from changed' }
  const mapping = `${text} where exists (select from public.tenant where tenant.id = purchased_voucher.tenant_id and name <> '')`
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

test('a mapping that fits again but fails for a row delays no other type', async () => {
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

test.each([
  ['moved to another schema', (table: string) => `alter table ${table} set schema spare`],
  [
    'dropped, and created again',
    (table: string) => `
      create table spare.${table} (like ${table} including all);
      insert into spare.${table} select * from ${table};
      drop table ${table} cascade`,
  ],
])('a table that is %s is named until it is back, and delays no other source', async (_, lose) => {
  const database = await createDatabase()
  const { pool, platform, build } = database
  const { ask } = await createApp(database)
  const tenant = await build.tenant()
  const product = await build.product(tenant)
  await build.category(tenant, [product])
  await build.variant(product)
  await build.voucher(tenant, { product_title: 'Tea' })
  await build.customer(tenant)
  await projected(pool)
  await platform`create schema spare`
  const readReasons = async () => {
    const { status, body } = await ask({ method: 'GET', url: '/readyz' })
    expect(status).toBe(200)
    return body.reasons.filter(({ code }: Reason) => code !== 'MAPPING_BROKEN')
  }
  const titles = { category: 'title', product: 'title', variant: 'title', purchased_voucher: 'product_title' }
  const columns = Object.entries({ tenant: 'name', ...titles, customer: 'full_name' })
  const recordOf = (table: string) => table.replace(/purchased_|_category/, '')
  for (const table of [...columns.map(([name]) => name), 'product_category']) {
    await platform.unsafe(lose(table)).simple()
    for (const [name, column] of columns)
      await platform.unsafe(`update ${name === table ? `spare.${name}` : name} set ${column} = '${table} is missing'`)
    await projected(pool)
    for (const [name, column] of columns) {
      const shown = `select from gateway.${recordOf(name)} where ${column} = '${table} is missing'`
      const count = async () => (await pool.unsafe(shown)).length
      await expect.poll(count, { message: `${name} without ${table}` }).toBe(recordOf(name) === recordOf(table) ? 0 : 1)
    }
    const message = `Table public.${table}, a source of records, does not exist.`
    const action = 'Let the owner of the schema gateway create it, or install a mapping that does not read it.'
    await expect.poll(readReasons).toEqual([{ code: 'SOURCE_MISSING', level: 'error', message, action }])

    await platform.unsafe(`alter table spare.${table} set schema public`)
    // A table that was moved back has no capture: the service captures the table again.
    await expect.poll(readReasons, { timeout: 20_000 }).toEqual([])
    await expectProjected(pool)
  }
})
