/** The check of a mapping finds each fault in it, and leaves no trace. The database already serves the right one. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { checkMapping } from '../../src/adoption/check.ts'
import { readMappings } from '../../src/db/mapping/mappings.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { afterFile } from '../support/cleanups.ts'
import { connect } from '../support/connect.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'

const { address } = await createEmptyDatabase()
const platform = connect(address, { max: 2, statementTimeoutMs: 60_000 })
afterFile(() => platform.end({ timeout: 1 }))

/** Columns that are computed when they are read came with PostgreSQL 18. */
const [{ hasVirtual }] = await platform<[{ hasVirtual: boolean }]>`
  select current_setting('server_version_num')::integer >= 180000 as "hasVirtual"`
const venues = fileURLToPath(new URL('venues', import.meta.url))
const shop = '00000000-0000-0000-0000-000000000001'
const tea = '11111111-1111-1111-1111-111111111111'
await platform.unsafe(readFileSync(new URL('venues.tables.sql', import.meta.url), 'utf8')).simple()
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
await migrate(platform, { adopted: readMappings(venues) })

/** Returns the text of a file of the right mapping, with a part replaced. */
function changed(file: string, part: string | RegExp, by: string): string {
  const text = readFileSync(join(venues, file), 'utf8')
  expect(text).toMatch(part)
  return text.replace(part, by)
}

/** Checks the right mapping with some files replaced. Null: the file is deleted. */
async function check(files: Record<string, string | null>) {
  const folder = createDirectory()
  cpSync(venues, folder, { recursive: true })
  for (const [file, text] of Object.entries(files)) {
    if (text === null) rmSync(join(folder, file))
    else writeFileSync(join(folder, file), text)
  }
  return checkMapping(platform, folder)
}

const voucher = (part: string | RegExp, by: string) => ({ 'voucher.sql': changed('voucher.sql', part, by) })
const isVoid = `coalesce(latest.state, card.state) = 'blocked' as void`
const reading = (table: string) =>
  voucher('where deleted_at', `where (item.id is null or exists (select id from ${table})) and deleted_at`)
const rule = (table: string) => ({ [`voucher.from.${table}.sql`]: 'select card from changed' })

test('the right mapping has no fault; it leaves no trace, and names the columns that are read', async () => {
  const state = () => platform`
    select (select json_agg(mapping) from gateway.mapping) as mappings, (select json_agg(rule) from gateway.rule) as rules,
           (select json_agg(scan order by record) from gateway.scan) as scans,
           (select md5(string_agg(prosrc, '' order by oid)) from pg_proc) as functions`
  const before = await state()
  const { findings, grants } = await check({})
  expect(findings).toEqual([])
  expect(await state()).toEqual(before)
  const [{ login }] = await platform<[{ login: string }]>`select quote_ident(current_user) as login`
  expect(grants).toContain(`grant select (at, customer, given) on shop.consent to ${login};`)
})

test('a source whose rows the key finds needs no rule', async () => {
  const { findings } = await check(
    voucher('where deleted_at', 'left join shop.copy on copy.id = card."No" where copy.id is null or deleted_at'),
  )
  expect(findings).toEqual([])
})

test('a rule may read no column of the row: each change leads to its keys', async () => {
  const { findings } = await check({
    ...reading('shop.copy'),
    'voucher.from.copy.sql': 'select "No" from changed cross join shop."Gift Card"',
  })
  expect(findings).toEqual([])
})

test('without tenants, the rest is checked', async () => {
  const { findings } = await check({
    'tenant.sql': null,
    'tenant.from.venue.sql': null,
    ...voucher('currency, coalesce', "'eur' as currency, coalesce"),
  })
  expect(findings).toMatchObject([
    { file: 'tenant.sql', level: 'error' },
    { file: 'voucher.sql', level: 'error', problem: '3 rows will be rejected: currency is not three capital letters' },
  ])
})

test.each<[string, Record<string, string | null>, object]>([
  [
    'a syntax error',
    voucher('item.name as product_title,', 'item.name as as product_title,'),
    { file: 'voucher.sql', line: 5, level: 'error', problem: 'syntax error at or near "product_title"' },
  ],
  [
    'a column that does not exist',
    {
      'voucher.from.venue.sql':
        '-- Cards\nselect "Nr" from changed join shop."Gift Card" card on card.venue = changed.id',
    },
    { file: 'voucher.from.venue.sql', line: 2, problem: 'column "Nr" does not exist' },
  ],
  [
    'several statements',
    { 'product.sql': 'select 1; drop table shop.item' },
    { file: 'product.sql', line: 1, problem: 'syntax error at or near ";"' },
  ],
  ['an unknown type', { 'order.sql': 'select 1' }, { file: 'order.sql', problem: 'There is no type of record order' }],
  [
    'a rule for another table',
    { 'voucher.from.itm.sql': 'select id from changed' },
    { file: 'voucher.from.itm.sql', problem: 'voucher.sql reads no table itm', remedy: expect.stringMatching(/item/) },
  ],
  [
    'a required column that is missing',
    voucher('code as reference,', ''),
    { problem: 'It has no column reference, which each voucher needs' },
  ],
  [
    'a column that is none',
    voucher(`as void,`, 'as vodi,'),
    {
      level: 'error',
      problem: 'A voucher has no column vodi',
      remedy: expect.stringMatching(/\bvoid\b/),
    },
  ],
  [
    'a type that PostgreSQL cannot cast',
    voucher(isVoid, 'sold_at as void'),
    { problem: expect.stringMatching(/^Its column void has a wrong type: .*timestamp/) },
  ],
  [
    'a reference of another kind',
    { 'product.sql': changed('product.sql', 'venue as tenant_id', '1 as tenant_id') },
    {
      level: 'error',
      problem: 'Its column tenant_id is of the type int4, but the key of tenant.sql is of the type uuid',
    },
  ],
  [
    'references of another type, where the texts of keys may be equal',
    { 'product.sql': changed('product.sql', 'array(select collection from', 'array(select collection::text from') },
    {
      level: 'warning',
      problem: 'Its column category_ids is of the type _text, but the key of category.sql is of the type int8',
    },
  ],
  [
    'variants that are none',
    voucher('item as product_id', 'item as product_id, item as parent_product_id'),
    { level: 'warning', problem: 'product_id names no variant in 1 row', keys: ['A'] },
  ],
  [
    'the time as a literal',
    voucher(isVoid, `expires_at < 'now' as void`),
    { file: 'voucher.sql', level: 'warning', problem: expect.stringMatching(/^It has 'now', which/) },
  ],
  ...[
    ['the time in a select', voucher(isVoid, `expires_at < now() as void`), 'now()'],
    ['chance in a select', voucher(isVoid, `random() < 0.5 as void`), 'random()'],
    ['an age in a view', voucher(isVoid, `(select days from shop.ages) as redemption_status, ${isVoid}`), 'age('],
    [
      'the time in a rule',
      {
        'voucher.from.item.sql':
          'select "No" from changed join shop."Gift Card" on item = id where expires_at > current_date',
      },
      'current_date',
    ],
  ].map(([name, files, call]): [string, Record<string, string | null>, object] => [
    String(name),
    Object(files),
    {
      level: 'warning',
      problem: expect.stringMatching(new RegExp(`^It calls ${String(call).replace(/\W/g, '\\$&')}.*only when a row`)),
      remedy: expect.stringContaining('a job of the platform'),
    },
  ]),
  [
    'a source without a rule',
    { 'voucher.from.item.sql': null },
    {
      file: 'voucher.sql',
      level: 'error',
      problem: 'It reads shop.item, which has no rule, and whose primary key is not the key',
      remedy: expect.stringMatching(/^Add voucher\.from\.item\.sql, a select of the keys of vouchers/),
    },
  ],
  [
    'a source whose key has two columns',
    { 'voucher.from.redemption.sql': null },
    { problem: expect.stringMatching(/^It reads shop.redemption/) },
  ],
  [
    'a source without a rule that has all keys by chance',
    reading('shop.copy'),
    { level: 'warning', problem: 'It reads shop.copy, which has no rule, and whose primary key may not be the key' },
  ],
  [
    'a rule with other keys',
    { 'voucher.from.redemption.sql': 'select line from changed' },
    { file: 'voucher.from.redemption.sql', problem: expect.stringMatching(/^Its keys are of the type integer/) },
  ],
  [
    'a materialized view',
    reading('shop.sold'),
    { level: 'error', problem: expect.stringMatching(/^It reads shop.sold, a mat/) },
  ],
  [
    'a foreign table',
    reading('shop.remote'),
    { level: 'error', problem: expect.stringMatching(/^It reads shop.remote/) },
  ],
  [
    'a partition',
    {
      ...voucher('where deleted_at', 'where exists (select from shop.sale_2026 where card = "No") and deleted_at'),
      ...rule('sale_2026'),
    },
    { level: 'error', problem: expect.stringMatching(/a partition/), remedy: 'Read shop.sale instead' },
  ],
  [
    'an unlogged table',
    { ...reading('shop.session'), 'voucher.from.session.sql': 'select null::text from changed' },
    { level: 'warning', remedy: 'Run: alter table shop.session set logged;' },
  ],
  [
    'a function that may read tables',
    voucher('item as product_id', 'item as product_id, shop.balance(card."No") as purchase_value'),
    {
      ...{ level: 'warning', problem: expect.stringMatching(/^It calls shop.balance\(text\)/) },
      remedy: expect.stringContaining('alter function shop.balance(text) immutable;'),
    },
  ],
  [
    'a function in a view',
    voucher('item as product_id', 'item as product_id, (select balance from shop.balances) as purchase_value'),
    { level: 'warning', problem: expect.stringMatching(/^The view shop.balances calls shop.balance\(text\)/) },
  ],
  [
    'a generated column',
    {
      'customer.sql': changed(
        'customer.sql',
        'from shop.customer\n',
        ', (select full_name from shop.person_name where person_name.person = customer.id) as full_name\nfrom shop.customer\n',
      ),
    },
    { level: 'warning', problem: expect.stringMatching(/^It reads shop.person_name.full_name, a generated/) },
  ],
  [
    'keys that are null',
    voucher('"No" as key', 'null::text as key'),
    { level: 'error', problem: 'The key is null in 3 rows' },
  ],
  [
    'keys that are not unique',
    voucher('"No" as key', `'A'::text as key`),
    { level: 'error', problem: 'Other rows have the same key as 1 row', keys: ['A'] },
  ],
  [
    'a tenant that is none',
    voucher('card.venue as tenant_id', `'${tea}'::uuid as tenant_id`),
    { level: 'error', problem: '3 rows will be rejected: tenant_id names no tenant', keys: ['A', 'B', 'C'] },
  ],
  [
    'a product that is none',
    voucher('item as product_id', `venue.id as product_id`),
    { level: 'warning', problem: 'product_id names no product in 3 rows' },
  ],
  [
    'null where a column has a default',
    voucher(isVoid, `nullif("No" = 'A', false) as void`),
    { level: 'warning', problem: 'void is null in 2 rows: false is taken', keys: ['B', 'C'] },
  ],
  [
    'null where a column has none',
    voucher('code as reference', `nullif(code, 'CODE-B') as reference`),
    { level: 'warning', problem: '1 row will be rejected: its reference is null', keys: ['B'] },
  ],
  [
    'a value that breaks a rule',
    voucher('currency, coalesce', `case "No" when 'A' then 'eur' else currency end as currency, coalesce`),
    { level: 'warning', problem: '1 row will be rejected: currency is not three capital letters', keys: ['A'] },
  ],
  [
    'a value that cannot be evaluated',
    voucher(isVoid, `1 / nullif(ascii(code) - ascii("No"), 2) as purchase_value, ${isVoid}`),
    { level: 'error', problem: 'It cannot be evaluated for some rows: division by zero', keys: ['C'] },
  ],
  [
    'a select without an index',
    {
      ...voucher(
        'item as product_id',
        'item as product_id, (select words from shop.note where note.card = card."No") as product_slug',
      ),
      ...rule('note'),
    },
    {
      level: 'warning',
      problem: 'shop.note lacks an index for voucher.sql, which reads all of its 2,000 rows',
      remedy: 'Create one, for example: create index on shop.note (card);',
    },
  ],
  ...[
    [`note.plain::text = card."No"`, 'create index on shop.note (((plain)::text));'],
    [`note.card || '/' || note.plain = card."No"`, "of the key: create index on shop.note ((a || '/' || b));"],
  ].map(([condition, end]): [string, Record<string, string | null>, object] => [
    `a select without an index of an expression, ${condition}`,
    {
      ...voucher(
        'item as product_id',
        `item as product_id, (select words from shop.note where ${condition}) as product_slug`,
      ),
      ...rule('note'),
    },
    { file: 'voucher.sql', level: 'warning', remedy: expect.stringContaining(end!) },
  ]),
  [
    'a rule without an index',
    {
      'voucher.from.item.sql':
        'select note.card from changed join shop.note on note.words || 1 = changed.name and note.card = changed.name',
    },
    { file: 'voucher.from.item.sql', level: 'warning', problem: expect.stringMatching(/^shop.note lacks an index/) },
  ],
])('it finds %s', async (_, files, finding) => {
  const { findings } = await check(files)
  expect(findings).toContainEqual(expect.objectContaining(finding))
  expect(findings.every(({ remedy }) => remedy.length > 0)).toBe(true)
})

test('a rule may read a generated column, unless it is computed when it is read: triggers do not see it', async () => {
  const { findings } = await check({ ...reading('shop.tag'), ...rule('tag') })
  const virtual = {
    file: 'voucher.from.tag.sql',
    level: 'error',
    problem: expect.stringMatching(/^It reads shop.tag.card, a virtual/),
  }
  expect(findings).toEqual(hasVirtual ? [expect.objectContaining(virtual)] : [])
})
