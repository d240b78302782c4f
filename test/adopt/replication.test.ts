/**
 * Adopts a platform on another server. The gateway copies its tables, and then a subscription and the watch apply its
 * changes.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readMappings } from '../../src/db/mapping/mappings.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { hashSecret } from '../../src/domain/secret/hash.ts'
import { createTokenSecret } from '../../src/domain/token/secret.ts'
import { findRecordProblems } from '../../src/projection/check.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import { connectionString } from '../../src/staging/connection-string.ts'
import { copyPlatform } from '../../src/staging/copy.ts'
import { readReplicationName } from '../../src/staging/publication.ts'
import { removeStaging } from '../../src/staging/remove.ts'
import { checkPlatform, stagePlatform } from '../../src/staging/stage.ts'
import { createPlatformWatch } from '../../src/staging/watch.ts'
import { createApp } from '../support/app.ts'
import { createTestToken, whole } from '../support/builders.ts'
import { afterFile } from '../support/cleanups.ts'
import { addressUrl, connect, serviceRole } from '../support/connect.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { startServer } from '../support/embedded-postgres.ts'
import { startPackaged } from '../support/packaged-postgres.ts'
import { projected } from '../support/projected.ts'
import { startProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'
import { venuesFolder as folder, venuesTables } from './venues.ts'

// Logical replication sends only flushed WAL, and the embedded server commits without a flush by default.
const settings = {
  synchronous_commit: 'on',
  wal_level: 'logical',
  max_slot_wal_keep_size: '64MB',
  wal_retrieve_retry_interval: '100ms',
}
const { address } = await createEmptyDatabase()
const owner = connect(address, { max: 2, statementTimeoutMs: 60_000 })
const pool = connect(address, { max: 2, statementTimeoutMs: 60_000, role: serviceRole })
const [{ version }] = await owner<[{ version: number }]>`select current_setting('server_version_num')::int as version`
// The platform may run the same version of PostgreSQL as the gateway, or an older version.
const server = version < 180_000 ? await startPackaged(settings) : await startServer(settings)
// The URL has parameters of other drivers, which the gateway must ignore.
const platformUrl = `${addressUrl(server)}&connection_limit=5&pgbouncer=false`
const publication = await readReplicationName(owner)
const writes = { default_transaction_read_only: 'off', lock_timeout: '0' }
const platform = connect(server, { max: 2, statementTimeoutMs: 60_000, settings: writes })
const copyReasons: string[] = []
const createWatch = (url = platformUrl) =>
  createPlatformWatch(owner, { platformUrl: url, onCopy: reason => copyReasons.push(reason) })
const watch = createWatch()
afterFile(async () => {
  await watch.close()
  await removeStaging(owner, platformUrl)
  await Promise.all([platform, owner, pool].map(each => each.end({ timeout: 1 })))
  await server.stop()
})

const venue = '00000000-0000-0000-0000-000000000001'
const item = '11111111-1111-1111-1111-111111111111'
const runAtPlatform = (statements: string) => platform.unsafe(statements).simple()
const stageTables = (url = platformUrl, lockWait = 10) => stagePlatform(owner, folder, { platformUrl: url, lockWait })

await runAtPlatform(venuesTables)
// Objects that must not disturb adoption: a table with the name of a plain table of the gateway, a table that no
// mapping reads, and a publication of another program.
await runAtPlatform(`create table public.customer (id integer); create table public.tenant (name text);
  create publication voucher_gateway for table public.tenant`)
// The gateway must override these settings of the login.
await runAtPlatform(`alter role ${server.user} set default_transaction_read_only = on;
  alter role ${server.user} set lock_timeout = 1`)
// Names that would run SQL if the gateway did not quote them.
await runAtPlatform(`
  create domain shop."integer) as x; drop schema gateway cascade; --" as int;
  create schema "s""; drop schema gateway";
  create table "s""; drop schema gateway"."t""; --" ("c""; --" shop."integer) as x; drop schema gateway cascade; --" primary key);
  alter table shop.consent add column "a""; drop schema gateway cascade; --" integer;
  create index on shop.consent (customer, "a""; drop schema gateway cascade; --")`)
await runAtPlatform(`
  insert into shop.venue (id, path, name) values ('${venue}', 'main', 'Main');
  insert into shop.item (id, venue, name, cents) values ('${item}', '${venue}', 'Tea', 1250);
  insert into shop."Gift Card" ("No", venue, item, code, "valueCents")
    select 'C' || n, '${venue}', '${item}', 'CODE-' || n, 5000 from generate_series(1, 2000) n`)
await migrate(owner, { adopted: null })

/** Waits until the subscription has applied all changes of the platform, and steps have written all records. */
async function untilApplied(): Promise<void> {
  const [now] = await platform`select pg_current_wal_flush_lsn()::text as position`
  await until(
    'the changes are applied',
    async () => {
      await watch.follow()
      const [slot] = await platform`
      select confirmed_flush_lsn >= ${now?.position}::text::pg_lsn as done from pg_replication_slots where active`
      return slot?.done === true
    },
    60_000,
  )
  await projected(pool)
}

/** Runs statements at the platform, and waits until the gateway has applied their changes. */
async function write(statements: string): Promise<void> {
  await runAtPlatform(statements)
  await untilApplied()
}

const voucher = async (reference: string) =>
  (await owner`select current_balance, product_title from gateway.voucher where reference = ${reference}`)[0]
const readReasons = async () => (await readStepState(pool)).reasons
/** Waits until the record of the first voucher has a product title. @param title the title to wait for */
const untilTitled = (title: string) =>
  until(`the title is ${title}`, async () => {
    await projected(pool)
    return (await voucher('CODE-1'))?.product_title === title
  })
/** Runs the watch once. @returns true when the staged table of items has the column */
const hasColumn = async (name: string) => {
  await watch.follow()
  return (await owner`select from pg_attribute where attrelid = 'shop.item'::regclass and attname = ${name}`).length > 0
}
/** Reads the subscriptions of this database. The catalog lists the subscriptions of all databases of the server. */
const readSubscriptions = () => owner`
  select subenabled from pg_subscription join pg_database on pg_database.oid = subdbid where datname = current_database()`
const lostChangeMessage = (table: string) =>
  `The log lacks a change of ${table}: of its key, an enum, a partition or the values of a column.`
/** Returns the rows of a table with all values as texts, because the gateway stages some types as text. */
const readRowTexts = async (sql: typeof owner, table: string) => {
  const rows = await sql.unsafe<{ row: string }[]>(`
    select (select jsonb_object_agg(key, value) from jsonb_each_text(to_jsonb(source)))::text as row from ${table} source`)
  return rows.map(({ row }) => row).sort()
}
const expectSameRows = async (table: string) =>
  expect(await readRowTexts(owner, table)).toEqual(await readRowTexts(platform, table))
/** Waits until tables are copied again, and checks that this is the only reason. */
async function untilCopied(reason: unknown): Promise<void> {
  await until('it is copied', async () => {
    await watch.follow()
    return copyReasons.length > 0
  })
  expect(copyReasons.splice(0)).toEqual([reason])
}
const expectNoProblems = async () => expect(await findRecordProblems(owner)).toEqual([])

const dropKey = 'alter table shop.consent drop constraint consent_pkey'
const key = 'alter table shop.consent add primary key (customer, at), replica identity default'

const [error, warning] = [{ level: 'error' }, { level: 'warning' }]
const orders = 'alter table shop.orders'

test.each<[fault: string, change: string, found: Record<string, unknown>, text: string, undo: string]>([
  ['no key', dropKey, error, 'alter table shop.consent add primary key', key],
  ['no key, and all columns as identity', `${dropKey}, replica identity full`, warning, 'and no primary key', key],
  [
    'tables that inherit from it',
    'create table shop.thumbnail () inherits (shop.picture)',
    { file: 'shop.picture' },
    'tables that inherit from it (shop.thumbnail)',
    'drop table shop.thumbnail',
  ],
  [
    'a deferrable key, which the log lacks',
    `${dropKey}, add primary key (customer, at) deferrable`,
    error,
    'alter table shop.consent replica identity full',
    `${dropKey}; ${key}`,
  ],
  [
    'a replica identity that its partitions do not have',
    `${orders} drop constraint orders_pkey cascade, alter "orderNo" set not null, alter placed_at set not null;
     create unique index order_key on shop.orders ("orderNo", placed_at);
     ${orders} replica identity using index order_key`,
    { file: 'shop.orders' },
    'alter table shop.orders add primary key',
    `${orders} replica identity default; drop index shop.order_key; ${orders} add primary key ("orderNo", placed_at)`,
  ],
])('a table is named before it is published: it has %s', async (_, change, found, text, undo) => {
  await runAtPlatform(change)
  const { findings } = await checkPlatform(owner, platformUrl, folder)
  expect(findings).toMatchObject([{ file: 'shop.consent', ...found }])
  expect(`${findings[0]?.problem} ${findings[0]?.remedy}`).toContain(text)
  if (findings[0]?.level === 'error') expect(await stageTables()).toEqual(findings)
  expect(await platform`select from pg_publication`).toHaveLength(1)
  await runAtPlatform(undo)
})

test('a table without a key is reported with the unique index that could be its key', async () => {
  await runAtPlatform(`${dropKey}, alter customer set not null, alter at set not null;
    create unique index consent_at on shop.consent (customer, at)`)
  const check = async () => (await checkPlatform(owner, platformUrl, folder)).findings
  const [{ remedy = '' } = {}] = await check()
  await runAtPlatform(/alter table .*;/.exec(remedy)?.[0] ?? '')
  expect(await check()).toEqual([])
  await runAtPlatform(`drop index shop.consent_at; ${key}`)
})

test('the check reports each missing right that apply needs, and the statement of its remedy grants it', async () => {
  await runAtPlatform('create role reader login')
  const url = addressUrl({ ...server, user: 'reader' })
  const check = async () => (await checkPlatform(owner, url, folder)).findings
  const refused = await check()
  expect(refused).toEqual(await stageTables(url))
  const problems = ['It is not readable for reader', 'may not replicate', 'may not publish the tables']
  expect([...new Set(refused.map(({ problem }) => problem.replace('The login reader ', '')))]).toEqual(problems)
  for (const { remedy } of refused) await runAtPlatform(remedy.slice(remedy.indexOf(': ') + 2))
  expect(await check()).toEqual([])
  await runAtPlatform(`drop publication ${publication}`)
  await owner`create role no_superuser login in role ${owner(address.user)}`
  const weak = connect({ ...address, user: 'no_superuser' }, { max: 2, statementTimeoutMs: 60_000 })
  const right =
    version < 160_000 ? 'alter role no_superuser superuser;' : 'grant pg_create_subscription to no_superuser;'
  const remedy = expect.stringContaining(right)
  const { findings } = await checkPlatform(weak, platformUrl, folder)
  expect(findings).toContainEqual(expect.objectContaining({ file: 'DATABASE_URL', remedy }))
  await weak.end()
  await owner`drop role no_superuser`
  // The server of the gateway is refused as the server of a platform.
  const own = (await checkPlatform(owner, addressUrl(address), folder)).findings
  expect(own.map(each => each.remedy).join()).toContain('alter system set wal_level = logical;')
})

test('the check reports a view and a generated column, each with a remedy', async () => {
  await runAtPlatform(`create view shop.shown as select id, name from shop.venue;
    alter table shop.item add column gross integer generated always as (cents * 2) stored`)
  const mapping = createDirectory()
  writeFileSync(join(mapping, 'tenant.sql'), 'select id as key, name from shop.shown')
  writeFileSync(join(mapping, 'product.sql'), 'select id as key, venue as tenant_id, gross as price from shop.item')
  const { findings } = await checkPlatform(owner, platformUrl, mapping)
  const view = { file: 'shop.shown', problem: 'It is a view, which no log has' }
  const column = { file: 'product.sql', remedy: 'Write its expression: (cents * 2)' }
  for (const found of [view, column]) expect(findings).toContainEqual(expect.objectContaining(found))
  await runAtPlatform('drop view shop.shown; alter table shop.item drop column gross')
})

test('the connection string of the subscription has the full address, and only parameters that libpq knows', () => {
  process.env.PGPASSWORD = String.raw`it's a \ secret`
  try {
    expect(connectionString('postgres://me@host:5433/shop?sslmode=no-verify&connection_limit=5&pool_timeout=3')).toBe(
      String.raw`host='host' port='5433' user='me' password='it\'s a \\ secret' dbname='shop' sslmode='require'`,
    )
  } finally {
    delete process.env.PGPASSWORD
  }
})

test('the gateway locks no table of the platform while it waits for a lock on another table', async () => {
  const holder = await platform.reserve()
  await holder`begin`
  await holder`lock table shop.orders, shop.venue in share update exclusive mode`
  const [held] = await holder`select pg_backend_pid() as pid`
  const greedy = `select from pg_locks waiting join pg_locks held using (pid)
    where not waiting.granted and held.granted and held.mode = 'ShareUpdateExclusiveLock' and pid <> ${held?.pid}`
  let isDone = false
  const watched = (async () => {
    const seen = []
    while (!isDone) seen.push(...(await platform.unsafe(greedy)))
    return seen
  })()
  await expect(stageTables(platformUrl, 0)).rejects.toThrow(
    'The publication did not get a lock that it needs. It is held by',
  )
  isDone = true
  expect(await watched).toEqual([])
  await holder`rollback`
  holder.release()
})

/**
 * Creates tables with the names of the gateway's tables. If these tables were replicated, the platform could write
 * tokens.
 */
const forgedTables = `create schema gateway;
  create table gateway.token (id bigint primary key, name text, token_hash bytea, hint text, permissions text[]);
  create table gateway.token_tenant (token_id bigint, tenant_id bigint, with_descendants boolean, primary key (token_id, tenant_id))`

/** Runs the statements at the end of a reason's action at the platform. */
const runRemedy = (action: string) => runAtPlatform(action.slice(action.indexOf(': ') + 2))

test('in each kind of publication, tables with names of the gateway are refused before the subscription', async () => {
  await runAtPlatform(`drop publication if exists ${publication}; ${forgedTables};
    create table shop.note (id integer primary key, body text)`)
  for (const kind of ['all tables', 'tables in schema shop, gateway', 'table shop.item, shop.note, gateway.token']) {
    await runAtPlatform(`create publication ${publication} for ${kind}`)
    const [finding] = await stageTables()
    expect(finding).toMatchObject({ level: 'error', problem: expect.stringContaining('"gateway"."token"') })
    expect(finding?.problem).toContain('"shop"."note"')
    expect(await readSubscriptions()).toEqual([])
    await runRemedy(finding?.remedy ?? '')
    const published =
      await platform`select from pg_publication_tables where schemaname = 'gateway' or tablename = 'note'`
    expect(published).toEqual([])
    await runAtPlatform(`drop publication ${publication}`)
  }
  await runAtPlatform('drop schema gateway cascade')
})

test('the gateway creates a publication and a slot at the platform, and nothing else', async () => {
  const readTables = () =>
    platform`select relname from pg_class where relnamespace::regnamespace::text !~ '^pg_' order by 1`
  const before = await readTables()
  // The publication has one table that no mapping reads. The subscription must copy nothing from this table.
  await runAtPlatform(`create publication ${publication} for table shop.note with (publish_via_partition_root = true);
    insert into shop.note values (0)`)
  expect(await stageTables()).toEqual([])
  await migrate(owner, { adopted: readMappings(folder) })
  await projected(pool)
  expect(await owner`select count(*) from gateway.voucher`).toEqual([{ count: 2000 }])
  await expectNoProblems()
  const published = await platform`select tablename as name from pg_publication_tables where pubname = ${publication}`
  const names = published.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['Gift Card', 'customer', 'orders']))
  expect(names).not.toContain('orders_2026')
  expect(await readTables()).toEqual(before)
  expect(await platform`select from pg_trigger where not tgisinternal`).toHaveLength(0)
  // From PostgreSQL 17 on, a standby that synchronises slots has the slot after a failover.
  const [slot] =
    await platform`select to_jsonb(pg_replication_slots) ->> 'failover' as failover from pg_replication_slots`
  expect(slot).toEqual({ failover: version >= 170_000 ? 'true' : null })
})

test('an extra published table is reported, and replication continues, even after the columns of that table change', async () => {
  await runAtPlatform(`create table shop.memo (id integer primary key); insert into shop.note values (1, 'x');
    alter publication ${publication} add table shop.memo`)
  await write(
    `insert into shop.memo values (1); alter table shop.note add column at date; insert into shop.note values (2, 'y', now())`,
  )
  expect(await owner`select id from shop.note union all select id from shop.memo`).toEqual([])
  const [found] = await readReasons()
  const message = expect.stringContaining('"shop"."memo", "shop"."note"')
  expect(found).toMatchObject({ code: 'PUBLICATION_TOO_WIDE', message })
  await runRemedy(found?.action ?? '')
  await untilApplied()
  expect([await readReasons(), copyReasons]).toEqual([[], []])
  await runAtPlatform('drop table shop.note, shop.memo')
})

test('records stay equal to the rows of the platform while writers change the rows', async () => {
  await runAtPlatform(`insert into shop.redemption values ('C1', 1, 500); update shop.item set name = 'Green tea'`)
  await write(`delete from shop."Gift Card" where "No" = 'C2'`)
  expect(await voucher('CODE-1')).toMatchObject({ current_balance: 45, product_title: 'Green tea' })
  expect(await voucher('CODE-2')).toBeUndefined()
  await write('truncate shop.redemption')
  expect(await voucher('CODE-1')).toMatchObject({ current_balance: 50 })
  await expectNoProblems()
})

test('changes that the subscription can apply need no copy', async () => {
  for (const change of [
    'vacuum full shop.item',
    `alter type shop.state add value 'lost'`,
    `alter table shop."Gift Card" add column note text default 'none';
     update shop."Gift Card" set state = 'lost', note = 'x' where code = 'CODE-3'`,
    `alter table shop."Gift Card" add column size text default 'large'`,
    `alter table shop.item add column price numeric(12, 2) default 1.55`,
    `alter table shop.item alter column price set default 3; alter table shop."Gift Card" alter code type varchar(60)`,
    'truncate shop.translations',
    `create table shop.orders_2030 partition of shop.orders for values from ('2030-01-01') to ('2031-01-01');
     insert into shop.orders values ('O1', '2026-05-01', null), ('O2', '2030-05-01', null)`,
    `create table shop.orders_2031 (like shop.orders including indexes);
     insert into shop.orders_2031 values ('O3', '2031-05-01', null)`,
  ]) {
    await write(change)
  }
  expect(copyReasons).toEqual([])
  for (const table of ['shop."Gift Card"', 'shop.item', 'shop.orders']) await expectSameRows(table)
})

test('a renamed column is reported, and changes of the other tables still arrive', async () => {
  await runAtPlatform('alter table shop.item rename column name to title')
  await write(
    `update shop.item set title = 'Black tea'; insert into shop.customer (venue, email) values ('${venue}', 'ann@example.com')`,
  )
  const reasons = await readReasons()
  const message = expect.stringContaining('column item.name does not exist')
  expect(reasons).toContainEqual(expect.objectContaining({ code: 'MAPPING_BROKEN', message }))
  expect(await voucher('CODE-1')).toMatchObject({ product_title: 'Green tea' })
  expect(await owner`select title from shop.item`).toEqual([{ title: 'Black tea' }])
  await runAtPlatform('alter table shop.item rename column title to name')
  await until('the name is back', () => hasColumn('name'))
  await untilTitled('Black tea')
  expect(copyReasons).toEqual([])
})

test('a copy corrects a column name that was staged too early because of another failure', async () => {
  await owner`alter table shop.customer add constraint other_failure check (surname is null)`
  await runAtPlatform(`insert into shop.customer (venue, surname) values ('${venue}', 'Ann'); update shop.item set name = 'Tea';
    alter table shop.item rename name to title; update shop.item set title = 'Mint tea'`)
  await until('the new name is staged', () => hasColumn('title'))
  await owner`alter table shop.customer drop constraint other_failure`
  await untilApplied()
  expect(copyReasons.splice(0)).toEqual([expect.stringContaining('former names of columns')])
  expect(await owner`select title from shop.item`).toEqual([{ title: 'Mint tea' }])
  await write('alter table shop.item rename column title to name')
})

test('the records stay correct when two columns swap their names and when a table is renamed', async () => {
  await write(`alter table shop."Gift Card" add column a integer default 1, add column b integer default 2`)
  await runAtPlatform(`alter table shop."Gift Card" rename a to x;
    alter table shop."Gift Card" rename b to a;
    alter table shop."Gift Card" rename x to b;
    alter table shop."Gift Card" drop column note;
    alter table shop."Gift Card" add column note integer;
    alter table shop.item rename name to former_name;
    alter table shop.item add column name text;
    update shop.item set name = 'White tea';
    update shop."Gift Card" set note = 7 where code = 'CODE-3';
    create schema archive;
    alter table shop.picture set schema archive;
    alter table archive.picture rename to photo`)
  await untilCopied(expect.stringMatching('is new, and older rows have different values'))
  await untilApplied()
  expect(copyReasons).toEqual([])
  const exchanged =
    await owner`select a, b, note from shop."Gift Card" where code in ('CODE-1', 'CODE-3') order by code`
  expect(exchanged).toMatchObject([{ a: 2, b: 1, note: null }, { note: 7 }])
  expect(await owner`select name, former_name from shop.item`).toEqual([{ name: 'White tea', former_name: 'Mint tea' }])
  expect(await owner`select count(*) from archive.photo`).toEqual([{ count: 0 }])
  await runAtPlatform('alter table archive.photo rename to picture; alter table archive.picture set schema shop')
  const found = () => owner`select from pg_class where oid = to_regclass('shop.picture')`
  await until('the table is back', () => watch.follow().then(async () => (await found()).length > 0))
  await untilTitled('White tea')
})

const cards = 'shop."Gift Card"'

test.each([
  ['a partition that is truncated', 'shop.orders', 'truncate shop.orders_2026'],
  ['an enum value with another name', cards, `alter type shop.state rename value 'lost' to 'missing'`],
  ['a type with other values', 'shop.item', 'alter table shop.item alter cents type bigint using cents * 2'],
  ['a type with fewer digits', 'shop.item', 'alter table shop.item alter price type numeric(12, 0)'],
  [
    'values that the staged table cannot convert',
    cards,
    `alter table ${cards} alter size drop default, alter size type integer using length(size)`,
  ],
  [
    'a partition that is attached with rows',
    'shop.orders',
    `${orders} attach partition shop.orders_2031 for values from ('2031-01-01') to ('2032-01-01')`,
  ],
  [
    'a generated column that becomes usual',
    'shop.item',
    `alter table shop.item add column doubled bigint generated always as (cents * 2) stored;
     alter table shop.item alter doubled drop expression`,
  ],
])('the log lacks %s: its table is copied again, and no other one', async (_, table, change) => {
  const slot = () => owner`select slot from gateway.subscription`
  const former = await slot()
  await runAtPlatform(change)
  await untilCopied(lostChangeMessage(table))
  await expectSameRows(table)
  // The subscription continues with the same slot.
  expect(await slot()).toEqual(former)
  await projected(pool)
  await expectNoProblems()
})

test('a table that loses its key is copied by all of its columns when the owner chose REPLICA IDENTITY FULL', async () => {
  await runAtPlatform(`insert into shop.customer (id, venue) values ('${item}', '${venue}');
    alter table shop.consent drop constraint consent_pkey, alter at drop not null, replica identity full;
    alter table shop.consent add column detail json`)
  const consent = (at: number) => `('${item}', true, '2026-05-0${at}', '{"a": 1}')`
  await runAtPlatform(`insert into shop.consent (customer, given, at, detail) values ${[1, 1, 2, 3].map(consent)}`)
  await untilCopied(lostChangeMessage('shop.consent'))
  await expectSameRows('shop.consent')
  await write(`delete from shop.consent where ctid = (select min(ctid) from shop.consent);
    update shop.consent set given = false where at = '2026-05-02'`)
  await expectSameRows('shop.consent')
  // A second copy writes only rows that differ.
  await owner`update shop.consent set given = false where at = '2026-05-03'`
  await owner`insert into shop.consent select * from shop.consent where at < '2026-05-03'`
  const [kept] = await owner`select ctid::text from shop.consent where at = '2026-05-01' order by ctid`
  await owner`update gateway.staged_table set needs_copy = 'A test.' where source = 'shop.consent'`
  await untilCopied('A test.')
  await expectSameRows('shop.consent')
  expect(await owner`select ctid::text from shop.consent where at = '2026-05-01'`).toEqual([kept])
  expect(await platform`select count(*) from shop.consent`).toEqual([{ count: 3 }])
})

test('a table that gets another primary key is copied again, and its later changes are applied', async () => {
  await write(`alter table shop.redemption add column id integer; insert into shop.redemption values ('C1', 7, 100, 1)`)
  await runAtPlatform(`alter table shop.redemption drop constraint redemption_pkey`)
  await watch.follow()
  const message = expect.stringContaining('"shop"."redemption" of the platform has no key')
  expect(await readReasons()).toContainEqual(expect.objectContaining({ code: 'PLATFORM_TABLE_UNFIT', message }))
  await runAtPlatform(`alter table shop.redemption alter line drop not null;
    alter table shop.redemption add primary key (id), alter id add generated always as identity (start 2);
    insert into shop.redemption values ('C1', null, 100), ('C1', null, 100);
    update shop.redemption set cents = 200 where id = 1`)
  await untilCopied(lostChangeMessage('shop.redemption'))
  await write(`update shop.redemption set cents = 500 where id = 1; delete from shop.redemption where id = 2`)
  expect(await readReasons()).toEqual([])
  await expectSameRows('shop.redemption')
  await expectNoProblems()
  await runAtPlatform('truncate shop.redemption restart identity')
})

test('a lost slot is replaced, and a copy brings the changes whose WAL is gone', async () => {
  await owner`alter subscription voucher_gateway disable`
  const drop = () => platform`select pg_drop_replication_slot(slot_name) from pg_replication_slots where not active`
  await until('the slot is dropped', async () => (await drop()).length > 0)
  await runAtPlatform(
    `insert into shop.redemption values ('C1', 5, 100); delete from shop."Gift Card" where "No" = 'C4'`,
  )
  await owner`alter subscription voucher_gateway enable`
  await untilCopied(expect.stringContaining(`The platform has lost the slot ${publication}_`))
  await projected(pool)
  expect(await voucher('CODE-1')).toMatchObject({ current_balance: 49 })
  expect(await voucher('CODE-4')).toBeUndefined()
  await write(`insert into shop.redemption values ('C1', 6, 100)`)
  expect(await voucher('CODE-1')).toMatchObject({ current_balance: 48 })
  await expectNoProblems()
})

test('an instance that read the state before another instance copied does not copy again', async () => {
  const proxy = await startProxy(() => join(server.host, `.s.PGSQL.${server.port}`))
  const late = createWatch(`postgres://${server.user}@127.0.0.1:${proxy.port}/${server.database}`)
  await late.follow()
  await owner`update gateway.subscription set needs_copy = 'A test.'`
  const release = proxy.hold()
  const looked = late.follow()
  const readers = () => platform`select from pg_stat_activity where query ~ 'platform[.]read_server'`
  await until('the late instance reads the state', async () => (await readers()).length > 0)
  await watch.follow()
  release()
  await looked
  await late.close()
  proxy.stop()
  expect(copyReasons.splice(0)).toEqual(['A test.'])
})

test('the slot of a former subscription is dropped after an interruption', async () => {
  await platform`select pg_create_logical_replication_slot('voucher_gateway_1', 'pgoutput')`
  await owner`update gateway.subscription set other_slot = 'voucher_gateway_1'`
  await watch.follow()
  expect(await platform`select from pg_replication_slots where slot_name = 'voucher_gateway_1'`).toHaveLength(0)
  expect(await owner`select other_slot from gateway.subscription`).toEqual([{ other_slot: null }])
})

test('a copy records its slot before it creates the slot, and the entry stays', async () => {
  const other = () => owner`select other_slot as slot from gateway.subscription`
  const platformSession = await platform.reserve()
  await platformSession`begin`
  await platformSession`select txid_current()`
  await owner`update gateway.staged_table set needs_copy = 'A test.' where source = 'shop.item'`
  const copied = copyPlatform(owner, { platformUrl })
  const creators = () =>
    platform`select from pg_stat_activity where query ~ '^CREATE_REPLICATION_SLOT' and state = 'active'`
  await until('the slot is created', async () => (await creators()).length > 0)
  const [known] = await other()
  expect(known?.slot).toMatch(`${publication}_`)
  const another = createWatch()
  await another.follow()
  await another.close()
  expect(await other()).toEqual([known])
  await platformSession`rollback`
  platformSession.release()
  expect(await copied).toBe(true)
  expect([await other(), copyReasons.splice(0)]).toEqual([[{ slot: null }], []])
  await untilApplied()
})

test('a table that was taken out of the publication is published and copied again', async () => {
  await runAtPlatform(`alter publication ${publication} drop table shop.redemption`)
  await runAtPlatform(`insert into shop.redemption values ('C1', 60, 100); delete from shop.redemption where line = 60`)
  await untilCopied('The publication of the platform lacks tables.')
  await untilApplied()
  expect(await readReasons()).toEqual([])
  expect(await platform`select from pg_publication_tables where tablename = 'redemption'`).toHaveLength(1)
  await expectNoProblems()
})

test('a platform that publishes tables of the gateway cannot write a token; without these tables, replication continues', async () => {
  const client = await createApp({ pool })
  const [{ tenant }] = await owner<[{ tenant: number }]>`select min(tenant_id) as tenant from gateway.voucher`
  const secret = createTokenSecret()
  const status = async () => (await client.rest(secret, `/tenants/${tenant}/sales/purchased-vouchers`)).status
  await runAtPlatform(`${forgedTables}; alter publication ${publication} add table gateway.token, gateway.token_tenant`)
  // The platform can cause a new copy, after which the gateway subscribes again.
  await runAtPlatform('alter table shop.item alter column cents type bigint using cents + 1')
  await watch.follow()
  expect(await readSubscriptions()).toEqual([{ subenabled: false }])
  await runAtPlatform(`insert into shop.redemption values ('C1', 61, 100);
    insert into gateway.token values (9000, 'Forged', '\\x${hashSecret(secret).toString('hex')}', 'vgw_', '{view_vouchers,view_orders}');
    insert into gateway.token_tenant values (9000, ${tenant}, true)`)
  await watch.follow()
  const reasons = await readReasons()
  const action = reasons.find(({ code }) => code === 'PUBLICATION_FORBIDDEN')?.action ?? ''
  expect([await status(), copyReasons]).toEqual([401, []])
  await runRemedy(action)
  await untilApplied()
  expect(copyReasons.splice(0)).toHaveLength(1)
  expect(await readSubscriptions()).toEqual([{ subenabled: true }])
  expect(await owner`select from shop.redemption where line = 61`).toHaveLength(1)
  expect([await status(), await owner`select from gateway.token where id = 9000`]).toEqual([401, []])
  expect(await readReasons()).toEqual([])
})

test('a subscription is replaced when it was refreshed while the publication had a table of the gateway', async () => {
  await runAtPlatform(`alter publication ${publication} add table gateway.token`)
  await owner`alter subscription voucher_gateway refresh publication with (copy_data = false)`
  await runAtPlatform(`alter publication ${publication} drop table gateway.token`)
  await untilCopied('The platform published tables that are not staged.')
  expect(await owner`select from pg_subscription_rel where srrelid = 'gateway.token'::regclass`).toEqual([])
  await untilApplied()
  await runAtPlatform('drop schema gateway cascade; delete from shop.redemption where line = 61')
})

test('the tables are copied again after the platform moves to another server', async () => {
  await owner`update gateway.subscription set server = 'the former/00000001'`
  await runAtPlatform(`insert into shop.redemption values ('C1', 7, 100)`)
  await untilCopied('The database of the platform is on another server, or was failed over.')
  await untilApplied()
  expect(await voucher('CODE-1')).toMatchObject({ current_balance: 47 })
})

test.each([
  ['the tables are', `update gateway.subscription set needs_copy = 'A test.'`],
  ['one table is', `update gateway.staged_table set needs_copy = 'A test.' where source = 'shop.redemption'`],
])('readers never see a falling balance rise while %s copied', async (_, need) => {
  await write(`delete from shop.redemption where card = 'C2000';
    update shop."Gift Card" set "valueCents" = 10000000 where "No" = 'C2000'`)
  const client = await createApp({ pool })
  const [{ tenant, since }] = await owner<[{ tenant: number; since: string }]>`
    select tenant_id as tenant, to_json(updated_at) #>> '{}' as since from gateway.voucher where reference = 'CODE-2000'`
  const { secret } = await createTestToken(pool, [whole(tenant)])
  const path = `/tenants/${tenant}/sales/purchased-vouchers?updated_since=${encodeURIComponent(since)}`
  const reads = [
    async () => (await client.rest(secret, path)).body.data[0].current_balance,
    async () =>
      (await client.resolve(secret, tenant, { voucher_reference: 'CODE-2000' })).body.data.voucher.current_balance,
  ]
  let isWriting = true
  const spend = async () => {
    for (let line = 1000; isWriting; line++)
      await runAtPlatform(`insert into shop.redemption values ('C2000', ${line}, 1)`)
  }
  const seen = reads.map(async read => {
    const balances: number[] = []
    while (isWriting) balances.push(await read())
    return [...balances, await read()]
  })
  const writer = spend()
  await owner.unsafe(need)
  await watch.follow()
  await untilApplied()
  isWriting = false
  await writer
  expect(copyReasons.splice(0)).toEqual(['A test.'])
  for (const balances of await Promise.all(seen)) {
    expect(new Set(balances).size).toBeGreaterThan(1)
    expect(balances).toEqual([...balances].sort((one, other) => other - one))
  }
  await untilApplied()
})

test('a copy that fails leaves the former subscription enabled', async () => {
  await owner`update gateway.subscription set needs_copy = 'A test.'`
  await expect(copyPlatform(owner, { platformUrl, signal: AbortSignal.abort() })).rejects.toThrow('aborted')
  expect(await readSubscriptions()).toEqual([{ subenabled: true }])
  await untilApplied()
  expect(copyReasons.splice(0)).toEqual(['A test.'])
})

test('a disabled subscription is reported, and so is WAL that PostgreSQL will soon remove', async () => {
  await owner`alter subscription voucher_gateway disable`
  await runAtPlatform(`create table filler as select repeat(md5(n::text), 40) from generate_series(1, 40000) n`)
  await watch.follow()
  const enable = 'Let its owner run: alter subscription voucher_gateway enable;'
  const disabled = { code: 'SUBSCRIPTION_DISABLED', action: enable }
  const message = expect.stringMatching(/^Less than [25]0 % of max_slot_wal_keep_size is left/)
  expect(await readReasons()).toMatchObject([disabled, { code: 'PLATFORM_LOG_SHORT', message }])
  const isBehind = async () => {
    await watch.follow()
    return ((await readStepState(pool)).secondsBehind ?? 0) > 0
  }
  await until('the lag grows', isBehind)
  const since = async () => (await owner`select behind_since as at from gateway.subscription`)[0]?.at
  const former = await since()
  const restarted = createWatch()
  for (let look = 0; look < 2; look++) {
    await restarted.follow()
    expect(await since()).toBe(former)
  }
  await owner`alter subscription voucher_gateway enable`
  await untilApplied()
  await until('the lag is 0', async () => !(await isBehind()))
  await until('it is 0 for the other', async () => {
    await restarted.follow()
    return (await since()) === null
  })
  await restarted.close()
})

test('the name of a type is quoted, so SQL in the name does not run', async () => {
  const type = 'integer); drop schema gateway cascade; --'
  const columns = [{ place: 1, name: 'a', type, standard: null, is_copied: false }]
  const table = JSON.stringify({ platform_oid: 1, schema: 'shop', name: 'x', key: [], marks: {}, columns })
  await owner`select gateway.stage_table(${table}::text::jsonb, false)`.catch(({ code }) => expect(code).toBe('42601'))
  expect(await owner`select to_regclass('gateway.step')::text as step`).toEqual([{ step: 'gateway.step' }])
})

test('the removal deletes everything that the gateway created at the platform, and nothing else', async () => {
  await expect(removeStaging(owner, undefined)).rejects.toThrow('--from')
  // Two slots that stay behind: one of a copy that was killed, and one of another gateway.
  for (const slot of [`${publication}_1`, 'voucher_gateway_00000000_1'])
    await platform`select pg_create_logical_replication_slot(${slot}::text, 'pgoutput')`
  await removeStaging(owner, platformUrl)
  expect(await platform`select slot_name as name from pg_replication_slots`).toEqual([
    { name: 'voucher_gateway_00000000_1' },
  ])
  expect(await platform`select pubname as name from pg_publication`).toEqual([{ name: 'voucher_gateway' }])
  expect(await owner`select from pg_class where relnamespace = 'shop'::regnamespace and relkind = 'r'`).toHaveLength(0)
})
