/** `import` writes the rows of files into the plain tables, v1 lists these rows, and faulty lines are reported. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { whole } from '../support/builders.ts'
import { createDirectory } from '../support/directory.ts'
import { run, start } from '../support/process.ts'
import { startService } from '../support/service.ts'

const { database, build, client } = await startService()
const environment = { DATABASE_URL: database.url }
const sql = database.platform

function importFiles(files: Record<string, string | Buffer>, ...options: string[]) {
  const folder = createDirectory()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return run(['import', folder, ...options], environment)
}

/**
 * Runs an import that must succeed. Returns three numbers per table: rows in the file, written rows and deleted rows.
 */
async function importAndCount(files: Record<string, string>, ...options: string[]): Promise<Record<string, number[]>> {
  const { code, stdout, stderr } = await importFiles(files, '--json', ...options)
  expect([code, stderr], stdout).toEqual([0, ''])
  const { tables }: { tables: Record<'rows' | 'written' | 'deleted', number> & { table: string }[] } =
    JSON.parse(stdout)
  return Object.fromEntries(
    tables.map(({ table, rows, written, deleted }: Record<string, number | string>) => [
      ...[table, [Number(rows), Number(written), Number(deleted)]],
    ]),
  )
}

async function expectFaults(files: Record<string, string | Buffer>, faults: unknown[], ...options: string[]) {
  const { code, stdout, stderr } = await importFiles(files, ...options)
  const end = 'Nothing was imported. Correct the lines, and run the command again.'
  expect([code, stdout, ...stderr.split('\n')]).toEqual([1, '', ...faults, end, ''])
}

const startingWith = (fault: string) => expect.stringContaining(fault)

const toNdjson = (...rows: object[]) => rows.map(row => `${JSON.stringify(row)}\n`).join('')

/**
 * Returns files with the rows of a tenant, at least one row per table.
 *
 * @param id the id of the first row in each table
 */
const createFiles = (id: number) => ({
  'tenant.csv': `id,name,parent_id,subdomain\r\n${id},"Spa ""Größe"", Nord",,nord\r\n${id + 1},Süd,${id},\r\n`,
  'category.csv': `id,tenant_id,slug,title\n${id},${id},days,Days\n`,
  'product.ndjson': toNdjson({
    ...{ id, tenant_id: id, slug: 'day', title: 'Day\tof\\rest', currency: 'GBP', price: 49.5, is_monetary: false },
    ...{ image_urls: ['https://example.com/a,"b".jpg', '\\'], description_html: '<p>one</p>\n<p>two</p>' },
  }),
  'product_category.csv': `product_id,category_id\n${id},${id}\n`,
  'variant.ndjson': toNdjson({ id, product_id: id, slug: 'long', title: 'Long', currency: 'GBP' }),
  'purchased_voucher.csv':
    'id,tenant_id,reference,qr_token,current_balance,currency,is_monetary,void,purchase_timestamp,date_valid_end\n' +
    `${id},${id},R-${id},,"12.50",GBP,true,f,2026-01-31T09:30:00+02:00,2027-01-31\n` +
    `\n${id + 1},${id},"R-'); drop table tenant; --",,"",,false,false,2026-01-31 09:30,\n`,
  'customer.ndjson': toNdjson(
    { id, tenant_id: id, email: 'ann@example.com', marketing_opted: true, consented_at: '2026-01-31T09:30:00Z' },
    { id: id + 1, tenant_id: id, email: null, marketing_opted: false },
  ),
})

const firstWrites = {
  ...{ tenant: [2, 2, 0], category: [1, 1, 0], product: [1, 1, 0], product_category: [1, 1, 0], variant: [1, 1, 0] },
  ...{ purchased_voucher: [2, 2, 0], customer: [2, 2, 0] },
}

test('v1 lists the imported rows of a folder, and a second run writes nothing', async () => {
  const files = createFiles(1000)
  expect(await importAndCount(files)).toEqual(firstWrites)
  const { secret } = await build.token([whole(1000)])
  const list = async (path: string) => (await client.rest(secret, `/tenants/1000/${path}`)).body
  const vouchers = await list('sales/purchased-vouchers')
  expect(vouchers.data).toMatchObject([
    { id: 1000, reference: 'R-1000', current_balance: 12.5, purchase_timestamp: '2026-01-31T07:30:00.000000Z' },
    { id: 1001, reference: "R-'); drop table tenant; --", purchase_timestamp: '2026-01-31T09:30:00.000000Z' },
  ])
  const [product] = (await list('catalog/vouchers')).data
  expect(product).toMatchObject({ title: 'Day\tof\\rest', price: 49.5, description_html: '<p>one</p>\n<p>two</p>' })
  const [row] = await sql<
    { urls: string }[]
  >`select array_to_json(image_urls)::text as urls from product where id = 1000`
  expect(JSON.parse(`${row?.urls}`)).toEqual(['https://example.com/a,"b".jpg', '\\'])
  expect((await list('customers/marketing-signups')).data).toMatchObject([{ id: 1000, email: 'ann@example.com' }])

  const nothing = Object.fromEntries(Object.entries(firstWrites).map(([table, [rows]]) => [table, [rows, 0, 0]]))
  expect(await importAndCount(files)).toEqual(nothing)
  const since = `sales/purchased-vouchers?updated_since=${vouchers.server_time}`
  expect((await list(since)).data).toEqual([])
  // The import advances the sequence, so the next row of the platform gets a free id.
  expect(await build.tenant()).toBeGreaterThan(1001)
})

test('a row whose key exists in the table replaces only the columns that the file has', async () => {
  await importAndCount(createFiles(2000))
  const changes = {
    'purchased_voucher.csv': 'id,tenant_id,reference,current_balance\n2000,2000,R-2000,7\n2001,2000,R-2001,\n',
  }
  expect(await importAndCount(changes)).toEqual({ purchased_voucher: [2, 2, 0] })
  expect(
    await sql`select current_balance, is_monetary, currency from purchased_voucher where tenant_id = 2000 order by id`,
  ).toEqual([
    { current_balance: 7, is_monetary: true, currency: 'GBP' },
    { current_balance: null, is_monetary: false, currency: null },
  ])
})

test('options set the dialect of CSV and the format of dates', async () => {
  const file = [
    'id;tenant_id;reference;qr_token;recipient_name;void_reason;date_valid_end;purchase_timestamp',
    `2500;2500;'O\\'Hara; "5" Pipe \\\\';\\N;'\\\\N';;9.1.2027;31.1.2026 09:30`,
    "2501;2500;R-1;'';\\N;x;2027-01-09;2026-01-31 09:30:00.1234567+02",
  ].join('\r')
  const dialect = ['--csv-delimiter', ';', '--csv-quote', "'", '--csv-escape', '\\', '--csv-null', '\\N']
  const files = { 'tenant.csv': 'id;name\n2500;A\r\n', 'purchased_voucher.csv': file }
  expect(await importAndCount(files, ...dialect, '--date-format', 'dd.MM.yyyy')).toMatchObject({
    purchased_voucher: [2, 2, 0],
  })
  expect(
    await sql`
      select reference, qr_token, recipient_name, void_reason, date_valid_end::text, purchase_timestamp::text
      from purchased_voucher where tenant_id = 2500 order by id`,
  ).toEqual([
    {
      ...{ reference: `O'Hara; "5" Pipe \\`, qr_token: null, recipient_name: '\\N', void_reason: '' },
      ...{ date_valid_end: '2027-01-09', purchase_timestamp: '2026-01-31 09:30:00+00' },
    },
    {
      ...{ reference: 'R-1', qr_token: '', recipient_name: null, void_reason: 'x' },
      ...{ date_valid_end: '2027-01-09', purchase_timestamp: '2026-01-31 07:30:00.123456+00' },
    },
  ])
})

const unclearDates = ['tomorrow', 'infinity', '09:30 IST', '31-JAN-26', '20260131', '2026-01-31', '0000-00-00 00:00:00']

test.each(['csv', 'ndjson'])('a date that is not ISO 8601 is refused with its line: %s', async format => {
  const rows = [...unclearDates, '31/01/2026'].map((consented_at, index) => ({ id: index, tenant_id: 1, consented_at }))
  const csv = rows.map(row => `${Object.values(row).join()}\n`).join('')
  const text = format === 'csv' ? `id,tenant_id,consented_at\n${csv}` : `\n${toNdjson(...rows)}`
  const expected = 'expected a date and time, for example 2026-01-31T09:30:00Z (--date-format reads other dates)'
  const faults = rows.map(({ consented_at }, index) => {
    return `customer.${format}:${index + 2}: consented_at: ${expected}, not "${consented_at}"`
  })
  await expectFaults({ [`customer.${format}`]: text }, faults, '--date-format', 'MM/dd/yyyy')
})

test('the standard input can contain the rows of one table', async () => {
  const input = `\n${toNdjson({ id: 3000, name: 'Nord' }, { id: '3001', name: 'Süd', parent_id: 3000 })}`
  const imported = await run(['import', '-', '--table', 'tenant'], environment, { input })
  expect([imported.code, imported.stderr]).toEqual([0, ''])
  expect(imported.stdout).toMatch(/^TABLE +ROWS +WRITTEN +DELETED\ntenant +2 +2 +0\n[\s\S]* verify\n$/)
  expect(await sql`select name from tenant where parent_id = 3000`).toEqual([{ name: 'Süd' }])
})

test('every wrong value is listed with its file and line, and nothing is imported', async () => {
  const files = {
    'tenant.csv': 'id,name,parent_id\n4000,"two\n""lines""",\n4001,,x\n,B,\n99999999999999999999,C,\n',
    'purchased_voucher.ndjson':
      `${toNdjson(
        { id: 4000, tenant_id: 4000, reference: 'A', current_balance: '12,5', date_valid_end: '2026-02-30' },
        { id: 4001, tenant_id: 4000, reference: 'B', balance: 1 },
      )}{"id":4002,\n[]\n` +
      `{"id":12345678901234567890}\n{"id":1,"tenant_id":1,"reference":"\\u0000"}\n{"reference":{"a":1}}\n` +
      toNdjson({ id: 4003, tenant_id: 4000, reference: 'C', void: 'maybe' }),
    'customer.ndjson': Buffer.from('{"id":4000,"tenant_id":4000,"city":"K\xf6ln"}\n', 'latin1'),
  }
  await expectFaults(files, [
    'customer.ndjson:1: the line is not UTF-8',
    'purchased_voucher.ndjson:1: current_balance: expected a number, for example 12.50, not "12,5"',
    'purchased_voucher.ndjson:1: date_valid_end: expected a date, for example 2026-01-31 (--date-format reads others), not "2026-02-30"',
    'purchased_voucher.ndjson:2: purchased_voucher has no column balance',
    expect.stringMatching(/^purchased_voucher\.ndjson:3: .* JSON/),
    'purchased_voucher.ndjson:4: expected a JSON object',
    'purchased_voucher.ndjson:5: id: a JSON number with more than 15 digits is not exact. Write it as a string',
    'purchased_voucher.ndjson:5: tenant_id: a value is required',
    'purchased_voucher.ndjson:5: reference: a value is required',
    'purchased_voucher.ndjson:6: reference: PostgreSQL cannot store U+0000 and unpaired surrogates',
    'purchased_voucher.ndjson:7: expected texts, numbers, true, false, null and lists of texts, but a value is nested',
    'purchased_voucher.ndjson:8: void: expected true or false, not "maybe"',
    'tenant.csv:4: name: a value is required',
    'tenant.csv:4: parent_id: expected a whole number, for example 12, not "x"',
    'tenant.csv:5: id: a value is required',
    'tenant.csv:6: id: expected a whole number, for example 12, not "99999999999999999999"',
  ])
  expect(await sql`select from tenant where id between 4000 and 4999`).toHaveLength(0)
})

test('when there are many faults, the first twenty are listed and the others are counted', async () => {
  const rows = Array.from({ length: 750 }, (_, index) => `${5000 + index},N,x\n`).join('')
  const file = { 'tenant.csv': `id,name,parent_id\n${rows}` }
  expect((await importFiles(file)).stderr).toContain(', not "x"\nFurther faults: 730.\n')
  const { code, stdout } = await importFiles(file, '--json')
  expect([code, JSON.parse(stdout).faults.length, JSON.parse(stdout).count]).toEqual([1, 20, 750])
})

test('rows that break a constraint are listed, and then no row of any file is imported', async () => {
  const tenant = await build.tenant()
  const voucher = await build.voucher(tenant, { reference: 'TAKEN' })
  const files = {
    'tenant.csv': 'id,name,parent_id\n6000,A,6001\n6001,B,\n',
    'purchased_voucher.csv': `id,tenant_id,reference\n6000,6000,A\n6001,6000,A\n6000,6001,A\n6002,6002,B\n6003,${tenant},TAKEN\n`,
  }
  await expectFaults(files, [
    'purchased_voucher.csv:3: tenant_id, reference: 6000, A is also in line 2',
    'purchased_voucher.csv:4: id: 6000 is also in line 2',
    'purchased_voucher.csv:5: tenant_id: no tenant has the id 6002',
    `purchased_voucher.csv:6: tenant_id, reference: ${tenant}, TAKEN belongs to the row with the key ${voucher}`,
  ])
  expect(await sql`select from tenant where id in (6000, 6001)`).toHaveLength(0)
})

test('unique columns are checked after all rows, so two vouchers can swap their references or get other ids', async () => {
  const rows = (...references: [number, string][]) =>
    `id,tenant_id,reference\n${references.map(([id, reference]) => `${id},6500,${reference}\n`).join('')}`
  const write = (...references: [number, string][]) => importAndCount({ 'purchased_voucher.csv': rows(...references) })
  await importAndCount({ 'tenant.csv': 'id,name\n6500,A\n' })
  await write([6500, 'A'], [6501, 'B'])
  expect(await write([6500, 'B'], [6501, 'A'])).toEqual({ purchased_voucher: [2, 2, 0] })
  await sql`delete from purchased_voucher where tenant_id <> 6500`
  const moved = { 'purchased_voucher.csv': rows([6502, 'A'], [6503, 'B'], [6504, 'C']) }
  expect(await importAndCount(moved, '--replace')).toEqual({ purchased_voucher: [3, 3, 2] })
})

test('--replace deletes the rows that a file does not contain, and only in tables that have a file', async () => {
  await importAndCount(createFiles(7000))
  await sql`delete from purchased_voucher where tenant_id <> 7000`
  const files = { 'purchased_voucher.csv': 'id,tenant_id,reference\n7001,7000,R-1\n7002,7000,R-2\n' }
  expect(await importAndCount(files, '--replace')).toEqual({ purchased_voucher: [2, 2, 1] })
  expect(await sql`select id from purchased_voucher order by id`).toEqual([{ id: 7001 }, { id: 7002 }])
  expect(await sql`select from customer where tenant_id = 7000`).toHaveLength(2)
  const refusal = async (file: Record<string, string>) => (await importFiles(file, '--replace')).stderr
  expect(await refusal({ 'tenant.csv': 'id,name\n7001,A\n' })).toMatch(
    /^--replace cannot delete rows that tenant.csv lacks: Key \(id\)=\(\d+\) is still referenced/,
  )
  expect(await refusal({ 'purchased_voucher.ndjson': '\n' })).toBe(
    'purchased_voucher.ndjson has no rows: --replace would delete all 2 of purchased_voucher.\n',
  )
  expect(await sql`select from purchased_voucher`).toHaveLength(2)
})

test('a killed run imports nothing, and the next run imports all rows', async () => {
  const first = start(['import', '-', '--table', 'tenant'], environment)
  first.child.stdin.write(toNdjson({ id: 8000, name: 'A' }))
  const reading = () => sql`
    select from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and query like '%copy.rows%'`
  await expect.poll(reading, { timeout: 30_000 }).toHaveLength(1)
  first.child.kill('SIGKILL')
  await first.ended
  expect(await importAndCount({ 'tenant.ndjson': toNdjson({ id: 8000, name: 'A' }) })).toEqual({ tenant: [1, 1, 0] })
})

test('rows with wrong quotes, too long rows, nested values and duplicate names are refused with their lines', async () => {
  const files = {
    'category.csv': '\ufeff"id",tenant_id,slug,title\r\n1,1,the,The "Old" Mill\r\n',
    'product.csv': 'id,tenant_id,slug,title,currency\n1,1,"a\nb\n",a,GBP\n\n2,1,"a\nb","c,GBP\n3,1,c,d,GBP\n',
    'product_category.csv': `product_id,category_id\n1,"${`${'a'.repeat(1000)}\n`.repeat(17_000)}`,
    'variant.ndjson': `\n{"id":1,"slug":"${'a'.repeat(2 ** 24)}"}\n{"id":${'['.repeat(1_000_000)}\n`,
    'purchased_voucher.ndjson': '{"id":1,"tenant_id":1,"reference":"\\":","refer\\u0065nce":"b"}\n',
    'customer.csv': 'id,tenant_id,city\n1,1,"5\\" Pipe"\n',
  }
  await expectFaults(files, [
    startingWith('category.csv:2: a quotation mark stands within a value that does not begin with one'),
    startingWith('customer.csv:2: the quotation mark that opens here closes before the end of the value'),
    startingWith('product_category.csv:2: the row has more than 16 MiB'),
    startingWith('product.csv:7: the quotation mark that opens here does not close'),
    'purchased_voucher.ndjson:1: the name "reference" is given twice',
    'variant.ndjson:2: the row has more than 16 MiB',
    'variant.ndjson:3: expected texts, numbers, true, false, null and lists of texts, but a value is nested',
  ])
})

test('a value that could not be stored exactly is refused: an escape, a number in a text column, a null in a list', async () => {
  const files = {
    'tenant.csv': 'id,name\n1,"C:\\new"\n2,"\\N"\n3,"\\0"\n4,"\\"\\\\\\,\\\n\\\r\n"\n5,C:\\new\n6,"a\nb\\c"\n',
    'customer.ndjson': toNdjson(...[1.5, true, 12, '1.50', 1e20].map(city => ({ id: 1, tenant_id: 1, city }))),
    'product.csv':
      'id,tenant_id,slug,title,currency,image_urls\n' +
      ['{NULL,a}', '{a,}', '{"NULL",nulls}', '{a\\b}']
        .map((list, index) => `${index},1,a,a,GBP,"${list.replaceAll('"', '\\"')}"\n`)
        .join(''),
  }
  const isWhole = 'city: expected a string or a whole number, not'
  const isList = 'image_urls: expected a list of texts, for example {"a","b"}, not'
  const unknown = (place: string, text: string) =>
    startingWith(`${place}: ${text} is unknown. In quotation marks, the character of --csv-escape stands before `)
  const faults = [
    ...[`customer.ndjson:1: ${isWhole} 1.5`, `customer.ndjson:2: ${isWhole} true`],
    `customer.ndjson:5: ${isWhole} 100000000000000000000`,
    ...[`product.csv:2: ${isList} "{NULL,a}"`, `product.csv:3: ${isList} "{a,}"`, unknown('product.csv:5', '\\b')],
    ...[unknown('tenant.csv:2', '\\n'), unknown('tenant.csv:3', '\\N'), unknown('tenant.csv:4', '\\0')],
    unknown('tenant.csv:9', '\\c'),
  ]
  await expectFaults(files, faults, '--csv-escape', '\\')
})

const wrongFileNames =
  / has tenant.txt, tenants.csv\. .* tenant, category, product, product_category, variant, purchased_voucher, customer\.\n$/
const unknownColumns = /^tenant\.csv:1: tenant has no column Name, x; drop\. It has id, parent_id, /

test.each([
  [{}, /has no files\. A file is named <table>\.csv or <table>\.ndjson; the tables are tenant, category/],
  [{ 'tenants.csv': '', 'tenant.txt': '', '.hidden': '' }, wrongFileNames],
  [{ 'tenant.csv': '', 'tenant.ndjson': '' }, /has tenant\.csv and tenant\.ndjson: leave one of them\.\n$/],
  [{ 'tenant.csv': '' }, /^tenant\.csv:1: required columns are missing: id, name\n/],
  [{ 'tenant.csv': 'id,name,Name,x; drop\n' }, unknownColumns],
  [{ 'tenant.csv': 'id,name,name\n' }, /^tenant\.csv:1: there is more than one column name\n/],
  [{ 'tenant.csv': 'id,name\n1,"a\r\n b"\n2,b,c\n' }, /^tenant\.csv:4: the row has 3 values, but the first line has 2/],
  [{ 'tenant.csv': Buffer.from('id,name\n1,K\xf6ln\n', 'latin1') }, /^tenant\.csv:2: the line is not UTF-8\n/],
])('files that cannot be read are refused: %j', async (files, message) => {
  expect(await importFiles(files)).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(message) })
})
