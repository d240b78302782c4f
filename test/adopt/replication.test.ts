/** A platform on another server: its tables are copied, and a subscription and the watch keep them in step. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { addressUrl, connect, serviceRole } from '../../src/db/connect.ts'
import { readMappings } from '../../src/db/mappings.ts'
import { migrate } from '../../src/db/migrate.ts'
import { findRecordProblems } from '../../src/projection/check.ts'
import { readStepState } from '../../src/projection/step.ts'
import { copyPlatform } from '../../src/staging/copy.ts'
import { removeStaging } from '../../src/staging/remove.ts'
import { checkPlatform, stagePlatform } from '../../src/staging/stage.ts'
import { createPlatformWatch } from '../../src/staging/watch.ts'
import { createApp } from '../support/app.ts'
import { createTestToken, whole } from '../support/builders.ts'
import { afterFile } from '../support/cleanups.ts'
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
const platformUrl = addressUrl(server)
const platform = connect(server, { max: 2, statementTimeoutMs: 60_000 })
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
// Names of the gateway's own, and what is not read, are in nobody's way.
await at(`create table public.customer (id integer); create table public.tenant (name text)`)
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
const lacks = (table: string) =>
  `The log lacks a change of ${table}: of its key, an enum, a partition or the values of a column.`
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
  expect(await platform`select from pg_publication`).toHaveLength(0)
  await at('alter table shop.consent replica identity full; create table shop.thumbnail () inherits (shop.picture)')
  expect((await checkPlatform(owner, platformUrl, folder)).findings).toMatchObject([
    { file: 'shop.consent', problem: expect.stringContaining('replica identity full and no key') },
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

test('a login that may not publish gets the statement for the owner, and another one goes on', async () => {
  await at('create role reader login replication; grant usage on schema shop to reader')
  await at('grant select on all tables in schema shop to reader')
  const url = addressUrl({ ...server, user: 'reader' })
  await expect(stage(url)).rejects.toThrow(
    /Let the owner of the tables run at the platform: create publication voucher_gateway for table only "shop"\./,
  )
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

test('the platform has a publication and a slot, and nothing else', async () => {
  const before =
    await platform`select relname from pg_class where relnamespace::regnamespace::text !~ '^pg_' order by 1`
  expect(await stage()).toEqual([])
  await migrate(owner, { adopted: readMappings(folder) })
  await projected(pool)
  expect(await owner`select count(*) from gateway.voucher`).toEqual([{ count: 2000 }])
  await agrees()
  const published = (await platform`select tablename as name from pg_publication_tables`).map(({ name }) => name)
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
  await until('the mapping fits again', async () => {
    await projected(pool)
    return (await voucher('CODE-1'))?.product_title === 'Black tea'
  })
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
  await until('it is copied', async () => {
    await watch.follow()
    return copies.length > 0
  })
  await applied()
  expect(copies.splice(0)).toEqual([expect.stringMatching('is new, and older rows have different values')])
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
  await until('the mapping fits again', async () => {
    await projected(pool)
    return (await voucher('CODE-1'))?.product_title === 'White tea'
  })
})

test('values that the staged table cannot convert are copied', async () => {
  await at(`alter table shop."Gift Card" add column size text default 'large'`)
  await applied()
  await at(
    `alter table shop."Gift Card" alter column size drop default, alter column size type integer using length(size)`,
  )
  await until('it is copied', async () => {
    await watch.follow()
    return copies.length > 0
  })
  expect(copies.splice(0)).toEqual([lacks('shop."Gift Card"')])
  expect(await owner`select distinct size from shop."Gift Card"`).toEqual([{ size: 5 }])
})

test('values of enums that get other names, and partitions that are truncated, are copied again', async () => {
  await at(`insert into shop.orders values ('O1', '2026-05-01', null)`)
  await applied()
  const copied = () =>
    until('it is copied', async () => {
      await watch.follow()
      return copies.length > 0
    })
  await at('truncate shop.orders_2026')
  await copied()
  expect(copies.splice(0)).toEqual([lacks('shop.orders')])
  expect(await owner`select from shop.orders`).toHaveLength(0)
  await at(`alter type shop.state rename value 'lost' to 'missing'`)
  await copied()
  expect(copies.splice(0)).toEqual([lacks('shop."Gift Card"')])
  expect(await owner`select state from shop."Gift Card" where code = 'CODE-3'`).toEqual([{ state: 'missing' }])
  await agrees()
})

test('a type that changed is copied again: its rows are not in the log', async () => {
  await at('alter table shop.item alter column cents type bigint using cents * 2')
  await until('it is copied', async () => {
    await watch.follow()
    return copies.length > 0
  })
  expect(copies.splice(0)).toEqual([lacks('shop.item')])
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
    await until('it is copied', async () => {
      await watch.follow()
      return copies.length > 0
    })
    expect(copies.splice(0)).toEqual([lacks('shop.item')])
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
  await watch.follow()
  expect(copies.splice(0)).toEqual([lacks('shop.orders')])
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
  await watch.follow()
  expect(copies.splice(0)).toEqual([lacks('shop.redemption')])
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
  await watch.follow()
  expect(copies.splice(0)).toEqual([expect.stringMatching(/^The platform has lost the slot voucher_gateway_/)])
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

test('a table that was taken out of the publication is published and copied again', async () => {
  await at('alter publication voucher_gateway drop table shop.redemption')
  await at(`insert into shop.redemption values ('C1', 60, 100); delete from shop.redemption where line = 60`)
  await watch.follow()
  expect(copies.splice(0)).toEqual(['The publication of the platform lacks tables.'])
  await applied()
  expect((await readStepState(pool)).reasons).toEqual([])
  expect(await platform`select from pg_publication_tables where tablename = 'redemption'`).toHaveLength(1)
  await agrees()
})

test('another server with the data of the platform is compared', async () => {
  await owner`update gateway.subscription set server = 'the former/00000001'`
  await at(`insert into shop.redemption values ('C1', 7, 100)`)
  await watch.follow()
  expect(copies.splice(0)).toEqual(['The database of the platform is on another server, or was failed over.'])
  await applied()
  expect(await voucher('CODE-1')).toMatchObject({ current_balance: 47 })
})

test('a balance that only falls is never seen to rise while the tables are copied', async () => {
  await at(`update shop."Gift Card" set "valueCents" = 10000000 where "No" = 'C2000'`)
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
  await owner`update gateway.subscription set needs_copy = 'A test.'`
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
  await expect(copyPlatform(owner, { platformUrl, signal: AbortSignal.abort() })).rejects.toThrow('aborted')
  // The catalogue has the subscriptions of all databases of the server.
  expect(
    await owner`
      select subenabled from pg_subscription join pg_database on pg_database.oid = subdbid where datname = current_database()`,
  ).toEqual([{ subenabled: true }])
  await applied()
  expect(copies.splice(0)).toEqual(['The copy goes on.'])
})

test('a subscription that somebody disabled, and a log that runs out, are named', async () => {
  await owner`alter subscription voucher_gateway disable`
  await at(`create table filler as select repeat(md5(n::text), 40) from generate_series(1, 40000) n`)
  await watch.follow()
  const { reasons } = await readStepState(pool)
  expect(reasons).toMatchObject([
    { code: 'SUBSCRIPTION_DISABLED', action: 'Run: alter subscription voucher_gateway enable;' },
    {
      code: 'PLATFORM_LOG_SHORT',
      message: expect.stringMatching(/^Less than [25]0 % of max_slot_wal_keep_size is left/),
    },
  ])
  await owner`alter subscription voucher_gateway enable`
  await applied()
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
  await owner`select gateway.stage_table(${JSON.stringify({ ...table, columns })}::text::jsonb)`.catch(error =>
    expect(error.code).toBe('42601'),
  )
  expect(await owner`select to_regclass('gateway.step')::text as step`).toEqual([{ step: 'gateway.step' }])
})

test('to remove it leaves nothing at the platform', async () => {
  await expect(removeStaging(owner, undefined)).rejects.toThrow('--from')
  await removeStaging(owner, platformUrl)
  expect(await platform`select from pg_replication_slots`).toHaveLength(0)
  expect(await platform`select from pg_publication`).toHaveLength(0)
  expect(await owner`select from pg_class where relnamespace = 'shop'::regnamespace and relkind = 'r'`).toHaveLength(0)
})
