/** Rows that are made to stop the steps hold up the records of no other tenant, are named, and leave nothing behind when they are mended. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { migrate } from '../../src/db/migration/migrate.ts'
import type { Pool, Sql } from '../../src/db/sql.ts'
import { findRecordProblems } from '../../src/projection/check.ts'
import { createSteps } from '../../src/projection/step.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import { afterFile } from '../support/cleanups.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

/** With HOSTILE=long, sizes are the sizes of an attack; otherwise the file ends soon. */
const isLong = process.env.HOSTILE === 'long'
const large = isLong ? 86_000_000 : 3_000_000
const deep = isLong ? 1500 : 200
const many = isLong ? 3_000_000 : 30_000

/** The time after which a change of another tenant must be listed, in milliseconds: a machine that does more takes longer. */
const limit = 20_000

interface Case {
  name: string
  /** Statements of the hostile tenant. */
  attack: string
  /** A part of the reason for which keys are rejected; absent: none is, or the row is shown. */
  reason?: RegExp
  /** Statements that mend the row. */
  mend: string
}

const lags: [number, string][] = []
afterAll(() => {
  const lines = lags.sort(([one], [other]) => other - one).map(([lag, name]) => `${lag.toFixed(0)} ms: ${name}`)
  console.info(`The lag of another tenant:\n${lines.join('\n')}`)
})

function keepMakingSteps(pool: Pool): void {
  const closing = new AbortController()
  const makeSteps = createSteps(pool, closing.signal)
  const done = (async () => {
    // A step that fails is made again.
    for (; !closing.signal.aborted; await pause(30)) await makeSteps().catch(() => {})
  })()
  afterFile(async () => {
    closing.abort()
    await done
  })
}

interface Platform {
  pool: Pool
  owner: Pool
  /** Adds a voucher of another tenant. */
  sell: (sql: Sql, reference: string) => Promise<unknown>
}

let sold = 0

async function attack({ pool, owner, sell }: Platform, { name, attack, reason, mend }: Case): Promise<void> {
  const run = (statements: string) => owner.unsafe(statements).simple()
  const state = async () => {
    const { waiting, reasons } = await readStepState(pool)
    return waiting === 0 && reasons.length === 0
  }
  await run(attack)
  // In the step that takes the rows, or in those after it.
  for (let n = 0; n < (isLong ? 3 : 1); n++) {
    const reference = `WELL-${++sold}`
    await sell(owner, reference)
    const began = performance.now()
    await until(
      `the other tenant's voucher is a record next to ${name}`,
      async () => (await pool`select from gateway.voucher where reference = ${reference}`).length > 0,
      limit,
    )
    lags.push([performance.now() - began, name])
  }
  if (reason) {
    await until(
      `the key is named: ${name}`,
      async () =>
        (await pool<{ reason: string }[]>`select reason from gateway.rejected`).some(row => reason.test(row.reason)),
      limit,
    )
  }
  await run(mend)
  await until(`nothing waits after ${name}`, state, 60_000)
  expect(await pool`select record, key, reason from gateway.rejected`).toEqual([])
}

const text = (length: number) => `repeat('Ж', ${length})`

interface Statements {
  attack: string
  mend: string
}
type Insert = (columns: string, values: string) => Statements

/** @param required the columns that a row needs, with their values */
const inserting =
  (table: string, required: Record<string, string>): Insert =>
  (columns, values) => {
    const more = Object.entries(required).filter(([name]) => !columns.split(', ').includes(name))
    return {
      attack: `insert into ${table} (id, ${[...more.map(([name]) => name), columns]})
        values (900, ${[...more.map(([, value]) => value), values]})`,
      mend: `delete from ${table} where id = 900`,
    }
  }
const voucher = inserting('purchased_voucher', { tenant_id: '1', reference: `'R'`, currency: `'GBP'` })
const product = inserting('product', { tenant_id: '1', slug: `'s'`, title: `'t'`, currency: `'GBP'` })
const customer = inserting('customer', { tenant_id: '1', marketing_opted: 'true' })
const tenant = inserting('tenant', { name: `'T'` })

/** Values that are longer than their columns may be. */
const long: [Insert, column: string, value: string][] = [
  [voucher, 'reference', text(256)],
  [voucher, 'reference', text(100_000)],
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

/** Values beyond what v1 shows. */
const extreme: [Insert, column: string, value: string][] = [
  [voucher, 'initial_balance', `'NaN'`],
  [voucher, 'initial_balance', `'infinity'`],
  [voucher, 'current_balance', `repeat('9', 100000)::numeric`],
  [voucher, 'purchase_value', `('0.' || repeat('1', 16000))::numeric`],
  [voucher, 'date_valid_end', `'0044-03-15 BC'`],
  [voucher, 'created_at', `'294276-12-31 23:59:59'`],
  [customer, 'consented_at', `'infinity'`],
]
const named =
  (what: string) =>
  ([insert, column, value]: [Insert, string, string]): Case => ({
    name: `${column} = ${value.slice(0, 60)}`,
    ...insert(column, value),
    reason: new RegExp(`^${column} ${what}`),
  })
/** Lets more than half of the tenants leave. */
const allowRemovals = `select gateway.request_scan('tenant', 'It is compared.'); call gateway.allow_removals('tenant')`
const chain = (length: number, first = 1000) =>
  `insert into tenant (id, name, parent_id) select ${first} + n, 'Deep', nullif(${first - 1} + n, ${first}) from generate_series(1, ${length}) n`

const plain: Case[] = [
  ...long.map(named('has more')),
  ...extreme.map(named('is not')),
  {
    name: 'a reference of invisible characters',
    ...voucher('reference', `E'\\u200b\\u0001'`),
    reason: /^reference is empty/,
  },
  { name: 'a reference of 255 letters that fold to three', ...voucher('reference', `repeat('ΐ', 255)`) },
  { name: 'quotes and backslashes', ...voucher('reference', `$$'"\\{},();--%s$$`) },
  {
    name: 'a QR token of 650 four-byte characters',
    ...voucher('qr_token', `(select string_agg(chr(65536 + i * 7919 % 100000), '') from generate_series(1, 650) i)`),
  },
  {
    name: 'the last date',
    ...voucher('date_valid_start', `'5874897-12-31'`),
    reason: /evaluated|date_valid_start is not|out of range/,
  },
  { name: 'an id of zero', ...voucher('order_id', '0'), reason: /^an id is not/ },
  {
    name: 'many descriptions of 1.2 MB',
    attack: `insert into product (tenant_id, slug, title, currency, description_html)
      select 1, 's', 'big', 'GBP', repeat(md5(n::text), 37500) from generate_series(1, ${isLong ? 1000 : 40}) n`,
    mend: `delete from product where title = 'big'`,
    reason: /^description_html has more/,
  },
  {
    name: 'many descriptions of .9 MB, which are shown',
    attack: `insert into product (tenant_id, slug, title, currency, description_html)
      select 1, 's', 'big', 'GBP', repeat(md5(n::text), 28000) from generate_series(1, ${isLong ? 1000 : 40}) n`,
    mend: `delete from product where title = 'big'`,
  },
  {
    name: 'an array of six dimensions',
    ...product('image_urls', `array_fill('a'::text, array[2,2,2,2,2,2])`),
    reason: /dimension/,
  },
  { name: 'an array of nulls', ...product('image_urls', 'array[null]::text[]'), reason: /contains null/ },
  { name: 'a large e-mail address', ...customer('email', `'@' || ${text(large)}`), reason: /^email/ },
  { name: 'a large time zone', ...tenant('time_zone', text(large)), reason: /^time_zone is no/ },
  { name: 'a time zone with a path', ...tenant('time_zone', `'../../etc/passwd'`), reason: /^time_zone is no/ },
  {
    name: 'a tenant that is its parent',
    attack: `insert into tenant (id, name, parent_id) values (900, 'Own', 900)`,
    mend: 'delete from tenant where id = 900',
    reason: /^parent_id is the tenant/,
  },
  {
    name: 'a deep chain of tenants',
    attack: chain(deep),
    mend: `${allowRemovals}; delete from tenant where id > 1000`,
    reason: /^More than 49 tenants/,
  },
  {
    name: 'a chain that another one takes along',
    attack: `${chain(45)}; ${chain(45, 2000)}; update tenant set parent_id = 1045 where id = 2001`,
    mend: `${allowRemovals}; delete from tenant where id > 1000`,
    reason: /^More than 49 tenants/,
  },
  {
    name: 'a loop of tenants with a chain below',
    attack: `${chain(60)}; update tenant set parent_id = 1002 where id = 1001`,
    mend: `${allowRemovals}; update tenant set parent_id = null where id = 1001; delete from tenant where id > 1000`,
  },
  {
    name: 'a loop of many tenants',
    attack: `${chain(deep)}; update tenant set parent_id = ${1000 + deep} where id = 1001`,
    mend: `${allowRemovals}; update tenant set parent_id = null where id = 1001; delete from tenant where id > 1000`,
  },
  {
    name: 'a transaction of many notes',
    attack: `insert into gateway.note (record, key) select 'voucher', (n + 1000000)::text from generate_series(1, ${many}) n`,
    mend: 'select',
  },
  {
    name: 'notes of keys that are none',
    attack: `insert into gateway.note (record, key) values ('voucher', 'x'), ('product', repeat('y', 100000)), ('tenant', ''), ('customer', '99999999999999999999')`,
    mend: 'select',
  },
  {
    name: 'truncations of a table without rows',
    attack: `do $$ begin for n in 1..40 loop truncate category cascade; commit; perform pg_sleep(.01); end loop; end $$`,
    mend: 'select',
  },
  {
    name: 'requests of a scan without end',
    attack: `do $$ begin for n in 1..40 loop perform gateway.request_scan('tenant', 'Again.'); commit; perform pg_sleep(.01); end loop; end $$`,
    mend: 'select',
  },
  {
    name: 'a column that is renamed and named again',
    attack: `alter table category rename title to heading; insert into category (id, tenant_id, slug, heading) values (900, 1, 's', 't')`,
    mend: 'alter table category rename heading to title; delete from category where id = 900',
  },
  {
    name: 'a column of another type',
    attack: `alter table category alter sort_order type text; insert into category (id, tenant_id, slug, title, sort_order) values (900, 1, 's', 't', 'x')`,
    mend: `delete from category where id = 900; alter table category alter sort_order drop default, alter sort_order type integer using sort_order::integer, alter sort_order set default 0`,
  },
]

/** The keys are texts. Its mapping does what `does` says, and a rule reads a column that may have any length. */
const card: Insert = (columns, values) => ({
  attack: `insert into bad.card (no, shop, code, ${columns}) values ('900', 'one', '900', ${values})`,
  mend: `delete from bad.card where no = '900'`,
})
const does = (what: string) => card('does', `'${what}'`)
const key = (value: string): Statements => ({
  attack: `insert into bad.card (no, shop, code) values (${value}, 'one', 'K')`,
  mend: `delete from bad.card where code = 'K'`,
})
const hash = (parts: number) => `(select string_agg(md5(n::text), '') from generate_series(1, ${parts}) n)`

const adopted: Case[] = [
  { name: 'a key of 2,681 characters', ...key(`left(${hash(100)}, 2681)`), reason: /more than 1000 bytes/ },
  { name: 'a key of 100,000 characters', ...key(`repeat('k', 100000)`), reason: /more than 1000 bytes/ },
  { name: 'an empty key', ...key(`''`) },
  { name: 'a key of quotes and control characters', ...key(`E'\\x01{"'',\\\\}'`) },
  { name: 'a foreign key of 5,000 characters', ...card('item', hash(160)), reason: /more than 1000 bytes/ },
  {
    name: 'a tenant whose key has 2,000 characters',
    attack: `insert into bad.shop (id, name) values (left(${hash(100)}, 2000), 'Long')`,
    mend: `delete from bad.shop where name = 'Long'`,
    reason: /more than 1000 bytes/,
  },
  {
    name: 'a column with 5,000 characters that is a key for a rule',
    attack: `insert into bad.label values (900, ${hash(160)})`,
    mend: 'delete from bad.label',
  },
  {
    name: 'a rule over a column with 5,000 characters',
    attack: `insert into bad.tag values (900, ${hash(160)})`,
    mend: 'delete from bad.tag',
  },
  {
    name: 'a rule over a large column',
    attack: `insert into bad.tag values (900, ${text(large)})`,
    mend: 'delete from bad.tag',
  },
  {
    name: 'a rule that names keys of no row',
    attack: `insert into bad.label select n, 'none-' || n from generate_series(1, 500) n`,
    mend: 'delete from bad.label',
  },
  { name: 'a division by zero', ...does('divide'), reason: /division by zero/ },
  { name: 'a cast that fails', ...does('cast'), reason: /invalid input syntax/ },
  { name: 'a function that raises', ...does('raise'), reason: /^hostile/ },
  { name: 'a function that raises that memory is short', ...does('memory'), reason: /limits of a step/ },
  { name: 'a large result', ...does('large'), reason: /^product_title has more/ },
  { name: 'a stack that overflows', ...does('recurse'), reason: /stack depth/ },
  { name: 'a row that sleeps', ...does('sleep'), reason: /limits of a step/ },
  {
    name: 'many rows that sleep a little',
    attack: `insert into bad.card (no, shop, code, does) select 'slow-' || n, 'one', 'slow-' || n, 'nap' from generate_series(1, 30) n`,
    mend: `delete from bad.card where does = 'nap'`,
  },
]

const { pool, platform: owner } = await createDatabase()
await owner`insert into tenant (id, name) values (1, 'Hostile'), (2, 'Well')`
keepMakingSteps(pool)
test.each(plain)('the plain tables: $name', async row => {
  const sell = (sql: Sql, reference: string) =>
    sql`insert into purchased_voucher (tenant_id, reference) values (2, ${reference})`
  await attack({ pool, owner, sell }, row)
})

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
const mapping = (record: string, select: string, rules: Record<string, string> = {}) => ({
  record,
  select,
  rules,
  path: 'public',
})
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
const otherPool = connect(other.address, { max: 4, statementTimeoutMs: 10_000, role: serviceRole })
afterFile(() => otherPool.end({ timeout: 1 }))
keepMakingSteps(otherPool)
test.each(adopted)('an adopted platform: $name', async row => {
  const sell = (sql: Sql, reference: string) =>
    sql`insert into bad.card (no, shop, code) values (${reference}, 'two', ${reference})`
  await attack({ pool: otherPool, owner: other.owner, sell }, row)
})

test('after all of them, the records are as their sources, and only rows have ids', async () => {
  for (const each of [pool, otherPool]) expect(await findRecordProblems(each)).toEqual([])
  const [{ ids }] = await other.owner<
    [{ ids: number }]
  >`select count(*) as ids from gateway.identity where key like 'none-%'`
  expect(ids).toBe(0)
})

test('a source that is locked holds up its own type only', async () => {
  await owner.begin(async session => {
    await session.unsafe('lock table product in access exclusive mode')
    await owner`insert into purchased_voucher (tenant_id, reference) values (2, 'LOCK')`
    await until(
      'it is a record',
      async () => (await pool`select from gateway.voucher where reference = 'LOCK'`).length > 0,
      limit,
    )
  })
})
