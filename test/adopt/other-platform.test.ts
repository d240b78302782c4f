/**
 * Adopts a platform with other tables and keys. A change in any table that the mapping reads must change the records.
 */
import { expect, test } from 'vitest'
import { readMappings } from '../../src/db/mapping/mappings.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { createApp } from '../support/app.ts'
import { createTestToken } from '../support/builders.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { makeNextStep, projected } from '../support/projected.ts'
import { findRecordProblems } from '../support/record-problems.ts'
import { venuesFolder, venuesTables } from './venues.ts'

const { owner: platform, pool } = await createEmptyDatabase()

const runAtPlatform = (statements: string) => platform.unsafe(statements).simple()
// The nil UUID must work as a key, because platforms use it for a first row.
const [group, shop, spa] = [0, 1, 2].map(n => `00000000-0000-0000-0000-00000000000${n}`)
const tea = '11111111-1111-1111-1111-111111111111'
await runAtPlatform(`${venuesTables};
  insert into shop.venue (id, path, name) values
    ('${group}', 'group', 'Group'), ('${shop}', 'group/shop', 'Shop'), ('${spa}', 'spa', 'Spa');
  insert into shop.item (id, venue, name, cents) values ('${tea}', '${shop}', 'Tea', 1250);
  insert into shop."Gift Card" ("No", venue, item, code, "valueCents", expires_at) values
    ('A', '${shop}', '${tea}', 'CODE-A', 5000, '2027-01-01 00:00+01'), ('B', '${spa}', null, 'CODE-B', 1000, 'infinity');
  insert into shop.redemption values ('A', 1, 1500);
  insert into shop.customer (id, venue, email) values ('${tea}', '${shop}', 'ann@example.com')`)
await migrate(platform, { adopted: readMappings(venuesFolder) })
await projected(pool)
const client = await createApp({ pool })
const [{ id: root }] = await platform<[{ id: number }]>`select id from gateway.identity where key = ${group!}`
const { secret } = await createTestToken(pool, [{ tenantId: root, withDescendants: true }])

/** Runs statements at the platform, and then all steps that their changes need. */
async function write(statements: string): Promise<void> {
  await runAtPlatform(statements)
  await projected(pool)
}

/** Returns the vouchers that v1 lists for all tenants of the token. */
async function listAll(): Promise<Record<string, unknown>[]> {
  const tenants = await client.rest(secret, '/tenants')
  const lists = await Promise.all(
    (tenants.body.data as { tenant_id: number }[]).map(({ tenant_id: id }) =>
      client.rest(secret, `/tenants/${id}/sales/purchased-vouchers`),
    ),
  )
  return lists.flatMap(list => list.body.data)
}

test('v1 lists the vouchers of the platform with integer ids', async () => {
  expect(await listAll()).toMatchObject([
    {
      id: expect.any(Number),
      reference: 'CODE-A',
      initial_balance: 50,
      current_balance: 35,
      product_title: 'Tea',
      date_valid_end: '2026-12-31',
      purchase_timestamp: '2026-03-01T11:00:00.000000Z',
    },
  ])
})

test.each([
  ['a log of redemptions', `insert into shop.redemption values ('A', 2, 500)`, { current_balance: 30 }],
  ['a change of its key', `update shop.redemption set card = 'B' where line = 2`, { current_balance: 35 }],
  ['a deleted row of it', `delete from shop.redemption where line = 1`, { current_balance: 50 }],
  ['a product', `update shop.item set name = 'Green tea'`, { product_title: 'Green tea' }],
  ['a zone', `update shop.venue set zone = 'America/New_York'`, { purchase_timestamp: '2026-03-01T17:00:00.000000Z' }],
  ['a truncated log', 'truncate shop.redemption', { current_balance: 50 }],
  ['a history', `insert into shop.card_status values ('A', '2026-04-01', 'blocked')`, { void: true }],
  ['the latest of it', `insert into shop.card_status values ('A', '2026-05-01', 'active')`, { void: false }],
  [
    'a source of a source',
    `insert into shop.orders values ('7', '2026-02-01'); insert into shop.order_line values ('7', '2026-02-01', 1, 'A')`,
    { order_id: expect.any(Number) },
  ],
  [
    'a partition',
    `update shop.orders_2026 set paid_at = '2026-02-02 12:00'`,
    { purchase_timestamp: '2026-02-02T17:00:00.000000Z' },
  ],
])('records follow %s', async (_, change, shown) => {
  await runAtPlatform(change)
  expect(await listAll()).toMatchObject([shown])
  expect(await findRecordProblems(pool)).toEqual([])
})

test.each([
  ['an ordinary session', (change: string) => change],
  ['an applier', (sql: string) => `set session_replication_role = replica; ${sql}; reset session_replication_role`],
])('%s notes no rows whose columns no record of the rule shows', async (_, as) => {
  const zones = (venue = '') =>
    `update shop.venue set zone = case id when '${venue}' then 'Asia/Tokyo' else 'Europe/Paris' end`
  for (const [change, noted] of [
    ['update shop.item set active = active, cents = cents + 1', []],
    ['update shop.item set name = upper(name)', [{ source: 'shop.item', count: 1 }]],
    [zones(shop), [{ source: 'shop.venue', count: 3 }]],
    // Two rows swap their values, so only these two rows change.
    [zones(spa), [{ source: 'shop.venue', count: 2 }]],
  ] as const) {
    await platform`delete from gateway.note`
    await runAtPlatform(as(change))
    const notes = await platform`select source, count(*) from gateway.note where record = 'voucher' group by 1`
    expect(notes, change).toEqual(noted)
  }
  await write(`update shop.item set name = 'Tea'; update shop.venue set zone = 'America/New_York'`)
  expect(await findRecordProblems(pool)).toEqual([])
})

test('the note of a key is the same text under each DateStyle, time zone and bytea_output', async () => {
  const noted = async (style: string) => {
    await platform`delete from gateway.note`
    await runAtPlatform(
      `set datestyle = '${style}'; update shop.orders set paid_at = paid_at + interval '1 h'; reset datestyle`,
    )
    return platform`select key from gateway.note where source = 'shop.orders'`
  }
  expect(await noted('German')).toEqual([{ key: '{7,"2026-02-01 00:00:00"}' }])
  expect(await noted('SQL, DMY')).toEqual(await noted('ISO, MDY'))
  await runAtPlatform(`
    create table shop.seen (at timestamptz, code bytea);
    insert into gateway.rule values ('voucher', 'shop.seen', '{at,code}', 'shop.vouchers_of_seen');
    call gateway.capture('shop.seen');
    set timezone = 'Asia/Tokyo'; set bytea_output = escape;
    insert into shop.seen values ('2026-02-01 09:00', 'A');
    reset timezone; reset bytea_output`)
  expect(await platform`select key from gateway.note where source = 'shop.seen'`).toEqual([
    { key: String.raw`{"2026-02-01 00:00:00+00","\\x41"}` },
  ])
  await runAtPlatform(
    `drop table shop.seen; delete from gateway.note; delete from gateway.rule where source = 'shop.seen'`,
  )
})

const changeCents = 'update shop.item set cents = cents + 1'
const generated =
  Number((await platform`show server_version_num`)[0]?.server_version_num) < 180_000 ? 'stored' : 'virtual'

const [{ select, rules }] = await platform<[{ select: string; rules: object }]>`
  select files ->> 'select' as select, files -> 'rules' as rules from gateway.mapping where record = 'voucher'`

/** Installs a mapping of vouchers, and runs all steps that the mapping needs. */
async function installVoucherMapping(changed: string, more: object = {}) {
  await platform`call gateway.install_mapping('voucher', ${changed}, ${JSON.stringify({ ...rules, ...more })}::text::jsonb)`
  for (const { source } of await platform`select gateway.sources_to_capture()::text as source`)
    await platform`call gateway.capture(${source}::text::regclass)`
  await projected(pool)
}

test.each([
  [
    'a value whose text a setting shortens',
    'alter table shop.item add weight float8 default 0.11',
    'item.name || item.weight',
    'set extra_float_digits = -15; update shop.item set weight = 0.12; reset extra_float_digits',
  ],
  [
    'a column that is computed when it is read',
    `alter table shop.item add label text generated always as (name || cents) ${generated}`,
    'item.label',
    changeCents,
  ],
  ['a column of the system', '', 'item.name || item.xmin', changeCents],
  ['a row', '', 'left(to_json(item)::text, 255)', changeCents],
  [
    'a view that was replaced',
    'create view shop.label as select id, name as label from shop.item',
    '(select label from shop.label where label.id = item.id)',
    `create or replace view shop.label as select id, cents::text as label from shop.item;
    ${changeCents}`,
  ],
  [
    'an operator that reads tables',
    `create function shop.priced(text, integer) returns text stable return $1 || (select max(cents) from shop.item);
    create operator shop.# (function = shop.priced, leftarg = text, rightarg = integer)`,
    'item.name operator(shop.#) 1',
    changeCents,
  ],
])('records follow %s', async (_, ddl, title, change) => {
  for (const role of ['origin', 'replica']) {
    await runAtPlatform(ddl)
    await installVoucherMapping(select.replace('item.name as product_title', `${title} as product_title`))
    await write(`set session_replication_role = ${role}; ${change}; reset session_replication_role`)
    expect(await findRecordProblems(pool)).toEqual([])
    await installVoucherMapping(select)
    await runAtPlatform(`drop view if exists shop.label; drop function if exists shop.priced cascade;
      alter table shop.item drop if exists weight, drop if exists label; update shop.item set name = 'Tea'`)
  }
  await projected(pool)
})

test('a key for which a join returns several rows is rejected, and its former record stays', async () => {
  await runAtPlatform(`create table shop.label (card text, words text, primary key (card, words));
    insert into shop.label values ('A', 'One')`)
  const labelled = select
    .replace('where deleted_at', 'left join shop.label on label.card = card."No" where deleted_at')
    .replace('item.name as product_title', 'words as product_title')
  await installVoucherMapping(labelled, { label: 'select card from changed' })
  const rejected = () => platform`select key, reason from gateway.rejected`
  const several = { key: 'A', reason: 'the select has several rows of this key' }
  for (const [change, title, reasons] of [
    ['', 'One', []],
    [`insert into shop.label values ('A', 'Two')`, 'One', [several]],
    [`delete from shop.label where words = 'One'`, 'Two', []],
  ] as const) {
    await write(change)
    expect([await listAll(), await rejected()]).toMatchObject([[{ product_title: title }], reasons])
  }
  await installVoucherMapping(select)
})

test('sizes and categories of an item follow changes of their tables, in any order of the changes', async () => {
  const size = tea.replace('1', '2')
  await write(`
    insert into shop.item (id, venue, name, cents, part_of) values ('${size}', '${shop}', 'Pot', 900, '${tea}');
    insert into shop.collections (id, venue, name) values (5, '${shop}', 'Drinks')`)
  await runAtPlatform(`insert into shop."Item in Collection" values ('${tea}', 5)`)
  await projected(pool)
  const shown = () => platform`
    select product.title, category_ids, array(select title from gateway.variant where product_id = product.id) as sizes
    from gateway.product order by title`
  expect(await shown()).toEqual([{ title: 'Tea', category_ids: '{5}', sizes: '{Pot}' }])
  // The select builds an array without `order by`, so an update changes the order of its elements.
  await write(`insert into shop.collections (id, venue, name) values (6, '${shop}', 'Gifts');
    insert into shop."Item in Collection" values ('${tea}', 6)`)
  const stamp = () => platform`select updated_at, category_ids from gateway.product`
  const before = await stamp()
  await write(`update shop."Item in Collection" set item = item where collection = 5`)
  expect([await stamp(), before[0]?.category_ids]).toEqual([before, '{5,6}'])
  await write(`update shop.item set part_of = null where id = '${size}'; delete from shop."Item in Collection"`)
  expect(await shown()).toMatchObject([{ title: 'Pot' }, { title: 'Tea', category_ids: '{}', sizes: '{}' }])
  expect(await findRecordProblems(pool)).toEqual([])
})

test('a row on which many records depend is queued once, even when it changes several times', async () => {
  await write(`
    insert into shop.item (venue, name, cents) select '${spa}', 'Bath ' || n, 100 from generate_series(1, 200) n;
    insert into shop."Gift Card" ("No", venue, item, code, "valueCents")
    select 'B' || name, venue, id, name, 100 from shop.item where name like 'Bath%'`)
  for (const zone of ['Asia/Tokyo', 'Europe/Paris', 'Asia/Tokyo', 'Europe/Paris', 'Asia/Tokyo']) {
    await runAtPlatform(`update shop.venue set zone = '${zone}' where id = '${spa}'`)
    await makeNextStep(pool, 8)
  }
  const waiting = await platform`
    select from gateway.waiting_key where place > (select waited from gateway.step order by stamp desc limit 1)`
  expect(waiting.length).toBeLessThan(220)
  // A small transaction must not wait for a large transaction on whose rows many records depend.
  await runAtPlatform(`update shop.item set name = name || '!' where name like 'Bath%'`)
  await runAtPlatform(`update shop.item set name = 'White tea' where id = '${tea}'`)
  await makeNextStep(pool, 8)
  const small = await platform`select product_title from gateway.voucher where reference = 'CODE-A'`
  expect(small).toEqual([{ product_title: 'White tea' }])
  await projected(pool)
  expect(await findRecordProblems(pool)).toEqual([])
  await write(`delete from shop."Gift Card" where "No" like 'B%'; delete from shop.item where name like 'Bath%'`)
})

test('the service captures a table and a partitioned table again after their triggers were replaced', async () => {
  const replace = (table: string, write: string) => `
    create or replace function shop.nothing() returns trigger language plpgsql as 'begin return null; end';
    create or replace trigger capture_row after insert or update on ${table} for each row execute function shop.nothing();
    set session_replication_role = replica; ${write}; reset session_replication_role`
  await runAtPlatform(replace('shop."Gift Card"', `update shop."Gift Card" set "valueCents" = 11100 where "No" = 'A'`))
  await runAtPlatform(replace('shop.orders', `update shop.orders set paid_at = '2026-04-11 12:00'`))
  const read = async () => {
    const { body } = await client.ask({ method: 'GET', url: '/readyz' })
    const [voucher] = await listAll()
    return [body.reasons, voucher?.initial_balance, String(voucher?.purchase_timestamp).slice(0, 10)]
  }
  await expect.poll(read, { timeout: 20_000 }).toEqual([[], 111, '2026-04-11'])
  expect(await findRecordProblems(pool)).toEqual([])
})
