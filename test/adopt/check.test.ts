/**
 * `adopt check` finds each fault of a mapping, and changes nothing. The database already serves the correct mapping.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkMapping } from '../../src/adoption/check.ts'
import { readMappings } from '../../src/db/mapping/mappings.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { afterFile } from '../support/cleanups.ts'
import { connect } from '../support/connect.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { copyVenues, venuesFolder, venuesTables } from './venues.ts'

const { address } = await createEmptyDatabase()
const platform = connect(address, { max: 2, statementTimeoutMs: 60_000 })
afterFile(() => platform.end({ timeout: 1 }))

/** PostgreSQL has virtual generated columns from version 18 on. */
const [{ hasVirtual }] = await platform<[{ hasVirtual: boolean }]>`
  select current_setting('server_version_num')::integer >= 180000 as "hasVirtual"`
const shop = '00000000-0000-0000-0000-000000000001'
const tea = '11111111-1111-1111-1111-111111111111'
await platform.unsafe(venuesTables).simple()
await platform
  .unsafe(`
    insert into shop.venue (id, path, name) values ('${shop}', 'shop', 'Shop');
    insert into shop.item (id, venue, name, cents) values ('${tea}', '${shop}', 'Tea', 1250);
    insert into shop."Gift Card" ("No", venue, item, code, "valueCents") values
      ('A', '${shop}', '${tea}', 'CODE-A', 5000), ('B', '${shop}', null, 'CODE-B', 1000), ('C', '${shop}', null, 'CODE-C', 1000);
    create table shop.note (card text, words text, plain integer);
    insert into shop.note select 'X' || n, 'Words', n from generate_series(1, 2000) n;
    analyze shop.note;
    create table shop.copy (id text primary key);
    insert into shop.copy select "No" from shop."Gift Card";
    create table shop.tag (id integer primary key, words text, card text generated always as (left(words, 1)) ${hasVirtual ? 'virtual' : 'stored'});
    create unlogged table shop.session (id uuid primary key);
    create materialized view shop.sold as select id from shop.item;
    create table shop.sale (card text, day date, primary key (card, day)) partition by range (day);
    create table shop.sale_2026 partition of shop.sale for values from ('2026-01-01') to ('2027-01-01');
    create foreign data wrapper nowhere;
    create server elsewhere foreign data wrapper nowhere;
    create foreign table shop.remote (id uuid) server elsewhere;
    create function shop.balance(card text) returns numeric language sql stable return 1;
    create view shop.ages as select age(min(placed_at))::text as days from shop.orders;
    create view shop.balances as select shop.balance('A') as balance;
    create table shop.person_name (person uuid primary key, forename text, surname text, full_name text
      generated always as (forename || surname) stored)`)
  .simple()
await migrate(platform, { adopted: readMappings(venuesFolder) })

/** Returns the correct mapping of a record type, in which `by` replaces `part`. */
function changeMapping(record: string, part: string, by: string): Files {
  const text = readFileSync(join(venuesFolder, `${record}.sql`), 'utf8')
  expect(text).toContain(part)
  return { [`${record}.sql`]: text.replace(part, by) }
}

/** Checks the correct mapping after some files are replaced. A file that is null is deleted. */
const checkFiles = (files: Files) =>
  checkMapping(
    platform,
    copyVenues(copy => {
      for (const [file, text] of Object.entries(files)) {
        if (text === null) rmSync(join(copy, file))
        else writeFileSync(join(copy, file), text)
      }
    }),
  )

type Files = Record<string, string | null>

const voucher = (part: string, by: string) => changeMapping('voucher', part, by)
const product = (part: string, by: string) => changeMapping('product', part, by)
const withColumn = (column: string) => voucher('item as product_id', `item as product_id, ${column}`)
const withKey = (key: string) => voucher('"No" as key', `${key} as key`)
const isVoid = `coalesce(latest.state, card.state) = 'blocked'`
const withVoid = (condition: string) => voucher(`${isVoid} as void`, `${condition} as void`)
const withCurrency = (currency: string) => voucher('currency, coalesce', `${currency} as currency, coalesce`)
/** Returns a mapping whose vouchers also depend on `table`. */
const readFromTable = (table: string) =>
  voucher('where deleted_at', `where (item.id is null or exists (select id from ${table})) and deleted_at`)
const addRule = (table: string, select = 'select card from changed') => ({ [`voucher.from.${table}.sql`]: select })

test('the check of a correct mapping finds no fault, changes nothing, and returns the columns that are read', async () => {
  const state = () => platform`
    select (select json_agg(mapping) from gateway.mapping) as mappings, (select json_agg(rule) from gateway.rule) as rules,
           (select json_agg(scan order by record) from gateway.scan) as scans,
           (select md5(string_agg(prosrc, '' order by oid)) from pg_proc) as functions`
  const before = await state()
  const { findings, grants } = await checkFiles({})
  expect(findings).toEqual([])
  expect(await state()).toEqual(before)
  const [{ login }] = await platform<[{ login: string }]>`select quote_ident(current_user) as login`
  expect(grants).toContain(`grant select (at, customer, given) on shop.consent to ${login};`)
})

test.each<[string, Files]>([
  [
    'a source whose rows the key finds has no rule',
    voucher('where deleted_at', 'left join shop.copy on copy.id = card."No" where copy.id is null or deleted_at'),
  ],
  [
    'a rule reads no column of the row: each change leads to its keys',
    { ...readFromTable('shop.copy'), ...addRule('copy', 'select "No" from changed cross join shop."Gift Card"') },
  ],
])('no fault: %s', async (_, files) => {
  expect((await checkFiles(files)).findings).toEqual([])
})

test('a mapping without a file of tenants is reported, and its other files are still checked', async () => {
  const { findings } = await checkFiles({ 'tenant.sql': null, 'tenant.from.venue.sql': null, ...withCurrency(`'eur'`) })
  expect(findings).toMatchObject([
    { file: 'tenant.sql', level: 'error' },
    { file: 'voucher.sql', level: 'error', problem: '3 rows will be rejected: currency is not three capital letters' },
  ])
})

const cardsOfItem = 'select "No" from changed join shop."Gift Card" on item = id'
const cardsOfNote = 'select card from changed join shop.note on words || 1 = changed.name and card = changed.name'
const fullName = ', (select full_name from shop.person_name where person = customer.id) as full_name'
const balance = '(select balance from shop.balances)'
const partitioned = 'where exists (select from shop.sale_2026 where card = "No") and deleted_at'
const withNote = (condition: string): Files => ({
  ...withColumn(`(select words from shop.note where ${condition}) as product_slug`),
  ...addRule('note'),
})

type Fault = [fault: string, files: Files, finding: RegExp]

const errors: Fault[] = [
  ['a syntax error', voucher('item.name as', 'item.name as as'), /^voucher.sql:5 syntax error at or near "pro/],
  ['no such column', addRule('venue', '-- A\nselect "Nr" from changed'), /^voucher.from.venue.sql:2 .* "Nr" does/],
  ['several statements', { 'product.sql': 'select 1; drop table shop.item' }, / syntax error at or near ";"\./],
  ['an unknown type', { 'order.sql': 'select 1' }, / There is no type of record order\./],
  ['a rule for another table', addRule('itm', 'select id from changed'), / voucher.sql reads no table itm\..*item/],
  ['a missing column', voucher('code as reference,', ''), /no column reference, which each/],
  ['a column that is none', voucher('as void,', 'as vodi,'), / A voucher has no column vodi\..*\bvoid\b/],
  ['a type that is not cast', withVoid('sold_at'), / Its column void has a wrong type: .*timestamp/],
  ['a key of another kind', product('venue as tenant_id', '1 as tenant_id'), / tenant_id is of the type int4, but/],
  ['no rule', { 'voucher.from.item.sql': null }, /reads shop.item, which has no rule.*Add voucher\.from\.item\.sql/],
  ['a source of two keys', { 'voucher.from.redemption.sql': null }, / It reads shop.redemption/],
  ['a rule with other keys', addRule('redemption', 'select line from changed'), / Its keys are of the type integer/],
  ['a materialized view', readFromTable('shop.sold'), / It reads shop.sold, a mat/],
  ['a foreign table', readFromTable('shop.remote'), / It reads shop.remote/],
  [
    'a partition',
    { ...voucher('where deleted_at', partitioned), ...addRule('sale_2026') },
    /partition.*Read shop.sale /,
  ],
  ['keys that are null', withKey('null::text'), / The key is null in 3 rows\./],
  ['keys that are not unique', withKey(`'A'::text`), / Other rows have the same key as 1 row.*\(A\)$/],
  ['no tenant', voucher('card.venue as tenant_id', `'${tea}'::uuid as tenant_id`), /names no tenant.*\(A,B,C\)$/],
  ['a value that fails', withColumn('1 / (ascii("No") - 67) as purchase_value'), /: division by zero.*\(C\)$/],
]

const warnings: Fault[] = [
  ['keys of another type', product('(select collection', '(select collection::text'), /category_ids is of the type _t/],
  ['no variant', withColumn('item as parent_product_id'), / product_id names no variant in 1 row.*\(A\)$/],
  ['no product', voucher('item as product_id', 'venue.id as product_id'), / product_id names no product in 3 rows/],
  ['the time as a literal', withVoid(`expires_at < 'now'`), / It has 'now', which/],
  ['the time', withVoid('expires_at < now()'), / It calls now\(\).*only when.*a job of the platform/],
  ['chance', withVoid('random() < 0.5'), / It calls random\(\).*only when.*a job of the platform/],
  ['an age in a view', withColumn('(select days from shop.ages) as redemption_status'), / It calls age\(/],
  ['the time in a rule', addRule('item', `${cardsOfItem} where expires_at > current_date`), / It calls current_date/],
  ['a source of other keys', readFromTable('shop.copy'), /reads shop.copy, which has no rule.* may not be the key/],
  ['an unlogged table', readFromTable('shop.session'), /shop.session.*alter table shop.session set logged;/],
  ['a function', withColumn('shop.balance("No") as purchase_value'), / It calls shop.balance\(text\).* immutable;/],
  ['a function in a view', withColumn(`${balance} as purchase_value`), /The view shop.balances calls shop.balance/],
  ['a generated column', changeMapping('customer', 'from', `${fullName} from`), /full_name, a generated/],
  ['null for a default', withVoid(`nullif("No" = 'A', false)`), / void is null in 2 rows: false is taken.*\(B,C\)$/],
  ['null where none is', voucher('code as ref', `nullif(code, 'CODE-B') as ref`), / its reference is null.*\(B\)$/],
  ['a broken rule', withCurrency(`case "No" when 'A' then 'eur' else currency end`), / 1 row will be rejected.*\(A\)$/],
  ['no index', withNote('note.card = card."No"'), /shop.note lacks .* its 2,000 rows.*index on shop.note \(card\);/],
  ['no index of a cast', withNote('note.plain::text = card."No"'), /on shop.note \(\(\(plain\)::text\)\);/],
  ['no index of two', withNote(`note.card || '/' || note.plain = card."No"`), /on shop.note \(\(a \|\| '/],
  ['no index for a rule', addRule('item', cardsOfNote), /^voucher.from.item.sql: shop.note lacks an index/],
]

/** A finding has the form `voucher.sql:5 problem. Remedy (keys)`. */
test.each([
  ...errors.map(fault => ['error', ...fault] as const),
  ...warnings.map(fault => ['warning', ...fault] as const),
])('it finds as %s: %s', async (level, _, files, finding) => {
  const { findings } = await checkFiles(files)
  const shown = findings
    .filter(found => found.level === level)
    .map(({ file, line, problem, remedy, keys }) => `${file}:${line ?? ''} ${problem}. ${remedy} (${keys})`)
  expect(shown).toContainEqual(expect.stringMatching(finding))
  expect(findings.every(({ remedy }) => remedy.length > 0)).toBe(true)
})

test('a rule may read a stored generated column, but no virtual one, because triggers do not see its value', async () => {
  const { findings } = await checkFiles({ ...readFromTable('shop.tag'), ...addRule('tag') })
  const virtual = { file: 'voucher.from.tag.sql', problem: expect.stringMatching(/^It reads shop.tag.card, a virtual/) }
  expect(findings).toMatchObject(hasVirtual ? [virtual] : [])
})
