/**
 * Capture notes each change and fails no write, in all kinds of sessions, settings and tables, so records equal their
 * sources.
 */
import { randomBytes } from 'node:crypto'
import { expect, inject, onTestFinished, test } from 'vitest'
import postgres from '#postgres'
import type { Pool } from '../../src/db/sql.ts'
import { findUncaptured as findMissing } from '../../src/projection/capture.ts'
import { deletePassedNotes } from '../../src/projection/step.ts'
import { describeReason } from '../../src/reasons.ts'
import { afterFile } from '../support/cleanups.ts'
import { connect } from '../support/connect.ts'
import { createDatabase } from '../support/database.ts'
import { makeNextStep, projected } from '../support/projected.ts'
import { expectProjected } from '../support/record-problems.ts'

const login = `capture_shop_${randomBytes(4).toString('hex')}`
const { templateDatabase, ...server } = inject('server')
const admin = connect({ ...server, database: 'postgres' }, { max: 1, statementTimeoutMs: 60_000 })
await admin.unsafe(`create role ${login} login`)
afterFile(() => admin.unsafe(`drop role ${login}`))

type Platform = Awaited<ReturnType<typeof createPlatform>>

/**
 * Creates a database with three vouchers and their records.
 *
 * @returns a session of the owner of the tables and of the gateway, and two sessions of a login with rights on the
 * tables only
 */
async function createPlatform() {
  const { address } = await createDatabase()
  const open = (user: string) => {
    const sql = connect({ ...address, user }, { max: 1, statementTimeoutMs: 60_000 })
    onTestFinished(() => sql.end({ timeout: 1 }))
    return sql
  }
  const owner = open(address.user)
  await run(
    owner,
    `grant select, insert, update, delete, truncate on all tables in schema public to ${login}`,
    `insert into tenant (name) values ('Old Mill')`,
    `insert into purchased_voucher (tenant_id, reference) values (1, 'A'), (1, 'B'), (1, 'C')`,
  )
  await projected(owner)
  return { owner, shop: open(login), other: open(login) }
}

/** Runs the steps, and expects the records to equal the sources. */
async function expectEqual(owner: Pool): Promise<void> {
  await expectProjected(owner)
  const different = await owner`
    select id, source.reference as source, record.reference as record
    from (select id::bigint, tenant_id, reference, current_balance from purchased_voucher) source
    full join (select id, tenant_id, reference, current_balance from gateway.voucher) record using (id)
    where (source.tenant_id, source.reference, source.current_balance)
          is distinct from (record.tenant_id, record.reference, record.current_balance)`
  expect(different).toEqual([])
}

const run = (sql: Pool, ...statements: string[]) => sql.unsafe(statements.join(';\n')).simple()

const changes = `
  insert into public.purchased_voucher (tenant_id, reference) values (1, 'D'), (1, 'E');
  update public.purchased_voucher set current_balance = 5, currency = 'GBP' where reference = 'A' or reference = 'D';
  update public.purchased_voucher set id = id + 1000 where reference = 'B';
  delete from public.purchased_voucher where reference = 'C'`

const asApplier = (statements: string) =>
  `set session_replication_role = replica; ${statements}; reset session_replication_role`

const capture = `call gateway.capture('public.purchased_voucher')`

/**
 * Replaces the table of vouchers with a partitioned table. The former table becomes the first partition, and the second
 * partition is partitioned again.
 */
const partition = `
  create sequence voucher_id start 100;
  grant usage on sequence voucher_id to ${login};
  alter table purchased_voucher alter id drop identity;
  alter table purchased_voucher alter id set default nextval('voucher_id');
  alter table purchased_voucher rename to voucher_part_1;
  create table purchased_voucher (like voucher_part_1 including defaults) partition by range (id);
  alter table purchased_voucher attach partition voucher_part_1 for values from (minvalue) to (1000);
  create table voucher_part_2 partition of purchased_voucher for values from (1000) to (9000) partition by range (id);
  create table voucher_part_2_1 partition of voucher_part_2 default;
  grant insert, select, update, delete, truncate on purchased_voucher, voucher_part_2, voucher_part_2_1 to ${login}`

/** Partitions the table of vouchers, and inserts a voucher into the innermost partition. */
async function partitionVouchers({ owner, shop }: Platform): Promise<void> {
  await run(owner, partition, capture)
  await run(shop, `insert into purchased_voucher (id, tenant_id, reference) values (2000, 1, 'G')`)
  await projected(owner)
}

/** Writers by name. Each write succeeds, and afterwards the records equal the sources. */
const cases: Record<string, (platform: Platform) => Promise<unknown>> = {
  'an ordinary session': ({ shop }) => run(shop, changes),
  'an applier': ({ owner }) => run(owner, asApplier(changes)),
  'truncate after a write': ({ shop }) => run(shop, changes, 'truncate purchased_voucher', changes),

  'a prepared transaction, during a step': async ({ owner, shop }) => {
    await run(shop, 'begin', changes, `prepare transaction 'capture'`)
    await projected(owner)
    await run(owner, `commit prepared 'capture'`)
  },

  'rights on functions that are revoked by default': async ({ owner, shop }) => {
    await run(owner, 'alter default privileges revoke execute on functions from public', capture)
    await run(shop, changes)
  },

  'row level security on a source': async ({ owner, shop }) => {
    await run(
      owner,
      'alter table purchased_voucher enable row level security',
      'alter table purchased_voucher force row level security',
      `create policy own on purchased_voucher to ${login} using (tenant_id = 1)`,
      'alter role voucher_gateway_reader bypassrls',
    )
    onTestFinished(async () => {
      await run(admin, 'alter role voucher_gateway_reader nobypassrls')
    })
    await run(shop, changes)
  },

  'a search path that shadows functions, operators, types and tables': async ({ owner, shop }) => {
    const fails = `language plpgsql as $$ begin raise exception 'shadowed'; end $$`
    const shadowed = ['text', 'int4'].flatMap(type => [
      `create function shadow.fail(pg_catalog.${type}, pg_catalog.${type}) returns boolean ${fails}`,
      ...['=', '<>'].map(
        name => `create operator shadow.${name}
                   (function = shadow.fail, leftarg = pg_catalog.${type}, rightarg = pg_catalog.${type})`,
      ),
    ])
    await run(
      owner,
      'create schema shadow',
      'grant usage on schema shadow to public',
      `create function shadow.concat(bigint) returns text ${fails}`,
      `create function shadow.unnest(text[]) returns setof text ${fails}`,
      ...shadowed,
      'create table shadow.note ()',
      'create domain shadow.text as pg_catalog.int4',
    )
    const path = 'set search_path = shadow, pg_catalog'
    const insert = (reference: string) =>
      `insert into public.purchased_voucher (tenant_id, reference) values (1, '${reference}')`
    const update = 'update public.purchased_voucher set id = id + 1000'
    await run(shop, path, insert('D'), update, 'reset search_path')
    await run(owner, asApplier(`${path}; ${insert('E')}; ${update}`), 'reset search_path')
    await run(shop, path, 'truncate public.purchased_voucher', insert('F'), 'reset search_path')
  },

  'columns that are renamed, dropped and retyped, in sessions from before': async ({ owner, shop }) => {
    const insert = async () => {
      for (const session of [shop, owner])
        await run(session, 'insert into purchased_voucher (tenant_id, reference) values (1, gen_random_uuid())')
    }
    await run(owner, 'set session_replication_role = replica')
    await insert()
    for (const change of [
      'rename id to number',
      'rename number to id',
      'alter id type integer',
      'add note text',
      'drop note',
      'drop id, add number bigint generated by default as identity (start 500)',
      'rename number to id',
    ]) {
      await run(owner, `alter table purchased_voucher ${change}`)
      await insert()
    }
    await run(owner, 'reset session_replication_role')
  },

  'a column whose type has a cast that fails': async ({ owner, shop }) => {
    await run(
      owner,
      `create type code as enum ('7', '8')`,
      `create function code_text(code) returns text language plpgsql as $$ begin raise exception 'cast'; end $$`,
      'create cast (code as text) with function code_text(code)',
      'create table item (code code)',
      `grant insert on item to ${login}`,
      `insert into gateway.rule values ('voucher', 'public.item', '{code}')`,
      `call gateway.capture('item')`,
    )
    await run(shop, `insert into item values ('7')`)
    await run(owner, asApplier(`insert into item values ('8')`))
    expect(await owner`select from gateway.note where key in ('7', '8')`).toHaveLength(2)
  },

  'tables whose names read alike, with their schemas or in 62 bytes, and a key called so': async ({ owner }) => {
    const long = 'a_name_that_is_longer_than_names_of_functions_may_be_with_its_'
    await run(
      owner,
      'create schema a',
      'create schema a_b',
      'create table a.b_c (key text)',
      'create table a_b.c (key text)',
      `create table a.${long}1 (key text)`,
      `create table a.${long}2 (key text)`,
      `insert into gateway.rule values ('voucher', 'a.b_c', '{key}'), ('product', 'a_b.c', '{key}'),
         ('tenant', 'a.${long}1', '{key}'), ('customer', 'a.${long}2', '{key}')`,
      ...['a.b_c', 'a_b.c', `a.${long}1`, `a.${long}2`].map(table => `call gateway.capture('${table}')`),
      `insert into a.b_c values ('7')`,
      `insert into a.${long}1 values ('7')`,
    )
    const noted = await owner`select record::text from gateway.note where key = '7' order by 1`
    expect(noted.map(({ record }) => record)).toEqual(['tenant', 'voucher'])
  },

  'a table that became partitioned, after capture was called again': async ({ owner, shop }) => {
    await run(owner, partition)
    await run(shop, changes)
    expect(await findUncaptured(owner)).toEqual([expect.stringContaining(capture)])
    await run(owner, capture)
    expect(await findUncaptured(owner)).toEqual([])
    await expectEqual(owner)
    await run(shop, `update purchased_voucher set reference = reference || '-2'`)
    await run(shop, `insert into voucher_part_2 (id, tenant_id, reference) values (2000, 1, 'G')`)
    await run(shop, 'update voucher_part_1 set void = true', 'delete from voucher_part_2 where id < 2000')
    await run(owner, asApplier(`insert into purchased_voucher (id, tenant_id, reference) values (3000, 1, 'H')`))
  },

  'a partition that is attached, detached and attached again, after capture was called again': async platform => {
    const { owner, shop } = platform
    const attach = 'alter table purchased_voucher attach partition voucher_part_3 for values from (9000) to (maxvalue)'
    await partitionVouchers(platform)
    await run(
      owner,
      'create table voucher_part_3 (like purchased_voucher including defaults)',
      `insert into voucher_part_3 (id, tenant_id, reference) values (9000, 1, 'H')`,
      attach,
      `grant truncate on voucher_part_3 to ${login}`,
    )
    expect(await findUncaptured(owner)).toEqual([])
    await run(owner, 'alter table voucher_part_3 disable trigger capture_row')
    expect(await findUncaptured(owner)).toEqual([
      expect.stringMatching(
        /capture_row on public\.voucher_part_3 is missing, disabled or replaced.*call gateway\.capture\(/,
      ),
    ])
    await run(owner, capture)
    expect(await findUncaptured(owner)).toEqual([])
    await expectEqual(owner)
    await run(owner, 'alter table purchased_voucher detach partition voucher_part_3', capture)
    await expectEqual(owner)
    await run(owner, attach, capture)
    await expectEqual(owner)
    await run(shop, 'truncate voucher_part_3')
  },
}

const findUncaptured = async (sql: Pool) => (await findMissing(sql)).map(describeReason)

test.each(Object.entries(cases))('records equal their sources after: %s', async (_, write) => {
  const platform = await createPlatform()
  await write(platform)
  await expectEqual(platform.owner)
})

test('a step that began before the truncation of an inner partition keeps its records (I7)', async () => {
  const platform = await createPlatform()
  const { owner, other } = platform
  await partitionVouchers(platform)
  await run(platform.shop, 'update purchased_voucher set void = true')
  const readIds = () => owner`select id from gateway.voucher order by id`
  const before = await readIds()
  await owner.begin('isolation level repeatable read', async step => {
    await step`lock table gateway.step_lock in exclusive mode`
    await step`select 1`
    await run(other, 'truncate voucher_part_2_1')
    await step`select gateway.make_step(100)`
  })
  expect(await readIds()).toEqual(before)
  await expectEqual(owner)
})

const rowsUpdated = 'update on purchased_voucher referencing old table as former new table as changed'
const rowsFunction = 'execute function gateway."capture_rows_of_public.purchased_voucher"()'
const rowFunction = 'execute function gateway."capture_row_of_public.purchased_voucher"()'
const nothing = 'execute function pg_temp.nothing()'

/**
 * Triggers that differ in one way each from the triggers of gateway.capture. Only the owner can create the later
 * triggers.
 */
test.each<[way: string, trigger: string, definition: string, by: 'shop' | 'owner', more?: string]>([
  ['function of rows that are updated', 'capture_updated', `${rowsUpdated} ${nothing}`, 'shop'],
  ['function of rows that are inserted', 'capture_inserted', `insert on purchased_voucher ${nothing}`, 'shop'],
  ['function of rows that are deleted', 'capture_deleted', `delete on purchased_voucher ${nothing}`, 'shop'],
  ['function of appliers', 'capture_row', `insert on purchased_voucher for each row ${nothing}`, 'shop'],
  ['function of truncations', 'capture_truncated', `truncate on purchased_voucher ${nothing}`, 'shop'],
  ['condition', 'capture_updated', `${rowsUpdated} when (current_user = 'nobody') ${rowsFunction}`, 'owner'],
  [
    'columns',
    'capture_row',
    `insert or update of void or delete on purchased_voucher for each row ${rowFunction}`,
    'owner',
    'enable replica trigger capture_row',
  ],
  ['events', 'capture_updated', `delete on purchased_voucher referencing old table as former ${rowsFunction}`, 'owner'],
  [
    'names of the tables of its rows',
    'capture_updated',
    `update on purchased_voucher referencing old table as changed new table as former ${rowsFunction}`,
    'owner',
  ],
  [
    'arguments',
    'capture_truncated',
    `truncate on purchased_voucher execute function gateway.capture_truncated('tenant')`,
    'owner',
    'enable always trigger capture_truncated',
  ],
])('a trigger that is replaced by one that differs in its %s is named, and repaired', async (...row) => {
  const [, trigger, definition, by, more] = row
  const platform = await createPlatform()
  const { owner, shop } = platform
  const createNothing =
    'create function pg_temp.nothing() returns trigger language plpgsql as $$ begin return null; end $$'
  await run(owner, `grant trigger on purchased_voucher to ${login}`)
  await run(platform[by], createNothing, `create or replace trigger ${trigger} after ${definition}`)
  if (more) await run(owner, `alter table purchased_voucher ${more}`)
  await run(shop, 'update purchased_voucher set void = true')
  expect(await findUncaptured(owner)).toEqual([
    `CAPTURE_MISSING: Changes of table public.purchased_voucher are not captured: trigger ${trigger} on public.purchased_voucher ` +
      `is missing, disabled or replaced. The service repairs it within seconds if the owner of the schema gateway may. ` +
      `Otherwise let the owner of the table run: call gateway.capture('public.purchased_voucher');`,
  ])
  await run(owner, capture)
  expect(await findUncaptured(owner)).toEqual([])
  await expectEqual(owner)
})

test('sessions that call gateway.capture for the same source at the same time all succeed', async () => {
  const { platform } = await createDatabase()
  for (let round = 0; round < 5; round++) {
    await Promise.all(Array.from({ length: 4 }, () => platform`call gateway.capture('purchased_voucher')`))
  }
  await expectEqual(platform)
})

test('the triggers of the platform fire once per write, and RETURNING returns the stored row', async () => {
  const { owner, shop } = await createPlatform()
  await run(
    owner,
    'create table audit (id bigint, operation text, login text, path text)',
    `grant insert on audit to ${login}`,
    `create function audit() returns trigger language plpgsql as $$ begin
         insert into public.audit select coalesce(new.id, old.id), tg_op, current_user, current_setting('search_path');
         return null;
       end $$`,
    'create trigger audit after insert or update or delete on purchased_voucher for each row execute function audit()',
    `create function count_version() returns trigger language plpgsql as $$ begin
         new.order_id := old.order_id + 1;
         return new;
       end $$`,
    'create trigger version before update on purchased_voucher for each row execute function count_version()',
  )
  await run(shop, 'set search_path = public')
  const [written] = await shop`
      insert into purchased_voucher (tenant_id, reference, order_id) values (1, 'D', 1) returning id`
  const returned = await shop`
      update purchased_voucher set void = true where id = ${written!.id} returning order_id, xmin::text, ctid::text`
  await expectEqual(owner)
  expect(await shop`select order_id, xmin::text, ctid::text from purchased_voucher where id = ${written!.id}`).toEqual([
    ...returned,
  ])
  await shop`delete from purchased_voucher where id = ${written!.id}`
  await expectEqual(owner)
  expect(await owner`select operation, login, path from audit`).toEqual(
    ['INSERT', 'UPDATE', 'DELETE'].map(operation => ({ operation, login, path: 'public' })),
  )
})

test.each<[settings: Record<string, string>]>([
  [{ track_counts: 'off' }],
  [{ default_transaction_isolation: 'serializable' }],
  [{ enable_indexscan: 'off', enable_indexonlyscan: 'off', enable_nestloop: 'off' }],
])('capture works in a database with the settings %j (I10)', async settings => {
  const { address, platform, pool } = await createDatabase()
  for (const [name, value] of Object.entries(settings))
    await platform.unsafe(`alter database ${address.database} set ${name} = ${value}`)
  // These connections are not of the pool of the service, which sets the isolation level.
  const writers = [0, 1].map(() => postgres({ ...address, max: 1, onnotice: () => {} }))
  onTestFinished(() => Promise.all(writers.map(sql => sql.end({ timeout: 1 }))).then(() => {}))
  for (const setting of Object.keys(settings))
    expect(await writers[0]!.unsafe(`show ${setting}`)).toEqual([{ [setting]: settings[setting] }])
  await run(
    platform,
    `insert into tenant (name) values ('Old Mill')`,
    `insert into product (tenant_id, slug, title, currency) values (1, 'tea', 'Tea', 'EUR')`,
  )
  for (let turn = 0; turn < 10; turn++) {
    for (const [place, sql] of writers.entries()) {
      await sql`begin`
      await sql`insert into purchased_voucher (tenant_id, reference) select 1, ${`V-${turn}-${place}-`} || n from generate_series(1, 3) n`
      await sql`insert into category (tenant_id, slug, title) values (1, ${`c-${turn}-${place}`}, 'Category')`
    }
    await projected(pool)
    for (const sql of writers) await sql`commit`
    for (const [place, sql] of writers.entries()) {
      await sql`update purchased_voucher set product_title = ${`Turn ${turn}`} where reference like ${`V-${turn}-${place}-%`}`
      await sql`delete from purchased_voucher where reference = ${`V-${turn}-${place}-2`}`
      await sql`insert into product_category select 1, id from category where slug = ${`c-${turn}-${place}`}`
    }
    await projected(pool)
    await deletePassedNotes(pool)
  }
  await expectEqual(platform)
  // Scans in small parts find changes without a note, in a table whose rows and keys have different orders.
  await run(
    platform,
    'update purchased_voucher set id = 5000 - id',
    'truncate gateway.note',
    `select gateway.request_scan(record, 'Notes were deleted.', true) from gateway.mapping`,
  )
  while (await makeNextStep(pool, 8)) {}
  await expectEqual(platform)
  expect(await platform`select from gateway.voucher`).toHaveLength(40)
})
