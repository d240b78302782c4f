/**
 * Logins of the platform attack the owner of the gateway with objects that they may create and rights that they have.
 * Code of other owners that a mapping calls runs as voucher_gateway_reader, which may only read the sources.
 */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { checkMapping } from '../../src/adoption/check.ts'
import { readKeyState } from '../../src/adoption/show.ts'
import { withoutTrace } from '../../src/adoption/without-trace.ts'
import { readMappings } from '../../src/db/mapping/mappings.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import type { Pool } from '../../src/db/sql.ts'
import { findRecordProblems } from '../../src/projection/check.ts'
import { makeStep } from '../../src/projection/step.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import { afterFile } from '../support/cleanups.ts'
import { addressUrl, connect } from '../support/connect.ts'
import { createDirectory } from '../support/directory.ts'
import { run, serve } from '../support/process.ts'
import { projected } from '../support/projected.ts'

const { templateDatabase, ...server } = inject('server')
const admin = connect({ ...server, database: 'postgres' }, { max: 1, statementTimeoutMs: 60_000 })
const suffix = randomBytes(4).toString('hex')
/** The owner and the login of the service, as in deploy/roles.sql, and the login of the platform's application. */
const [owner, login, shop] = ['owner', 'login', 'shop'].map(name => `${name}_${suffix}`) as [string, string, string]
await execute(
  admin,
  `create role ${owner} login`,
  `grant voucher_gateway, voucher_gateway_reader to ${owner} with admin option`,
  `create role ${login} login in role voucher_gateway`,
  `create role ${shop} login`,
)
afterFile(() => execute(admin, ...[owner, login, shop].map(name => `drop role ${name}`)))

function execute(sql: Pool, ...statements: string[]) {
  return sql.unsafe(statements.join(';\n')).simple()
}

/** Creates a database of the owner. All roles may create objects in its schema `public`, as before PostgreSQL 15. */
async function createPlatform(...statements: string[]) {
  const database = `rights_${randomBytes(4).toString('hex')}`
  await admin.unsafe(`create database ${database} owner ${owner}`)
  afterFile(() => admin.unsafe(`drop database ${database} with (force)`))
  const open = (user: string) => connect({ ...server, database, user }, { max: 1, statementTimeoutMs: 60_000 })
  const environmentOf = (user: string) => ({ DATABASE_URL: addressUrl({ ...server, database, user }) })
  const as = open(owner)
  await execute(as, 'grant create on schema public to public', ...statements)
  return { database, open, as, environment: environmentOf(owner), serviceEnvironment: environmentOf(login) }
}

async function succeed(args: string[], environment: NodeJS.ProcessEnv) {
  const outcome = await run(args, environment)
  expect(outcome, args.join(' ')).toMatchObject({ code: 0, stderr: '' })
  return outcome.stdout
}

const migrated = async (...statements: string[]) => {
  const platform = await createPlatform(...statements)
  await succeed(['migrate'], platform.environment)
  return platform
}

type Reason = { code: string; message: string }

/**
 * Returns the reasons that doctor reports. As no service runs, a step runs first; otherwise doctor would report late
 * steps.
 */
async function diagnose({ as: sql, serviceEnvironment }: Awaited<ReturnType<typeof createPlatform>>) {
  await makeStep(sql)
  const { checks } = JSON.parse(await succeed(['doctor', '--json'], serviceEnvironment))
  return (checks as { reasons: Reason[] }[]).flatMap(({ reasons }) => reasons)
}

/** Functions that match the arguments of calls of the gateway better than the functions of PostgreSQL do. */
const traps = [
  'array_to_json(text[]) returns json',
  'array_to_string(text[], text) returns text',
  'to_json(timestamptz) returns json',
  'cardinality(text[]) returns integer',
  'array_position(text[], text) returns integer',
  'concat_ws(text, text, text) returns text',
  'format(text, text) returns text',
  'format(text, text, text) returns text',
  'json_build_object(text, text, text, text) returns json',
  'unnest(text[]) returns text',
].map(
  signature => `create function public.${signature} language plpgsql as $$ begin
    insert into public.ran values (current_user);
    return null;
  end $$`,
)

/** Operators for the types of the gateway, which must exist first. */
const operators = ['gateway.record_type', 'gateway.figure_kind', 'gateway.figure_grain'].flatMap(type =>
  ['=', '<>', '<'].map(
    (name, index) => `
      create function public.trap_${index}(${type}, ${type}) returns boolean language plpgsql as $$ begin
        insert into public.ran values (current_user);
        return false;
      end $$;
      create operator public.${name} (function = public.trap_${index}, leftarg = ${type}, rightarg = ${type})`,
  ),
)

test('objects that a login creates in the schema public run in no command, step or request (I10)', async () => {
  const platform = await createPlatform('create table public.ran (login text)', 'grant insert on public.ran to public')
  const { as: sql, environment, serviceEnvironment } = platform
  const intruder = platform.open(shop)
  await execute(intruder, ...traps)
  await succeed(['migrate'], environment)
  await execute(intruder, ...operators)
  // The traps run in a session whose search path leads to them.
  await sql`select array_to_json('{a}'::text[]), 'voucher'::gateway.record_type = 'voucher'::gateway.record_type`
  expect(await sql`delete from public.ran returning login`).toEqual([{ login: owner }, { login: owner }])

  await execute(
    sql,
    `insert into public.tenant (name) values ('Old Mill')`,
    `insert into public.product (tenant_id, slug, title, currency) values (1, 'tea', 'Tea', 'EUR')`,
    `insert into public.purchased_voucher (tenant_id, reference) values (1, 'A')`,
  )
  const service = await serve(serviceEnvironment)
  await expect.poll(async () => (await service.ready()).status, { timeout: 30_000 }).toBe(200)
  const create = 'token create --name Till --tenant 1 --permission view_vouchers view_orders --json'
  const { token } = JSON.parse(await succeed(create.split(' '), serviceEnvironment))
  for (const path of ['tenants', 'tenants/1/catalog/vouchers', 'tenants/1/sales/purchased-vouchers']) {
    const answer = await fetch(`${service.restAddress}/${path}`, {
      headers: { accept: 'application/json', authorization: `Bearer ${token}` },
    })
    expect([path, answer.status]).toEqual([path, 200])
    expect((await answer.json()).data).toHaveLength(1)
  }
  await service.stop('SIGTERM')
  for (const command of ['verify', 'verify --repair', 'migrate --check']) {
    // Without a step, the command would report late steps.
    await makeStep(sql)
    await succeed(command.split(' '), environment)
  }
  expect(await diagnose(platform)).toContainEqual(expect.objectContaining({ code: 'SCHEMA_OPEN' }))
  // The login of the service repairs the capture with the rights of the owner and a fixed search path.
  await sql`drop trigger capture_row on public.tenant`
  const session = platform.open(login)
  await execute(
    session,
    'set search_path = public, pg_temp, pg_catalog',
    'set standard_conforming_strings = off',
    'set check_function_bodies = off',
    'create temporary table rule (source text)',
  )
  await expect(execute(session, `call gateway.capture('public.tenant')`)).rejects.toMatchObject({ code: '42501' })
  expect(await session`select gateway.repair_capture() as source`).toEqual([{ source: 'public.tenant' }])
  expect(await sql`select trigger from gateway.find_uncaptured()`).toEqual([])
  // An operator runs a step and functions in psql, with the usual search path.
  const psql = platform.open(owner)
  await execute(psql, 'set search_path = public, pg_catalog', `call gateway.capture('public.tenant')`)
  await execute(psql, 'select gateway.require_full_pass()', 'call gateway.revoke_from_others()')
  await makeStep(psql)
  expect(await sql`select * from public.ran`).toEqual([])
})

test('a table that the owner of the gateway may not alter stays uncaptured, and requests are answered', async () => {
  const { as: sql, serviceEnvironment, open } = await migrated()
  await sql`grant select, trigger on public.variant, public.product to ${sql(owner)}`
  await execute(open(server.user), `alter table public.product owner to ${shop}`)
  await execute(open(shop), `drop trigger capture_row on public.product`)
  await execute(sql, 'drop trigger capture_row on public.variant')
  const service = await serve(serviceEnvironment)
  const read = async () => {
    const { status, body } = await service.ready()
    return [status, ...JSON.parse(body).reasons.map(({ code, message }: Reason) => `${code}: ${message.split(':')[0]}`)]
  }
  const kept = 'CAPTURE_MISSING: Changes of table public.product are not captured'
  await expect.poll(read, { timeout: 30_000 }).toEqual([200, kept])
  expect(await sql`select gateway.repair_capture() as source`).toEqual([{ source: null }])
  await service.stop('SIGTERM')
})

test('default privileges of the owner give no login a right, and doctor reports later grants', async () => {
  const platform = await migrated(
    ...['tables', 'sequences', 'functions', 'types'].map(
      kind => `alter default privileges grant all on ${kind} to ${shop}`,
    ),
    `alter default privileges grant all on tables to public`,
  )
  const { as: sql, open } = platform
  const isForeign = ({ code }: Reason) => code === 'RIGHTS_FOREIGN'
  const held = () => sql`
    select relname from pg_class where relnamespace = 'gateway'::regnamespace and relkind in ('r', 'v', 'S')
      and (has_table_privilege(${shop}, oid, 'select, insert, update, delete, truncate, references, trigger')
           or relkind = 'S' and has_sequence_privilege(${shop}, oid, 'usage'))
    union all
    select proname from pg_proc where pronamespace = 'gateway'::regnamespace and has_function_privilege(${shop}, oid, 'execute')`
  expect(await held()).toEqual([])
  const attacker = open(shop)
  for (const attempt of [
    'select from gateway.token',
    'select gateway.require_full_pass()',
    `call gateway.capture('public.tenant')`,
    'create table gateway.mine ()',
  ]) {
    await expect(execute(attacker, attempt)).rejects.toMatchObject({ code: '42501' })
  }
  // Lets capture create a dropped function again, and create functions for a new source.
  await execute(
    sql,
    'drop function gateway."capture_row_of_public.tenant" cascade',
    `call gateway.capture('public.tenant')`,
    'create table public.item (id bigint)',
    `insert into gateway.rule values ('voucher', 'public.item', '{id}')`,
    `call gateway.capture('public.item')`,
    `delete from gateway.rule where source = 'public.item'`,
    'drop table public.item',
  )
  expect(await held()).toEqual([])
  expect((await diagnose(platform)).filter(isForeign)).toEqual([])

  await execute(
    sql,
    `grant select on gateway.token to ${shop} with grant option`,
    `grant update (name) on gateway.token to ${shop}`,
    `grant execute on function gateway.require_full_pass to ${shop}`,
    `grant create on schema gateway to ${shop}`,
  )
  await execute(attacker, 'grant select on gateway.token to public')
  const foreign = (await diagnose(platform)).filter(isForeign)
  expect(foreign.map(({ message }) => message)).toEqual([
    'The role public has rights in the schema gateway: on table gateway.token.',
    `The role ${shop} has rights in the schema gateway: on routine gateway.require_full_pass(), schema gateway, table gateway.token.`,
  ])
  await execute(sql, 'call gateway.revoke_from_others()')
  expect(await held()).toEqual([])
  expect((await diagnose(platform)).filter(isForeign)).toEqual([])
})

const platform = await createPlatform()
const [gateway, service, attacker] = [platform.as, platform.open(login), platform.open(shop)]
await execute(
  platform.open(server.user),
  'revoke create on schema public from public',
  `grant create on database ${platform.database} to ${shop}`,
)
await migrate(gateway)

/** The statements that the code of another owner tries, and the errors of PostgreSQL. */
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
  [`set role ${owner}`, /within security-definer function/],
  ['reset role', /within security-definer function/],
  [`set session authorization ${owner}`, /within security-definer function/],
  ['set transaction_read_only = off', /read-write mode inside a read-only/],
  // PostgreSQL allows these statements, but none of them has a lasting effect.
  ['set search_path = theirs, pg_catalog', /^done$/],
  ["set timezone = 'Asia/Tokyo'", /^done$/],
  ['listen noise', /^done$/],
  ['declare held cursor with hold for select theirs.mark()', /^done$/],
  ["prepare held as insert into gateway.audit_entry (actor) values ('forged')", /^done$/],
]

await attacker
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
 * Expects that PostgreSQL has refused each statement of an attack, and that the session is unchanged.
 *
 * @param isParsed true when the attack ran while a query was parsed: then writes are not refused, but rolled back
 */
async function expectNothing(said: string, session = service, isParsed = false) {
  const { user: who, ...results } = JSON.parse(said)
  expect(who).toBe('voucher_gateway_reader')
  expect(Object.keys(results)).toEqual(expect.arrayContaining(attacks.map(([statement]) => statement)))
  for (const [statement, refusal] of attacks) {
    if (!(isParsed && /read-only/.test(refusal.source))) expect(results[statement], statement).toMatch(refusal)
  }
  expect(await gateway`select from pg_proc where proname = 'read_voucher' and prosecdef`).toHaveLength(1)
  expect(await attacker`select from theirs.trap`).toEqual([])
  expect(
    await session`
      select (select count(*)::int from pg_prepared_statements where from_sql) as prepared,
             (select count(*)::int from pg_cursors where is_holdable) as held,
             (select count(*)::int from pg_listening_channels()) as listening,
             current_setting('search_path') ~ 'theirs' or current_setting('timezone') ~ 'Tokyo' as is_changed`,
  ).toEqual([{ prepared: 0, held: 0, listening: 0, is_changed: false }])
  expect(await attacker`select who from theirs.seen`).toEqual([])
}

/** Writes a mapping whose vouchers have this title. @param rules the rules of vouchers, by source table */
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

await gateway`insert into tenant (name) values ('Old Mill')`
await gateway`insert into purchased_voucher (tenant_id, reference) values (1, 'A')`
const touch = () => gateway`update purchased_voucher set reference = reference || 'A'`
const readTitle = async () => (await service`select product_title as said from gateway.voucher`)[0]?.said ?? ''

test.each([
  ['a view', '(select said from theirs.words)', `view theirs.words`],
  ['a function', 'theirs.run()', 'function theirs.run()'],
  ['an operator', '1 operator(theirs.##) 1', 'operator theirs.##(integer,integer)'],
  ['a cast', 'row(sold.reference)::theirs.thing', 'function theirs.text_of(theirs.thing)'],
])('%s: in a step, a scan, a check, a resolution, and the commands', async (_, title, object) => {
  const folder = write(title)
  const { findings } = await checkMapping(gateway, folder)
  const named = findings.filter(({ problem }) => problem.startsWith(`It runs code of ${shop}: `))
  expect(named).toMatchObject([{ file: 'voucher.sql', level: 'warning', problem: expect.stringContaining(object) }])
  expect(findings.filter(({ level }) => level === 'error')).toEqual([])
  await migrate(gateway, { adopted: readMappings(folder) })
  await projected(service)
  await expectNothing(await readTitle()) // A scan.
  await touch()
  await projected(service)
  await expectNothing(await readTitle())
  expect(await findRecordProblems(service)).toEqual([])
  const [present] = await service<[{ said: string }]>`
    select (voucher).product_title as said from gateway.read_present_voucher(1)`
  await expectNothing(present.said)
  const [mapping] = readMappings(folder).filter(({ record }) => record === 'voucher')
  const { rows } = await withoutTrace(gateway, sql => readKeyState(sql, mapping!, '1'))
  const [row] = rows as { product_title: string | { word: string } }[]
  if (typeof row!.product_title === 'string') await expectNothing(row!.product_title, gateway)
})

test('the check of a domain runs as the reader, and its error rejects the row', async () => {
  await migrate(gateway, { adopted: readMappings(write('sold.reference::theirs.code')) })
  await touch()
  await projected(service)
  const [rejected] = await service<{ key: string; reason: string }[]>`select key, reason from gateway.rejected`
  expect(rejected).toMatchObject({ key: '1' })
  await expectNothing(rejected!.reason)
})

test('functions that the check of a mapping or the planner calls run as the reader', async () => {
  await attacker`alter function theirs.fail immutable`
  const { findings } = await checkMapping(gateway, write(`case when theirs.fail() then 'x' end`))
  await attacker`alter function theirs.fail volatile`
  const said = findings.map(({ problem }) => /\{"user.*\}/.exec(problem)?.[0]).filter(found => found !== undefined)
  expect(said.length).toBeGreaterThan(0)
  for (const one of said) await expectNothing(one, gateway)
})

test('functions that a rule calls run as the reader', async () => {
  const folder = write(`(select name from public.tenant where tenant.id = sold.tenant_id)`, {
    tenant: 'select theirs.run() from changed',
  })
  await migrate(gateway, { adopted: readMappings(folder) })
  await projected(service)
  const [affected] = await gateway<{ said: string }[]>`
    select key as said from gateway.affected_keys(array[('voucher', 'public.tenant', '{1}')::gateway.source_row])`
  await expectNothing(affected!.said, gateway)
})

test('a constant whose domain is checked by the parser is refused, after the check ran as the reader', async () => {
  const folder = write(`('{A}'::theirs.code[])[1]`)
  const [found] = (await checkMapping(gateway, folder)).findings.filter(({ level }) => level === 'error')
  await expectNothing(found!.problem, gateway, true)
  await expect(migrate(gateway, { adopted: readMappings(folder) })).rejects.toThrow(/"user": "voucher_gateway_reader"/)
  await attacker`alter domain theirs.code drop constraint code_check`
  const { findings } = await checkMapping(gateway, folder)
  expect(findings).toContainEqual(
    expect.objectContaining({ level: 'error', problem: expect.stringMatching(/^it has a constant/) }),
  )
})

test('the reader may read only the sources of mappings, and may create no objects (I10)', async () => {
  await migrate(gateway, { adopted: readMappings(write(`'x'`)) })
  const readable = await gateway`
    select relname from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where relkind in ('r', 'v', 'p', 'm', 'f') and nspname in ('public', 'gateway')
      and has_table_privilege('voucher_gateway_reader', pg_class.oid, 'select, insert, update, delete, truncate, references, trigger')
      and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')`
  expect(readable).toEqual([{ relname: 'purchased_voucher' }])
  const called = await gateway<{ name: string }[]>`
    select distinct proname as name from pg_proc where pronamespace = 'gateway'::regnamespace and
      has_function_privilege('voucher_gateway_reader', oid, 'execute') and proowner <> 'voucher_gateway_reader'::regrole order by 1`
  expect(called.map(({ name }) => name).join(' ')).toBe(
    'bounded deallocate_prepared is_instant last_day major_units minor_unit_digits stop_reading time_zone',
  )
  const owned = await gateway<{ name: string; definer: boolean }[]>`
    select distinct regexp_replace(proname, '_(category|customer|product|tenant|variant|voucher)$', '') as name, prosecdef as definer
    from pg_proc where proowner = 'voucher_gateway_reader'::regrole order by 1`
  expect(owned.every(({ definer }) => definer)).toBe(true)
  expect(owned.map(({ name }) => name).join(' ')).toBe(
    'next parsed_query read read_as_reader read_present vouchers_of_public.tenant',
  )
  const [rights] = await gateway`
    select has_schema_privilege(rolname, 'gateway', 'create') or has_schema_privilege(rolname, 'public', 'create') as creates,
           exists (select from pg_class where relowner = role.oid) as owns,
           exists (select from pg_auth_members where member = role.oid) as inherits,
           rolsuper or rolcreaterole or rolcreatedb or rolcanlogin as powers
    from pg_roles role where rolname = 'voucher_gateway_reader'`
  expect(rights).toEqual({ creates: false, owns: false, inherits: false, powers: false })
})

test('reading functions of another owner, as after a restore, run only after migrate', async () => {
  await migrate(gateway, { adopted: readMappings(write('theirs.run()')) })
  await projected(service)
  await gateway.unsafe(`alter function gateway.read_voucher(text[]) owner to ${owner}`)
  await touch()
  await projected(service)
  expect((await readStepState(service)).reasons).toMatchObject([
    { code: 'MAPPING_BROKEN', message: expect.stringContaining('run the command migrate') },
  ])
  await migrate(gateway)
  await projected(service)
  expect((await readStepState(service)).reasons).toEqual([])
  await expectNothing(await readTitle())
})

test('names in a mapping are resolved only in the search path that adopt was given', async () => {
  await gateway.unsafe(`create schema shop; create table shop.sold (id integer primary key, code text); insert into shop.sold values (1, 'A');
    create schema hostile; create function hostile.lower(text) returns text language sql return 'hostile'`)
  const folder = write(`'x'`)
  writeFileSync(
    join(folder, 'voucher.sql'),
    `select id as key, 1 as tenant_id, code as reference, lower(code) as product_title, timestamptz '2026-01-01' as created_at from sold`,
  )
  const [, mapping] = readMappings(folder, 'shop')
  expect((await checkMapping(gateway, folder)).findings).toContainEqual(
    expect.objectContaining({ problem: 'relation "sold" does not exist' }),
  )
  await gateway`set search_path = hostile, pg_catalog`
  expect((await checkMapping(gateway, folder, 'shop')).findings.filter(({ level }) => level === 'error')).toEqual([])
  await migrate(gateway, { adopted: readMappings(folder, 'shop') })
  await gateway`reset search_path`
  await projected(service)
  expect(await readTitle()).toBe('a')
  const [{ path }] = await gateway<
    [{ path: string }]
  >`select files ->> 'path' as path from gateway.mapping where record = 'voucher'`
  expect(path).toBe(mapping!.path)
})

test('the removal of the gateway leaves the reader without rights', async () => {
  await gateway`call gateway.remove()`
  expect(
    await gateway`
    select from pg_class cross join aclexplode(relacl) where grantee = 'voucher_gateway_reader'::regrole
    union all select from pg_namespace cross join aclexplode(nspacl) where grantee = 'voucher_gateway_reader'::regrole`,
  ).toEqual([])
})
