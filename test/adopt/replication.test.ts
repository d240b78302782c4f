/** A platform on another server: its tables are copied, and a subscription and the watch keep them in step. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
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
import { startServer } from '../support/embedded-postgres.ts'
import { startPackaged } from '../support/packaged-postgres.ts'
import { projected } from '../support/projected.ts'
import { startProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'

const folder = fileURLToPath(new URL('venues', import.meta.url))
// The embedded server commits without it, and only flushed changes are sent.
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
// A platform has the version of the gateway's database, or an older one.
const server = version < 180_000 ? await startPackaged(settings) : await startServer(settings)
// With parameters of other drivers.
const platformUrl = `${addressUrl(server)}&connection_limit=5&pgbouncer=false`
const publication = await readReplicationName(owner)
const writes = { default_transaction_read_only: 'off', lock_timeout: '0' }
const platform = connect(server, { max: 2, statementTimeoutMs: 60_000, settings: writes })
const copies: string[] = []
const watch = createPlatformWatch(owner, { platformUrl, onCopy: reason => copies.push(reason) })
afterFile(async () => {
  await watch.close()
  await removeStaging(owner, platformUrl)
  await Promise.all([platform, owner, pool].map(each => each.end({ timeout: 1 })))
  await server.stop()
})

const venue = '00000000-0000-0000-0000-000000000001'
const item = '11111111-1111-1111-1111-111111111111'
const at = (statements: string) => platform.unsafe(statements).simple()
const stage = (url = platformUrl, lockWait = 10) => stagePlatform(owner, folder, { platformUrl: url, lockWait })

await at(readFileSync(new URL('venues.tables.sql', import.meta.url), 'utf8'))
// Names of the gateway's own, and what is not read, are in nobody's way. Nor is the publication of another one.
await at(`create table public.customer (id integer); create table public.tenant (name text);
  create publication voucher_gateway for table public.tenant`)
// The gateway sets what it needs itself.
await at(
  `alter role ${server.user} set default_transaction_read_only = on; alter role ${server.user} set lock_timeout = 1`,
)
// What a platform says is text: it does not become SQL.
await at(
  `create domain shop."integer) as x; drop schema gateway cascade; --" as int; create schema "s""; drop schema gateway"`,
)
await at(
  `create table "s""; drop schema gateway"."t""; --" ("c""; --" shop."integer) as x; drop schema gateway cascade; --" primary key)`,
)
await at(`alter table shop.consent add column "a""; drop schema gateway cascade; --" integer`)
await at(`create index on shop.consent (customer, "a""; drop schema gateway cascade; --")`)
await at(`
  insert into shop.venue (id, path, name) values ('${venue}', 'main', 'Main');
  insert into shop.item (id, venue, name, cents) values ('${item}', '${venue}', 'Tea', 1250);
  insert into shop."Gift Card" ("No", venue, item, code, "valueCents")
    select 'C' || n, '${venue}', '${item}', 'CODE-' || n, 5000 from generate_series(1, 2000) n`)
await migrate(owner, { adopted: null })

/** Waits until the subscription has applied all changes of the platform, and steps have written the records. */
async function applied(): Promise<void> {
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

const voucher = async (reference: string) => {
  const [found] =
    await owner`select current_balance, product_title, void from gateway.voucher where reference = ${reference}`
  return found
}
/** Waits until the mapping fits again. @param title of the first voucher */
const untilTitled = (title: string) =>
  until(`the title is ${title}`, async () => {
    await projected(pool)
    return (await voucher('CODE-1'))?.product_title === title
  })
/** The catalogue has the subscriptions of all databases of the server. */
const subscriptions = () => owner`
  select subenabled from pg_subscription join pg_database on pg_database.oid = subdbid where datname = current_database()`
const lacks = (table: string) =>
  `The log lacks a change of ${table}: of its key, an enum, a partition or the values of a column.`
/** Waits until tables are copied again, for this reason alone. */
async function untilCopied(reason: unknown): Promise<void> {
  await until('it is copied', async () => {
    await watch.follow()
    return copies.length > 0
  })
  expect(copies.splice(0)).toEqual([reason])
}
const agrees = async () => expect(await findRecordProblems(owner)).toEqual([])

test('a table without a key is refused before it is published, with the statement that gives it one', async () => {
  await at('alter table shop.consent drop constraint consent_pkey')
  const { findings } = await checkPlatform(owner, platformUrl, folder)
  expect(findings).toMatchObject([
    {
      file: 'shop.consent',
      level: 'error',
      remedy: expect.stringContaining('alter table shop.consent add primary key'),
    },
  ])
  expect(await stage()).toEqual(findings)
  expect(await platform`select from pg_publication`).toHaveLength(1)
  await at('alter table shop.consent replica identity full; create table shop.thumbnail () inherits (shop.picture)')
  expect((await checkPlatform(owner, platformUrl, folder)).findings).toMatchObject([
    {
      file: 'shop.consent',
      level: 'warning',
      problem: expect.stringContaining('replica identity full and no primary key'),
    },
    { file: 'shop.picture', problem: expect.stringContaining('tables that inherit from it (shop.thumbnail)') },
  ])
  await at('alter table shop.consent replica identity default; drop table shop.thumbnail')
  // Nor has the log of a deferrable key, and partitions do not have the replica identity of their table.
  await at('alter table shop.consent add primary key (customer, at) deferrable')
  expect((await checkPlatform(owner, platformUrl, folder)).findings).toMatchObject([
    { remedy: expect.stringContaining('alter table shop.consent replica identity full') },
  ])
  await at(`alter table shop.consent drop constraint consent_pkey; alter table shop.orders drop constraint orders_pkey cascade;
    alter table shop.orders alter "orderNo" set not null, alter placed_at set not null;
    create unique index order_key on shop.orders ("orderNo", placed_at);
    alter table shop.orders replica identity using index order_key`)
  expect((await checkPlatform(owner, platformUrl, folder)).findings).toMatchObject([
    { file: 'shop.consent' },
    { remedy: expect.stringContaining('alter table shop.orders add primary key') },
  ])
  await at(`alter table shop.orders replica identity default; drop index shop.order_key;
    alter table shop.orders add primary key ("orderNo", placed_at)`)
  // A unique index may be the key.
  await at(`alter table shop.consent alter customer set not null, alter at set not null;
    create unique index consent_at on shop.consent (customer, at)`)
  const { findings: others } = await checkPlatform(owner, platformUrl, folder)
  const { remedy = '' } = others.find(({ file }) => file === 'shop.consent') ?? {}
  const [cure = ''] = /alter table .*;/.exec(remedy) ?? []
  await at(cure)
  expect((await checkPlatform(owner, platformUrl, folder)).findings).toEqual([])
  await at(
    'drop index shop.consent_at; alter table shop.consent add primary key (customer, at), replica identity default',
  )
})

test('what apply needs is tried, and the statements of what was refused mend it', async () => {
  await at('create role reader login')
  const url = addressUrl({ ...server, user: 'reader' })
  const check = async () => (await checkPlatform(owner, url, folder)).findings
  const refused = await check()
  expect(refused).toEqual(await stage(url))
  expect(refused.map(({ problem }) => problem)).toEqual([
    ...refused.slice(2).map(() => 'It is not readable for reader'),
    'The login reader may not replicate',
    'The login reader may not publish the tables',
  ])
  for (const { remedy } of refused) await at(remedy.slice(remedy.indexOf(': ') + 2))
  expect(await check()).toEqual([])
  await at(`drop publication ${publication}`)
  await owner`create role no_superuser login in role ${owner(address.user)}`
  const weak = connect({ ...address, user: 'no_superuser' }, { max: 2, statementTimeoutMs: 60_000 })
  const right =
    version < 160_000 ? 'alter role no_superuser superuser;' : 'grant pg_create_subscription to no_superuser;'
  expect((await checkPlatform(weak, platformUrl, folder)).findings).toContainEqual(
    expect.objectContaining({ file: 'DATABASE_URL', remedy: expect.stringContaining(right) }),
  )
  await weak.end()
  await owner`drop role no_superuser`
  // The gateway's own server is none of a platform.
  expect((await checkPlatform(owner, addressUrl(address), folder)).findings).toContainEqual(
    expect.objectContaining({ remedy: expect.stringContaining('alter system set wal_level = logical;') }),
  )
})

test('a view and a generated column are named as what they are', async () => {
  await at(`create view shop.shown as select id, name from shop.venue;
    alter table shop.item add column gross integer generated always as (cents * 2) stored`)
  const mapping = mkdtempSync(join(tmpdir(), 'mapping-'))
  writeFileSync(join(mapping, 'tenant.sql'), 'select id as key, name from shop.shown')
  writeFileSync(join(mapping, 'product.sql'), 'select id as key, venue as tenant_id, gross as price from shop.item')
  const { findings } = await checkPlatform(owner, platformUrl, mapping)
  expect(findings.map(({ file, problem, remedy }) => [file, problem, remedy])).toEqual(
    expect.arrayContaining([
      ['shop.shown', 'It is a view, which no log has', expect.stringContaining('Write its query')],
      [
        'product.sql',
        'column "gross" does not exist: it is generated in "shop"."item", and not replicated',
        'Write its expression: (cents * 2)',
      ],
    ]),
  )
  await at('drop view shop.shown; alter table shop.item drop column gross')
})

test('the server of the gateway gets the whole address, and nothing that libpq does not know', () => {
  process.env.PGPASSWORD = String.raw`it's a \ secret`
  try {
    expect(connectionString('postgres://me@host:5433/shop?sslmode=no-verify&connection_limit=5&pool_timeout=3')).toBe(
      String.raw`host='host' port='5433' user='me' password='it\'s a \\ secret' dbname='shop' sslmode='require'`,
    )
  } finally {
    delete process.env.PGPASSWORD
  }
})

test('no table of the platform is locked while another one is waited for', async () => {
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
  await expect(stage(platformUrl, 0)).rejects.toThrow('The publication did not get a lock that it needs. It is held by')
  isDone = true
  expect(await watched).toEqual([])
  await holder`rollback`
  holder.release()
})

/** Tables with names of the gateway's own, with which a platform could write tokens. */
const forged = `create schema gateway;
  create table gateway.token (id bigint primary key, name text, token_hash bytea, hint text, permissions text[]);
  create table gateway.token_tenant (token_id bigint, tenant_id bigint, with_descendants boolean, primary key (token_id, tenant_id))`

/** Runs the statements with which the action of a reason ends, at the platform. */
const follow = (action: string) => at(action.slice(action.indexOf(': ') + 2))

test('published tables of the gateway are refused before the subscription, in each kind of publication', async () => {
  await at(
    `drop publication if exists ${publication}; ${forged}; create table shop.note (id integer primary key, body text)`,
  )
  for (const kind of ['all tables', 'tables in schema shop, gateway', 'table shop.item, shop.note, gateway.token']) {
    await at(`create publication ${publication} for ${kind}`)
    const [finding] = await stage()
    expect(finding).toMatchObject({ level: 'error', problem: expect.stringContaining('"gateway"."token"') })
    expect(finding?.problem).toContain('"shop"."note"')
    expect(await subscriptions()).toEqual([])
    await follow(finding?.remedy ?? '')
    const published =
      await platform`select from pg_publication_tables where schemaname = 'gateway' or tablename = 'note'`
    expect(published).toEqual([])
    await at(`drop publication ${publication}`)
  }
  await at('drop schema gateway cascade')
})

test('the platform has a publication and a slot, and nothing else', async () => {
  const before =
    await platform`select relname from pg_class where relnamespace::regnamespace::text !~ '^pg_' order by 1`
  // A table too many: the subscription takes nothing of it.
  await at(`create publication ${publication} for table shop.note with (publish_via_partition_root = true);
    insert into shop.note values (0)`)
  expect(await stage()).toEqual([])
  await migrate(owner, { adopted: readMappings(folder) })
  await projected(pool)
  expect(await owner`select count(*) from gateway.voucher`).toEqual([{ count: 2000 }])
  await agrees()
  const published = (
    await platform`select tablename as name from pg_publication_tables where pubname = ${publication}`
  ).map(({ name }) => name)
  expect(published).toEqual(expect.arrayContaining(['Gift Card', 'customer', 'orders']))
  expect(published).not.toContain('orders_2026')
  expect(
    await platform`select relname from pg_class where relnamespace::regnamespace::text !~ '^pg_' order by 1`,
  ).toEqual(before)
  expect(await platform`select from pg_trigger where not tgisinternal`).toHaveLength(0)
  // A standby that synchronises slots has it after a failover, from PostgreSQL 17 on.
  const [slot] =
    await platform`select to_jsonb(pg_replication_slots) ->> 'failover' as failover from pg_replication_slots`
  expect(slot).toEqual({ failover: version >= 170_000 ? 'true' : null })
})

test('a table too many is a reason, and no stop, also when its columns change', async () => {
  await at(`create table shop.memo (id integer primary key); insert into shop.note values (1, 'x');
    alter publication ${publication} add table shop.memo`)
  await at(
    `insert into shop.memo values (1); alter table shop.note add column at date; insert into shop.note values (2, 'y', now())`,
  )
  await applied()
  expect(
    await owner`select from pg_subscription_rel where srrelid in ('shop.note'::regclass, 'shop.memo'::regclass)`,
  ).toEqual([])
  expect(await owner`select id from shop.note union all select id from shop.memo`).toEqual([])
  const [found] = (await readStepState(pool)).reasons
  expect(found).toMatchObject({
    code: 'PUBLICATION_TOO_WIDE',
    message: expect.stringContaining('"shop"."memo", "shop"."note"'),
  })
  await follow(found?.action ?? '')
  await applied()
  expect([(await readStepState(pool)).reasons, copies]).toEqual([[], []])
  await at('drop table shop.note, shop.memo')
})

test('records follow the writers of the platform', async () => {
  await at(`insert into shop.redemption values ('C1', 1, 500); update shop.item set name = 'Green tea'`)
  await at(`delete from shop."Gift Card" where "No" = 'C2'`)
  await applied()
  expect(await voucher('CODE-1')).toMatchObject({ current_balance: 45, product_title: 'Green tea' })
  expect(await voucher('CODE-2')).toBeUndefined()
  await at('truncate shop.redemption')
  await applied()
  expect(await voucher('CODE-1')).toMatchObject({ current_balance: 50 })
  await agrees()
})

test('a new column, with the value of older rows, needs nobody', async () => {
  await at(`alter type shop.state add value 'lost'`)
  await at(
    `alter table shop."Gift Card" add column note text default 'none'; update shop."Gift Card" set state = 'lost', note = 'x' where code = 'CODE-3'`,
  )
  await applied()
  expect(await owner`select note, count(*) from shop."Gift Card" group by 1 order by 1`).toEqual([
    { note: 'none', count: 1998 },
    { note: 'x', count: 1 },
  ])
  expect(copies).toEqual([])
})

test('a column that was renamed is named, and the rest goes on', async () => {
  await at('alter table shop.item rename column name to title')
  await at(
    `update shop.item set title = 'Black tea'; insert into shop.customer (venue, email) values ('${venue}', 'ann@example.com')`,
  )
  await applied()
  const { reasons } = await readStepState(pool)
  const message = expect.stringContaining('column item.name does not exist')
  expect(reasons).toContainEqual(expect.objectContaining({ code: 'MAPPING_BROKEN', message }))
  expect(await voucher('CODE-1')).toMatchObject({ product_title: 'Green tea' })
  expect(await owner`select title from shop.item`).toEqual([{ title: 'Black tea' }])
  await at('alter table shop.item rename column title to name')
  await until('the name is back', async () => {
    await watch.follow()
    return (
      (await owner`select from pg_attribute where attrelid = 'shop.item'::regclass and attname = 'name'`).length > 0
    )
  })
  await untilTitled('Black tea')
  expect(copies).toEqual([])
})

test('a name that was followed too early, because of another failure, is mended by a copy', async () => {
  await owner`alter table shop.customer add constraint other_failure check (surname is null)`
  await at(`insert into shop.customer (venue, surname) values ('${venue}', 'Ann'); update shop.item set name = 'Tea';
    alter table shop.item rename name to title; update shop.item set title = 'Mint tea'`)
  await until('the name is followed', async () => {
    await watch.follow()
    return (await owner`select from pg_attribute where attrelid = 'shop.item'::regclass and attname = 'title'`).length
  })
  await owner`alter table shop.customer drop constraint other_failure`
  await applied()
  expect(copies.splice(0)).toEqual([expect.stringContaining('former names of columns')])
  expect(await owner`select title from shop.item`).toEqual([{ title: 'Mint tea' }])
  await at('alter table shop.item rename column title to name')
  await applied()
})

test('names of columns go from one to another, and a table gets another name', async () => {
  await at(`alter table shop."Gift Card" add column a integer default 1, add column b integer default 2`)
  await applied()
  // Each place has another name now, two names were dropped, and one is new.
  await at(`alter table shop."Gift Card" rename a to x;
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
  await applied()
  expect(copies).toEqual([])
  expect(await owner`select a, b, note from shop."Gift Card" where code in ('CODE-1', 'CODE-3') order by code`).toEqual(
    [
      { a: 2, b: 1, note: null },
      { a: 2, b: 1, note: 7 },
    ],
  )
  expect(await owner`select name, former_name from shop.item`).toEqual([{ name: 'White tea', former_name: 'Mint tea' }])
  expect(await owner`select count(*) from archive.photo`).toEqual([{ count: 0 }])
  await at('alter table archive.photo rename to picture; alter table archive.picture set schema shop')
  await until('the table is back', async () => {
    await watch.follow()
    return (await owner`select to_regclass('shop.picture') as found`)[0]?.found !== null
  })
  await untilTitled('White tea')
})

test('values that the staged table cannot convert are copied', async () => {
  await at(`alter table shop."Gift Card" add column size text default 'large'`)
  await applied()
  await at(
    `alter table shop."Gift Card" alter column size drop default, alter column size type integer using length(size)`,
  )
  await untilCopied(lacks('shop."Gift Card"'))
  expect(await owner`select distinct size from shop."Gift Card"`).toEqual([{ size: 5 }])
})

test('values of enums that get other names, and partitions that are truncated, are copied again, each table alone', async () => {
  await at(`insert into shop.orders values ('O1', '2026-05-01', null)`)
  await applied()
  const slot = await owner`select slot from gateway.subscription`
  await at('truncate shop.orders_2026')
  await untilCopied(lacks('shop.orders'))
  expect(await owner`select from shop.orders`).toHaveLength(0)
  await at(`alter type shop.state rename value 'lost' to 'missing'`)
  await untilCopied(lacks('shop."Gift Card"'))
  expect(await owner`select state from shop."Gift Card" where code = 'CODE-3'`).toEqual([{ state: 'missing' }])
  // The subscription went on with the slot that it had.
  expect(await owner`select slot from gateway.subscription`).toEqual(slot)
  await agrees()
})

test('a table that loses its key is copied by all of its columns, where the owner chose that', async () => {
  const rows = (sql: typeof owner) =>
    sql`select given, at, detail::text from shop.consent order by at, given, detail::text`
  await at(`insert into shop.customer (id, venue) values ('${item}', '${venue}');
    alter table shop.consent drop constraint consent_pkey, alter at drop not null, replica identity full;
    alter table shop.consent add column detail json`)
  const consent = (at: number) => `('${item}', true, '2026-05-0${at}', '{"a": 1}')`
  await at(`insert into shop.consent (customer, given, at, detail) values ${[1, 1, 2, 3].map(consent)}`)
  await untilCopied(lacks('shop.consent'))
  expect(await rows(owner)).toEqual(await rows(platform))
  await at(`delete from shop.consent where ctid = (select min(ctid) from shop.consent);
    update shop.consent set given = false where at = '2026-05-02'`)
  await applied()
  expect(await rows(owner)).toEqual(await rows(platform))
  // Copied again, only rows that differ are written.
  await owner`update shop.consent set given = false where at = '2026-05-03'`
  await owner`insert into shop.consent select * from shop.consent where at < '2026-05-03'`
  const [kept] = await owner`select ctid::text from shop.consent where at = '2026-05-01' order by ctid`
  await owner`update gateway.staged_table set needs_copy = 'A test.' where source = 'shop.consent'`
  await untilCopied('A test.')
  expect(await rows(owner)).toEqual(await rows(platform))
  expect(await owner`select ctid::text from shop.consent where at = '2026-05-01'`).toEqual([kept])
  expect(await platform`select count(*) from shop.consent`).toEqual([{ count: 3 }])
})

test('a type that changed is copied again: its rows are not in the log', async () => {
  await at('alter table shop.item alter column cents type bigint using cents * 2')
  await untilCopied(lacks('shop.item'))
  await projected(pool)
  expect(await owner`select price from gateway.product`).toEqual([{ price: 25 }])
  await agrees()
})

test('values that change, and leave the type, are copied again', async () => {
  await at('alter table shop.item add column price numeric(12, 2) default 1.55')
  await applied()
  for (const change of [
    'alter table shop.item alter column cents type bigint using cents + 100',
    'alter table shop.item alter column price type numeric(12, 0)',
    `alter table shop.item add column doubled bigint generated always as (cents * 2) stored`,
    `alter table shop.item alter column doubled drop expression`,
  ]) {
    await at(change)
    await untilCopied(lacks('shop.item'))
  }
  expect(await owner`select cents, price::text, doubled from shop.item`).toEqual([
    { cents: 2600, price: '2', doubled: 5200 },
  ])
  // Nothing changes with these.
  for (const change of [
    'vacuum full shop.item',
    `alter table shop.item alter column price set default 3; alter table shop."Gift Card" alter code type varchar(60)`,
    'truncate shop.translations',
  ]) {
    await at(change)
    await applied()
  }
  expect(copies).toEqual([])
  await agrees()
})

test('a partition that is attached with rows is copied, and a new one needs nobody', async () => {
  await at(`create table shop.orders_2030 partition of shop.orders for values from ('2030-01-01') to ('2031-01-01');
    insert into shop.orders values ('O2', '2030-05-01', null)`)
  await applied()
  expect(copies).toEqual([])
  await at(`create table shop.orders_2031 (like shop.orders including indexes);
    insert into shop.orders_2031 values ('O3', '2031-05-01', null);
    alter table shop.orders attach partition shop.orders_2031 for values from ('2031-01-01') to ('2032-01-01')`)
  await untilCopied(lacks('shop.orders'))
  expect(await owner`select "orderNo" from shop.orders order by 1`).toEqual([{ orderNo: 'O2' }, { orderNo: 'O3' }])
})

test('a table that gets another primary key is copied again, and followed by it', async () => {
  await at(`alter table shop.redemption add column id integer; insert into shop.redemption values ('C1', 70, 100, 1)`)
  await applied()
  await at(`alter table shop.redemption drop constraint redemption_pkey`)
  await watch.follow()
  expect((await readStepState(pool)).reasons).toContainEqual(
    expect.objectContaining({
      code: 'PLATFORM_TABLE_UNFIT',
      message: expect.stringContaining('"shop"."redemption" of the platform has no key'),
    }),
  )
  await at(`alter table shop.redemption alter line drop not null;
    alter table shop.redemption add primary key (id), alter id add generated always as identity (start 2);
    insert into shop.redemption values ('C1', null, 100), ('C1', null, 100);
    update shop.redemption set cents = 200 where id = 1`)
  await untilCopied(lacks('shop.redemption'))
  await at(`update shop.redemption set cents = 500 where id = 1; delete from shop.redemption where id = 2`)
  await applied()
  expect((await readStepState(pool)).reasons).toEqual([])
  expect(await owner`select line, cents, id from shop.redemption order by id`).toEqual([
    { line: 70, cents: 500, id: 1 },
    { line: null, cents: 100, id: 3 },
  ])
  await agrees()
  await at('truncate shop.redemption restart identity')
})

test('a slot that was lost is replaced, with the changes that nobody kept', async () => {
  await owner`alter subscription voucher_gateway disable`
  const drop = () => platform`select pg_drop_replication_slot(slot_name) from pg_replication_slots where not active`
  await until('the slot is dropped', async () => (await drop()).length > 0)
  await at(`insert into shop.redemption values ('C1', 5, 100); delete from shop."Gift Card" where "No" = 'C4'`)
  await owner`alter subscription voucher_gateway enable`
  await untilCopied(expect.stringContaining(`The platform has lost the slot ${publication}_`))
  await projected(pool)
  expect(await voucher('CODE-1')).toMatchObject({ current_balance: 49 })
  expect(await voucher('CODE-4')).toBeUndefined()
  await at(`insert into shop.redemption values ('C1', 6, 100)`)
  await applied()
  expect(await voucher('CODE-1')).toMatchObject({ current_balance: 48 })
  await agrees()
})

test('an instance whose look is late does not copy what another one has copied meanwhile', async () => {
  const proxy = await startProxy(() => join(server.host, `.s.PGSQL.${server.port}`))
  const late = createPlatformWatch(owner, {
    platformUrl: `postgres://${server.user}@127.0.0.1:${proxy.port}/${server.database}`,
    onCopy: reason => copies.push(`late: ${reason}`),
  })
  await late.follow()
  await owner`update gateway.subscription set needs_copy = 'A test.'`
  const release = proxy.hold()
  const looked = late.follow()
  await until('the late look has begun', async () => {
    const waiting = await platform`select from pg_stat_activity where query ~ 'platform[.]read_server'`
    return waiting.length > 0
  })
  await watch.follow()
  release()
  await looked
  await late.close()
  proxy.stop()
  expect(copies.splice(0)).toEqual(['A test.'])
})

test('the slot of a former subscription is dropped, also after an interruption', async () => {
  await platform`select pg_create_logical_replication_slot('voucher_gateway_1', 'pgoutput')`
  await owner`update gateway.subscription set other_slot = 'voucher_gateway_1'`
  await watch.follow()
  expect(await platform`select from pg_replication_slots where slot_name = 'voucher_gateway_1'`).toHaveLength(0)
  expect(await owner`select other_slot from gateway.subscription`).toEqual([{ other_slot: null }])
})

test('the slot of a copy that goes on stays known, also before it exists', async () => {
  const other = () => owner`select other_slot as slot from gateway.subscription`
  const platformSession = await platform.reserve()
  await platformSession`begin`
  await platformSession`select txid_current()`
  await owner`update gateway.staged_table set needs_copy = 'A test.' where source = 'shop.item'`
  const copied = copyPlatform(owner, { platformUrl })
  await until('the slot is created', async () => {
    const waiting =
      await platform`select from pg_stat_activity where query ~ '^CREATE_REPLICATION_SLOT' and state = 'active'`
    return waiting.length > 0
  })
  const [known] = await other()
  expect(known?.slot).toMatch(`${publication}_`)
  const another = createPlatformWatch(owner, { platformUrl, onCopy: reason => copies.push(reason) })
  await another.follow()
  await another.close()
  expect(await other()).toEqual([known])
  await platformSession`rollback`
  platformSession.release()
  expect(await copied).toBe(true)
  expect([await other(), copies.splice(0)]).toEqual([[{ slot: null }], []])
  await applied()
})

test('a table that was taken out of the publication is published and copied again', async () => {
  await at(`alter publication ${publication} drop table shop.redemption`)
  await at(`insert into shop.redemption values ('C1', 60, 100); delete from shop.redemption where line = 60`)
  await untilCopied('The publication of the platform lacks tables.')
  await applied()
  expect((await readStepState(pool)).reasons).toEqual([])
  expect(await platform`select from pg_publication_tables where tablename = 'redemption'`).toHaveLength(1)
  await agrees()
})

test('a platform that publishes tables of the gateway writes no token, and is followed again without them', async () => {
  const client = await createApp({ pool })
  const [{ tenant }] = await owner<[{ tenant: number }]>`select min(tenant_id) as tenant from gateway.voucher`
  const secret = createTokenSecret()
  const status = async () => (await client.rest(secret, `/tenants/${tenant}/sales/purchased-vouchers`)).status
  await at(`${forged}; alter publication ${publication} add table gateway.token, gateway.token_tenant`)
  // The platform can bring a copy about, by which the gateway subscribes again.
  await at('alter table shop.item alter column cents type bigint using cents + 1')
  await watch.follow()
  expect(await subscriptions()).toEqual([{ subenabled: false }])
  await at(`insert into shop.redemption values ('C1', 61, 100);
    insert into gateway.token values (9000, 'Forged', '\\x${hashSecret(secret).toString('hex')}', 'vgw_', '{view_vouchers,view_orders}');
    insert into gateway.token_tenant values (9000, ${tenant}, true)`)
  await watch.follow()
  const { reasons } = await readStepState(pool)
  const action = reasons.find(({ code }) => code === 'PUBLICATION_FORBIDDEN')?.action ?? ''
  expect([await status(), copies]).toEqual([401, []])
  await follow(action)
  await applied()
  expect(copies.splice(0)).toHaveLength(1)
  expect(await subscriptions()).toEqual([{ subenabled: true }])
  expect(await owner`select line from shop.redemption where line = 61`).toEqual([{ line: 61 }])
  expect([await status(), await owner`select from gateway.token where id = 9000`]).toEqual([401, []])
  expect((await readStepState(pool)).reasons).toEqual([])
})

test('a subscription that was refreshed while the publication had a table of the gateway is replaced', async () => {
  await at(`alter publication ${publication} add table gateway.token`)
  await owner`alter subscription voucher_gateway refresh publication with (copy_data = false)`
  await at(`alter publication ${publication} drop table gateway.token`)
  await untilCopied('The platform published tables that are not staged.')
  expect(await owner`select from pg_subscription_rel where srrelid = 'gateway.token'::regclass`).toEqual([])
  await applied()
  await at('drop schema gateway cascade; delete from shop.redemption where line = 61')
})

test('another server with the data of the platform is compared', async () => {
  await owner`update gateway.subscription set server = 'the former/00000001'`
  await at(`insert into shop.redemption values ('C1', 7, 100)`)
  await untilCopied('The database of the platform is on another server, or was failed over.')
  await applied()
  expect(await voucher('CODE-1')).toMatchObject({ current_balance: 47 })
})

test.each([
  ['the tables are', `update gateway.subscription set needs_copy = 'A test.'`],
  ['one table is', `update gateway.staged_table set needs_copy = 'A test.' where source = 'shop.redemption'`],
])('a balance that only falls is never seen to rise while %s copied', async (_, need) => {
  await at(`delete from shop.redemption where card = 'C2000';
    update shop."Gift Card" set "valueCents" = 10000000 where "No" = 'C2000'`)
  await applied()
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
    for (let line = 1000; isWriting; line++) await at(`insert into shop.redemption values ('C2000', ${line}, 1)`)
  }
  const seen = reads.map(async read => {
    const balances: number[] = []
    while (isWriting) balances.push(await read())
    return [...balances, await read()]
  })
  const writer = spend()
  await owner.unsafe(need)
  await watch.follow()
  await applied()
  isWriting = false
  await writer
  expect(copies.splice(0)).toEqual(['A test.'])
  for (const balances of await Promise.all(seen)) {
    expect(new Set(balances).size).toBeGreaterThan(1)
    expect(balances).toEqual([...balances].sort((one, other) => other - one))
  }
  await applied()
  await agrees()
})

test('a copy that fails leaves the former subscription at work', async () => {
  await owner`update gateway.subscription set needs_copy = 'A test.'`
  await expect(copyPlatform(owner, { platformUrl, signal: AbortSignal.abort() })).rejects.toThrow('aborted')
  expect(await subscriptions()).toEqual([{ subenabled: true }])
  await applied()
  expect(copies.splice(0)).toEqual(['A test.'])
})

test('a subscription that somebody disabled, and a log that runs out, are named', async () => {
  await owner`alter subscription voucher_gateway disable`
  await at(`create table filler as select repeat(md5(n::text), 40) from generate_series(1, 40000) n`)
  await watch.follow()
  const { reasons } = await readStepState(pool)
  expect(reasons).toMatchObject([
    { code: 'SUBSCRIPTION_DISABLED', action: 'Let its owner run: alter subscription voucher_gateway enable;' },
    {
      code: 'PLATFORM_LOG_SHORT',
      message: expect.stringMatching(/^Less than [25]0 % of max_slot_wal_keep_size is left/),
    },
  ])
  const isBehind = async () => {
    await watch.follow()
    return ((await readStepState(pool)).secondsBehind ?? 0) > 0
  }
  await until('the lag grows', isBehind)
  // Another start of the service, with no former look of its own.
  const since = () => owner`select behind_since as at from gateway.subscription`
  const [former] = await since()
  const restarted = createPlatformWatch(owner, { platformUrl, onCopy: reason => copies.push(reason) })
  for (let look = 0; look < 2; look++) {
    await restarted.follow()
    expect(await since()).toEqual([former])
  }
  // Without a stored lag, it is as old as the last look may be.
  await owner`update gateway.subscription set behind_since = null, seen_at = '2026-01-01T00:00:00Z'`
  const next = createPlatformWatch(owner, { platformUrl, onCopy: reason => copies.push(reason) })
  await next.follow()
  expect(await since()).toEqual([{ at: '2026-01-01T00:00:00.000000Z' }])
  await owner`alter subscription voucher_gateway enable`
  await applied()
  await until('the lag is 0', async () => !(await isBehind()))
  await until('it is 0 for the others', async () => {
    await Promise.all([restarted.follow(), next.follow()])
    return (await since())[0]?.at === null
  })
  await Promise.all([restarted.close(), next.close()])
})

test('a platform that is out of reach is named, and nothing is lost', async () => {
  const unreachable = createPlatformWatch(owner, {
    platformUrl: 'postgres://nobody@localhost:1/none',
    onCopy: () => {},
  })
  await unreachable.follow()
  await unreachable.close()
  const codes = async () => (await readStepState(pool)).reasons.map(({ code }) => code)
  expect(await codes()).toEqual(['PLATFORM_UNREACHABLE'])
  await watch.follow()
  expect(await codes()).not.toContain('PLATFORM_UNREACHABLE')
})

test('a definition that is no type is text', async () => {
  const table = { platform_oid: 1, schema: 'shop', name: 'x', key: [], marks: {} }
  const columns = [
    { place: 1, name: 'a', type: 'integer); drop schema gateway cascade; --', standard: null, is_copied: false },
  ]
  await owner`select gateway.stage_table(${JSON.stringify({ ...table, columns })}::text::jsonb, false)`.catch(error =>
    expect(error.code).toBe('42601'),
  )
  expect(await owner`select to_regclass('gateway.step')::text as step`).toEqual([{ step: 'gateway.step' }])
})

test('to remove it leaves nothing at the platform but what others made', async () => {
  await expect(removeStaging(owner, undefined)).rejects.toThrow('--from')
  // Of a copy that was killed, and of another gateway.
  for (const slot of [`${publication}_1`, 'voucher_gateway_00000000_1'])
    await platform`select pg_create_logical_replication_slot(${slot}::text, 'pgoutput')`
  await removeStaging(owner, platformUrl)
  expect(await platform`select slot_name from pg_replication_slots`).toEqual([
    { slot_name: 'voucher_gateway_00000000_1' },
  ])
  expect(await platform`select pubname as name from pg_publication`).toEqual([{ name: 'voucher_gateway' }])
  expect(await owner`select from pg_class where relnamespace = 'shop'::regnamespace and relkind = 'r'`).toHaveLength(0)
})
