/** Owners of what a mapping evaluates gain nothing: their code runs as voucher_gateway_reader, which may only read the sources. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { checkMapping } from '../../src/adoption/check.ts'
import { readKeyState } from '../../src/adoption/show.ts'
import { withoutTrace } from '../../src/adoption/without-trace.ts'
import { readMappings } from '../../src/db/mapping/mappings.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { findRecordProblems } from '../../src/projection/check.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import { afterFile } from '../support/cleanups.ts'
import { connect } from '../support/connect.ts'
import { createDirectory } from '../support/directory.ts'
import { projected } from '../support/projected.ts'

const { host, port, user } = inject('server')
const suffix = randomBytes(4).toString('hex')
const database = `reader_${suffix}`
/** None is a superuser: the owner of the gateway and its tables, the service, and the owner of what mappings evaluate. */
const [ownerRole, serviceRole, other] = ['owner', 'service', 'other'].map(name => `${name}_${suffix}`) as [
  string,
  string,
  string,
]
const open = (login: string, name = database, max = 1) => {
  const sql = connect({ host, port, user: login, database: name }, { max, statementTimeoutMs: 60_000 })
  afterFile(() => sql.end({ timeout: 1 }))
  return sql
}
const admin = open(user, 'postgres')
await admin
  .unsafe(`create role ${ownerRole} login; create role ${serviceRole} login in role voucher_gateway; create role ${other} login;
    grant voucher_gateway, voucher_gateway_reader to ${ownerRole}`)
  .simple()
await admin.unsafe(`create database ${database} owner ${ownerRole} template template0`)
afterFile(async () => {
  await admin.unsafe(`drop database ${database} with (force)`)
  await admin.unsafe(`drop role ${ownerRole}, ${serviceRole}, ${other}`)
})
const [owner, service] = [open(ownerRole), open(serviceRole)]
await owner.unsafe(`grant create on database ${database} to ${other}`)
await migrate(owner)
const theirs = open(other)

/** What the code of others tries, and how PostgreSQL refuses it. */
const attacks: [statement: string, refusal: RegExp][] = [
  ['delete from gateway.audit_entry', /permission denied|read-only/],
  ['select * from gateway.token', /permission denied/],
  ['select * from gateway.voucher', /permission denied/],
  ["select gateway.id_of('voucher', 'x', true)", /permission denied/],
  ['insert into theirs.trap values (1)', /read-only/],
  ['alter function gateway.read_voucher(text[]) security invoker', /read-only/],
  ['drop function gateway.read_voucher(text[])', /read-only/],
  ['create temporary table mine ()', /read-only/],
  ['create function theirs.more() returns int language sql return 1', /read-only/],
  [`set role ${ownerRole}`, /within security-definer function/],
  ['reset role', /within security-definer function/],
  [`set session authorization ${ownerRole}`, /within security-definer function/],
  ['set transaction_read_only = off', /read-write mode inside a read-only/],
  // These are not refused, but nothing of them stays.
  ['set search_path = theirs, pg_catalog', /^done$/],
  ["set timezone = 'Asia/Tokyo'", /^done$/],
  ['listen noise', /^done$/],
  ['declare held cursor with hold for select theirs.mark()', /^done$/],
  ["prepare held as insert into gateway.audit_entry (actor) values ('forged')", /^done$/],
]

await theirs
  .unsafe(`create schema theirs; grant usage on schema theirs to public;
    create table theirs.seen (who text); grant insert on theirs.seen to public;
    create table theirs.trap (n integer); grant insert on theirs.trap to public;
    create function theirs.mark() returns integer language plpgsql as $$ begin
      insert into theirs.seen values (current_user); return 1; end $$;
    create function theirs.spring() returns trigger language plpgsql as $$ begin
      insert into theirs.seen values (current_user); return null; end $$;
    create constraint trigger spring after insert on theirs.trap deferrable initially deferred
      for each row execute function theirs.spring();
    create function theirs.run() returns text language plpgsql as $$
    declare
      attack text;
      said jsonb := jsonb_build_object('user', current_user);
    begin
      foreach attack in array array[${attacks.map(([statement]) => `$q$${statement}$q$`)}] loop
        begin
          execute attack;
          said := said || jsonb_build_object(attack, 'done');
        exception when others then
          said := said || jsonb_build_object(attack, sqlerrm);
        end;
      end loop;
      return said;
    end $$;
    create function theirs.fail() returns boolean language plpgsql as $$ begin raise exception '%', theirs.run(); end $$;
    create view theirs.words as select theirs.run() as said; grant select on theirs.words to public;
    create function theirs.combine(integer, integer) returns text language sql return theirs.run();
    create operator theirs.## (function = theirs.combine, leftarg = integer, rightarg = integer);
    create type theirs.thing as (word text);
    create function theirs.text_of(theirs.thing) returns text language sql return theirs.run();
    create cast (theirs.thing as text) with function theirs.text_of(theirs.thing);
    create domain theirs.code as text check (theirs.fail());`)
  .simple()

/**
 * Expects the words of an attack to be the words of refusals, and the session to be as before.
 *
 * @param isParsed whether the attack ran while a query was parsed: then writes are not refused, but undone
 */
async function expectNothing(said: string, session = service, isParsed = false) {
  const { user: who, ...results } = JSON.parse(said)
  expect(who).toBe('voucher_gateway_reader')
  expect(Object.keys(results)).toEqual(expect.arrayContaining(attacks.map(([statement]) => statement)))
  for (const [statement, refusal] of attacks) {
    if (!(isParsed && /read-only/.test(refusal.source))) expect(results[statement], statement).toMatch(refusal)
  }
  expect(await owner`select from pg_proc where proname = 'read_voucher' and prosecdef`).toHaveLength(1)
  expect(await theirs`select from theirs.trap`).toEqual([])
  expect(
    await session`
      select (select count(*)::int from pg_prepared_statements where from_sql) as prepared,
             (select count(*)::int from pg_cursors where is_holdable) as held,
             (select count(*)::int from pg_listening_channels()) as listening,
             current_setting('search_path') ~ 'theirs' or current_setting('timezone') ~ 'Tokyo' as is_changed`,
  ).toEqual([{ prepared: 0, held: 0, listening: 0, is_changed: false }])
  expect(await theirs`select who from theirs.seen`).toEqual([])
}

/** Writes a mapping whose vouchers have this title. @param rules of vouchers, by tables */
function write(title: string, rules: Record<string, string> = {}, more = ''): string {
  const folder = createDirectory()
  const files = {
    'tenant.sql': "select 1 as key, 'Old Mill' as name",
    'voucher.sql': `select id as key, 1 as tenant_id, reference, ${title} as product_title, timestamptz '2026-01-01' as created_at from public.purchased_voucher sold${more}`,
    ...Object.fromEntries(Object.entries(rules).map(([table, rule]) => [`voucher.from.${table}.sql`, rule])),
  }
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
  return folder
}

await owner`insert into tenant (name) values ('Old Mill')`
await owner`insert into purchased_voucher (tenant_id, reference) values (1, 'A')`
const touch = () => owner`update purchased_voucher set reference = reference || 'A'`
const readTitle = async () =>
  (await service<{ said: string }[]>`select product_title as said from gateway.voucher`)[0]?.said ?? ''

test.each([
  ['a view', '(select said from theirs.words)', `view theirs.words`],
  ['a function', 'theirs.run()', 'function theirs.run()'],
  ['an operator', '1 operator(theirs.##) 1', 'operator theirs.##(integer,integer)'],
  ['a cast', 'row(sold.reference)::theirs.thing', 'function theirs.text_of(theirs.thing)'],
])('%s: in a step, a scan, a check, a resolution, and the commands', async (_, title, object) => {
  const folder = write(title)
  const { findings } = await checkMapping(owner, folder)
  const named = findings.filter(({ problem }) => problem.startsWith(`It runs code of ${other}: `))
  expect(named).toMatchObject([{ file: 'voucher.sql', level: 'warning', problem: expect.stringContaining(object) }])
  expect(findings.filter(({ level }) => level === 'error')).toEqual([])
  await migrate(owner, { adopted: readMappings(folder) })
  await projected(service)
  await expectNothing(await readTitle()) // A scan.
  await touch()
  await projected(service)
  await expectNothing(await readTitle())
  expect(await findRecordProblems(service)).toEqual([])
  await expectNothing(
    (
      await service<{ said: string }[]>`
    select (voucher).product_title as said from gateway.read_present_voucher(1)`
    )[0]!.said,
  )
  const [mapping] = readMappings(folder).filter(({ record }) => record === 'voucher')
  const { rows } = await withoutTrace(owner, sql => readKeyState(sql, mapping!, '1'))
  const [row] = rows as { product_title: string | { word: string } }[]
  if (typeof row!.product_title === 'string') await expectNothing(row!.product_title, owner)
})

test('a domain', async () => {
  await migrate(owner, { adopted: readMappings(write('sold.reference::theirs.code')) })
  await touch()
  await projected(service)
  const { rejectedKeys } = await readStepState(service)
  expect(rejectedKeys).toMatchObject([{ key: '1' }])
  const [rejected] = await service<{ reason: string }[]>`select reason from gateway.rejected`
  await expectNothing(rejected!.reason)
})

test('a check that reads all rows, and what the planner evaluates', async () => {
  await theirs`alter function theirs.fail immutable`
  const { findings } = await checkMapping(owner, write(`case when theirs.fail() then 'x' end`))
  await theirs`alter function theirs.fail volatile`
  const said = findings.map(({ problem }) => /\{"user.*\}/.exec(problem)?.[0]).filter(found => found !== undefined)
  expect(said.length).toBeGreaterThan(0)
  for (const one of said) await expectNothing(one, owner)
})

test('a rule', async () => {
  const folder = write(`(select name from public.tenant where tenant.id = sold.tenant_id)`, {
    tenant: 'select theirs.run() from changed',
  })
  await migrate(owner, { adopted: readMappings(folder) })
  await projected(service)
  const [affected] = await owner<{ said: string }[]>`
    select key as said from gateway.affected_keys(array[('voucher', 'public.tenant', '{1}')::gateway.source_row])`
  await expectNothing(affected!.said, owner)
})

test('a constant that checks a domain when it is parsed', async () => {
  for (const title of [`('{A}'::theirs.code[])[1]`, `(select 'x' where array[]::theirs.code[] = '{A}')`]) {
    const folder = write(title)
    const { findings } = await checkMapping(owner, folder)
    const [problem] = findings.filter(({ level }) => level === 'error').map(found => found.problem)
    await expectNothing(problem!, owner, true)
    await expect(migrate(owner, { adopted: readMappings(folder) })).rejects.toThrow(/"user": "voucher_gateway_reader"/)
  }
  await theirs`alter domain theirs.code drop constraint code_check`
  const { findings } = await checkMapping(owner, write(`('{A}'::theirs.code[])[1]`))
  expect(findings).toContainEqual(
    expect.objectContaining({ level: 'error', problem: expect.stringMatching(/^it has a constant/) }),
  )
})

test('the reader may read what the mappings name, and nothing else; it owns the functions that read, and creates nothing (I10)', async () => {
  const readRights = () =>
    owner<{ name: string }[]>`
    select relname as name from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where relkind in ('r', 'v', 'p', 'm', 'f') and nspname in ('public', 'gateway')
      and has_table_privilege('voucher_gateway_reader', pg_class.oid, 'select, insert, update, delete, truncate, references, trigger')
      and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')
    order by 1`.then(rows => rows.map(({ name }) => name))
  await migrate(owner, { adopted: readMappings(write(`'x'`)) })
  expect(await readRights()).toEqual(['purchased_voucher'])
  expect(
    await owner`
      select proname as name from pg_proc where pronamespace = 'gateway'::regnamespace
        and has_function_privilege('voucher_gateway_reader', oid, 'execute') and proowner <> 'voucher_gateway_reader'::regrole order by 1`,
  ).toEqual(
    [
      ...['bounded', 'bounded', 'deallocate_prepared', 'is_instant', 'last_day', 'major_units', 'minor_unit_digits'],
      ...['stop_reading', 'time_zone'],
    ].map(name => ({ name })),
  )
  expect(
    await owner`
      select distinct regexp_replace(proname, '_(category|customer|product|tenant|variant|voucher)$', '') as name, prosecdef as definer
      from pg_proc where proowner = 'voucher_gateway_reader'::regrole order by 1`,
  ).toEqual(
    ['next', 'parsed_query', 'read', 'read_as_reader', 'read_present', 'vouchers_of_public.tenant'].map(name => ({
      name,
      definer: true,
    })),
  )
  expect(
    await owner`
      select has_schema_privilege('voucher_gateway_reader', 'gateway', 'create') or has_schema_privilege('voucher_gateway_reader', 'public', 'create')
               as creates,
             exists (select from pg_class where relowner = 'voucher_gateway_reader'::regrole) as owns,
             exists (select from pg_auth_members where member = 'voucher_gateway_reader'::regrole) as inherits,
             (select rolsuper or rolcreaterole or rolcreatedb or rolcanlogin from pg_roles where rolname = 'voucher_gateway_reader') as powers`,
  ).toEqual([{ creates: false, owns: false, inherits: false, powers: false }])
})

test('functions of another owner, as a restore has them, evaluate nothing; migrate gives them to the reader again', async () => {
  await migrate(owner, { adopted: readMappings(write('theirs.run()')) })
  await projected(service)
  await owner.unsafe(`alter function gateway.read_voucher(text[]) owner to ${ownerRole}`)
  await touch()
  await projected(service)
  expect((await readStepState(service)).reasons).toMatchObject([
    { code: 'MAPPING_BROKEN', message: expect.stringContaining('run the command migrate') },
  ])
  await migrate(owner)
  await projected(service)
  expect((await readStepState(service)).reasons).toEqual([])
  await expectNothing(await readTitle())
})

test('a table that the owner of its schema replaces by a view', async () => {
  await theirs.unsafe(`create schema shelf; grant usage, create on schema shelf to ${ownerRole};
    grant usage on schema shelf to voucher_gateway_reader`)
  await owner.unsafe("create table shelf.word (said text primary key); insert into shelf.word values ('x')")
  await migrate(owner, { adopted: readMappings(write('(select said from shelf.word)')) })
  await projected(service)
  await theirs.unsafe(`drop table shelf.word; create view shelf.word as select theirs.run() as said;
    grant select on shelf.word to voucher_gateway_reader`)
  await touch()
  await projected(service)
  await expectNothing(await readTitle())
  await theirs`drop schema shelf cascade`
})

test('names are looked up in the path that adopt names, and in no other', async () => {
  await owner.unsafe(`create schema shop; create table shop.sold (id integer primary key, code text); insert into shop.sold values (1, 'A');
    create schema hostile; create function hostile.lower(text) returns text language sql return 'hostile'`)
  const folder = write(`'x'`)
  writeFileSync(
    join(folder, 'voucher.sql'),
    `select id as key, 1 as tenant_id, code as reference, lower(code) as product_title, timestamptz '2026-01-01' as created_at from sold`,
  )
  const [, mapping] = readMappings(folder, 'shop')
  expect((await checkMapping(owner, folder)).findings).toContainEqual(
    expect.objectContaining({ problem: 'relation "sold" does not exist' }),
  )
  await owner`set search_path = hostile, pg_catalog`
  expect((await checkMapping(owner, folder, 'shop')).findings.filter(({ level }) => level === 'error')).toEqual([])
  await migrate(owner, { adopted: readMappings(folder, 'shop') })
  await owner`reset search_path`
  await projected(service)
  expect(await readTitle()).toBe('a')
  expect(await owner`select files ->> 'path' as path from gateway.mapping where record = 'voucher'`).toEqual([
    { path: mapping!.path },
  ])
})

test('what is removed leaves the reader without rights', async () => {
  await owner`call gateway.remove()`
  expect(
    await owner`
    select from pg_class cross join aclexplode(relacl) where grantee = 'voucher_gateway_reader'::regrole
    union all select from pg_namespace cross join aclexplode(nspacl) where grantee = 'voucher_gateway_reader'::regrole`,
  ).toEqual([])
})
