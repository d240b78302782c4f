/**
 * Rows that try to stop the steps do not delay records of other tenants, are reported, and leave nothing behind after
 * their repair.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { migrate } from '../../src/db/migration/migrate.ts'
import type { Pool } from '../../src/db/sql.ts'
import { findRecordProblems } from '../../src/projection/check.ts'
import { createSteps } from '../../src/projection/step.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import { afterFile } from '../support/cleanups.ts'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

/** With HOSTILE=long, the sizes are those of an attack; otherwise the sizes are small, and the tests are quick. */
const isLong = process.env.HOSTILE === 'long'
const large = isLong ? 86_000_000 : 3_000_000
const deep = isLong ? 1500 : 200
const rowCount = isLong ? 3_000_000 : 30_000

/**
 * The maximum time until a change of another tenant is in its record, in milliseconds. A busy machine needs most of
 * this time.
 */
const limit = 20_000

type Case = [name: string, attack: string, mend: string, reason?: RegExp]

/** Runs steps all the time, as the service does, and continues after a failed step. */
function keepMakingSteps(pool: Pool): void {
  const closing = new AbortController()
  const makeSteps = createSteps(pool, closing.signal)
  const done = (async () => {
    for (; !closing.signal.aborted; await pause(30)) await makeSteps().catch(() => {})
  })()
  afterFile(() => {
    closing.abort()
    return done
  })
}

let sold = 0

/**
 * Runs the statements of a hostile tenant, checks that they delay no other tenant, and then repairs its rows.
 *
 * @param sell returns a statement that adds a voucher of another tenant
 * @param of the name, the attack, the repair, and a pattern of the reason if the key must be rejected
 */
async function expectHarmless(pool: Pool, owner: Pool, sell: (reference: string) => string, of: Case): Promise<void> {
  const [name, attack, mend, reason] = of
  await owner.unsafe(attack).simple()
  // The rows may fail in the step that reads them or in later steps.
  for (let n = 0; n < (isLong ? 3 : 1); n++) {
    const reference = `WELL-${++sold}`
    await owner.unsafe(sell(reference))
    const isRecord = async () => (await pool`select from gateway.voucher where reference = ${reference}`).length > 0
    await until(`the other tenant's voucher is a record next to ${name}`, isRecord, limit)
  }
  const isNamed = async () => (await pool`select reason from gateway.rejected`).some(row => reason?.test(row.reason))
  if (reason) await until(`the key is named: ${name}`, isNamed, limit)
  await owner.unsafe(mend).simple()
  const isDone = async () => {
    const { waiting, reasons } = await readStepState(pool)
    return waiting === 0 && reasons.length === 0
  }
  await until(`nothing waits after ${name}`, isDone, 60_000)
  expect(await pool`select record, key, reason from gateway.rejected`).toEqual([])
}

const text = (length: number) => `repeat('Ж', ${length})`

/** Returns a statement that inserts a row with this value, and one that deletes the row. */
type Insert = (column: string, value: string) => [attack: string, mend: string]

/** @param required the values of the columns that a row must have */
const createInsert =
  (table: string, required: Record<string, string>): Insert =>
  (column, value) => {
    const row = { id: '900', ...required, [column]: value }
    const attack = `insert into ${table} (${Object.keys(row)}) values (${Object.values(row)})`
    return [attack, `delete from ${table} where id = 900`]
  }
const voucher = createInsert('purchased_voucher', { tenant_id: '1', reference: `'R'`, currency: `'GBP'` })
const product = createInsert('product', { tenant_id: '1', slug: `'s'`, title: `'t'`, currency: `'GBP'` })
const customer = createInsert('customer', { tenant_id: '1', marketing_opted: 'true' })
const tenant = createInsert('tenant', { name: `'T'` })

/** Values that are longer than their columns allow. */
const longValues: [Insert, column: string, value: string][] = [
  [voucher, 'reference', text(256)],
  [voucher, 'qr_token', text(100_000)],
  [voucher, 'product_title', text(100_001)],
  [voucher, 'recipient_name', text(large)],
  [product, 'description_html', text(large)],
  [product, 'validity_type', text(100_001)],
  [product, 'image_url', text(large)],
  [product, 'image_urls', `array[${text(large)}]`],
  [product, 'image_urls', `array_fill('ab'::text, array[1100000])`],
  [customer, 'consent_source', text(large)],
  [customer, 'forename', text(large)],
  [tenant, 'name', text(large)],
]

/** Values that v1 cannot show. */
const extreme: [Insert, column: string, value: string][] = [
  [voucher, 'initial_balance', `'NaN'`],
  [voucher, 'initial_balance', `'infinity'`],
  [voucher, 'current_balance', `repeat('9', 100000)::numeric`],
  [voucher, 'purchase_value', `('0.' || repeat('1', 16000))::numeric`],
  [voucher, 'date_valid_end', `'0044-03-15 BC'`],
  [voucher, 'created_at', `'294276-12-31 23:59:59'`],
  [customer, 'consented_at', `'infinity'`],
]
const toCase =
  (what: string) =>
  ([insert, column, value]: [Insert, string, string]): Case => [
    `${column} = ${value.slice(0, 60)}`,
    ...insert(column, value),
    new RegExp(`^${column} ${what}`),
  ]

const chain = (length: number, first = 1000) =>
  `insert into tenant (id, name, parent_id) select ${first} + n, 'Deep', nullif(${first - 1} + n, ${first}) from generate_series(1, ${length}) n`
/** Deletes more than half of the tenants, which an operator has to allow. */
const endChain = `
  select gateway.request_scan('tenant', 'It is compared.'); call gateway.allow_removals('tenant');
  update tenant set parent_id = null where id = 1001; delete from tenant where id > 1000`
const repeatedly = (statement: string) =>
  `do $$ begin for n in 1..40 loop ${statement}; commit; perform pg_sleep(.01); end loop; end $$`
const fourBytes = `(select string_agg(chr(65536 + i * 7919 % 100000), '') from generate_series(1, 650) i)`
const noKeys = `('voucher', 'x'), ('product', repeat('y', 100000)), ('tenant', ''), ('customer', '99999999999999999999')`

const plain: Case[] = [
  ...longValues.map(toCase('has more')),
  ...extreme.map(toCase('is not')),
  ['a reference of 255 letters that fold to three', ...voucher('reference', `repeat('ΐ', 255)`)],
  ['quotes and backslashes', ...voucher('reference', `$$'"\\{},();--%s$$`)],
  ['a QR token of 650 four-byte characters', ...voucher('qr_token', fourBytes)],
  ['the last date', ...voucher('date_valid_start', `'5874897-12-31'`), /date_valid_start is not|range/],
  [
    'many descriptions of .9 MB, which are shown',
    `insert into product (tenant_id, slug, title, currency, description_html)
     select 1, 's', 'big', 'GBP', repeat(md5(n::text), 28000) from generate_series(1, ${isLong ? 1000 : 40}) n`,
    `delete from product where title = 'big'`,
  ],
  ['a large e-mail address', ...customer('email', `'@' || ${text(large)}`), /^email/],
  ['a large time zone', ...tenant('time_zone', text(large)), /^time_zone is no/],
  ['a time zone with a path', ...tenant('time_zone', `'../../etc/passwd'`), /^time_zone is no/],
  ['a tenant that is its parent', ...tenant('parent_id', '900'), /^parent_id is the tenant/],
  ['a deep chain of tenants', chain(deep), endChain, /^More than 49 tenants/],
  [
    'a chain that another one takes along',
    `${chain(45)}; ${chain(45, 2000)}; update tenant set parent_id = 1045 where id = 2001`,
    endChain,
    /^More than 49 tenants/,
  ],
  ['a loop of many tenants', `${chain(deep)}; update tenant set parent_id = ${1000 + deep} where id = 1001`, endChain],
  [
    'a transaction of many notes',
    `insert into gateway.note (record, key) select 'voucher', (n + 1000000)::text from generate_series(1, ${rowCount}) n`,
    'select',
  ],
  ['notes of keys that are none', `insert into gateway.note (record, key) values ${noKeys}`, 'select'],
  ['truncations of a table without rows', repeatedly('truncate category cascade'), 'select'],
  ['requests of a scan without end', repeatedly(`perform gateway.request_scan('tenant', 'Again.')`), 'select'],
]

/**
 * Inserts a card, whose key is a text. The mapping calls `bad.act(does)`, and rules read columns without a limit of
 * length.
 */
const card: Insert = (column, value) => [
  `insert into bad.card (no, shop, code, ${column}) values ('900', 'one', '900', ${value})`,
  `delete from bad.card where no = '900'`,
]
const does = (what: string) => card('does', `'${what}'`)
const key = (value: string): [string, string] => [
  `insert into bad.card (no, shop, code) values (${value}, 'one', 'K')`,
  `delete from bad.card where code = 'K'`,
]
/** A text of 5,120 characters that PostgreSQL cannot compress. */
const hash = `(select string_agg(md5(n::text), '') from generate_series(1, 160) n)`

const adopted: Case[] = [
  ['a key of 2,681 characters', ...key(`left(${hash}, 2681)`), /more than 1000 bytes/],
  ['an empty key', ...key(`''`)],
  ['a key of quotes and control characters', ...key(`E'\\x01{"'',\\\\}'`)],
  ['a foreign key of 5,120 characters', ...card('item', hash), /more than 1000 bytes/],
  ['a long key of a rule', `insert into bad.label values (900, ${hash})`, 'delete from bad.label'],
  ['a rule over a large column', `insert into bad.tag values (900, ${text(large)})`, 'delete from bad.tag'],
  [
    'a rule that names keys of no row',
    `insert into bad.label select n, 'none-' || n from generate_series(1, 500) n`,
    'delete from bad.label',
  ],
  ['a division by zero', ...does('divide'), /division by zero/],
  ['a cast that fails', ...does('cast'), /invalid input syntax/],
  ['a function that raises', ...does('raise'), /^hostile/],
  ['a function that raises that memory is short', ...does('memory'), /limits of a step/],
  ['a large result', ...does('large'), /^product_title has more/],
  ['a stack that overflows', ...does('recurse'), /stack depth/],
  ['a row that sleeps', ...does('sleep'), /limits of a step/],
  [
    'many rows that sleep a little',
    `insert into bad.card (no, shop, code, does) select 'slow-' || n, 'one', 'slow-' || n, 'nap' from generate_series(1, 30) n`,
    `delete from bad.card where does = 'nap'`,
  ],
]

const { pool, platform: owner } = await createDatabase()
await owner`insert into tenant (id, name) values (1, 'Hostile'), (2, 'Well')`
keepMakingSteps(pool)
const sellPlain = (reference: string) =>
  `insert into purchased_voucher (tenant_id, reference) values (2, '${reference}')`
test.each(plain)('the plain tables: %s', (...row) => expectHarmless(pool, owner, sellPlain, row))

const other = await createEmptyDatabase()
await other.owner
  .unsafe(`
    create schema bad;
    create table bad.shop (id text primary key, name text not null);
    create table bad.card (no text primary key, shop text not null, code text not null, item text, does text);
    create index on bad.card (code);
    create table bad.label (id integer primary key, no text);
    create table bad.tag (id integer primary key, code text);
    create function bad.act(does text) returns text language plpgsql as $$ begin
      case does
        when 'raise' then raise exception 'hostile';
        when 'memory' then raise exception 'hostile' using errcode = 'out_of_memory';
        when 'divide' then return 1 / 0;
        when 'cast' then return 'x'::integer;
        when 'large' then return repeat('x', ${large});
        when 'recurse' then return bad.act(does);
        when 'sleep' then perform pg_sleep(60);
        when 'nap' then perform pg_sleep(.1);
        else null;
      end case;
      return does;
    end $$;
    insert into bad.shop values ('one', 'Hostile'), ('two', 'Well')`)
  .simple()
const mapping = (record: string, select: string, rules = {}) => ({ record, select, rules, path: 'public' })
await migrate(other.owner, {
  adopted: [
    mapping('tenant', 'select id as key, name from bad.shop'),
    mapping(
      'voucher',
      `select no as key, shop as tenant_id, code as reference, item as product_id, bad.act(does) as product_title,
         (select max(id)::text from bad.label where label.no = card.no) as void_reason,
         (select max(id)::text from bad.tag where tag.code = card.code) as recipient_name, timestamptz '2026-01-01' as created_at
       from bad.card`,
      { label: 'select no from changed', tag: 'select no from bad.card join changed using (code)' },
    ),
  ],
})
keepMakingSteps(other.pool)
const sellCard = (code: string) => `insert into bad.card (no, shop, code) values ('${code}', 'two', '${code}')`
test.each(adopted)('an adopted platform: %s', (...row) => expectHarmless(other.pool, other.owner, sellCard, row))

test('after all attacks, the records equal their sources, and only existing rows have ids', async () => {
  for (const each of [pool, other.pool]) expect(await findRecordProblems(each)).toEqual([])
  expect(await other.owner`select from gateway.identity where key like 'none-%'`).toEqual([])
})
