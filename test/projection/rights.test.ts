/** Logins that attack the owner of the gateway with what they may create or were given, on a platform that lets them. */
import { randomBytes } from 'node:crypto'
import { expect, inject, onTestFinished, test } from 'vitest'
import type { Pool } from '../../src/db/sql.ts'
import { makeStep } from '../../src/projection/step.ts'
import { afterFile } from '../support/cleanups.ts'
import { addressUrl, connect } from '../support/connect.ts'
import { run, serve } from '../support/process.ts'

const { templateDatabase, ...server } = inject('server')
const admin = connect({ ...server, database: 'postgres' }, { max: 1, statementTimeoutMs: 60_000 })
const suffix = randomBytes(4).toString('hex')
/** As deploy/roles.sql has them, and the login of the platform's application. */
const [owner, login, shop] = ['owner', 'login', 'shop'].map(name => `${name}_${suffix}`) as [string, string, string]
await execute(
  admin,
  `create role ${owner} login`,
  `grant voucher_gateway, voucher_gateway_reader to ${owner} with admin option`,
  `create role ${login} login in role voucher_gateway`,
  `create role ${shop} login`,
)
afterFile(async () => {
  await execute(admin, ...[owner, login, shop].map(name => `drop role ${name}`))
  await admin.end()
})

function execute(sql: Pool, ...statements: string[]) {
  return sql.unsafe(statements.join(';\n')).simple()
}

/** Creates a database of the owner, in whose schema `public` everybody may create objects, as before PostgreSQL 15. */
async function createPlatform(...statements: string[]) {
  const database = `rights_${randomBytes(4).toString('hex')}`
  await admin.unsafe(`create database ${database} owner ${owner}`)
  const opened: Pool[] = []
  onTestFinished(async () => {
    await Promise.all(opened.map(sql => sql.end({ timeout: 1 })))
    await admin.unsafe(`drop database ${database} with (force)`)
  })
  const open = (user: string) => {
    const sql = connect({ ...server, database, user }, { max: 1, statementTimeoutMs: 60_000 })
    opened.push(sql)
    return sql
  }
  const environmentOf = (user: string) => ({ DATABASE_URL: addressUrl({ ...server, database, user }) })
  const platform = {
    open,
    as: open(owner),
    environment: environmentOf(owner),
    serviceEnvironment: environmentOf(login),
  }
  await execute(platform.as, 'grant create on schema public to public', ...statements)
  return platform
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

/** Returns the reasons that doctor names. No service runs, so it makes a step first: one that is late would be a problem. */
async function diagnose({
  as: sql,
  serviceEnvironment,
}: Awaited<ReturnType<typeof createPlatform>>): Promise<Reason[]> {
  await makeStep(sql)
  const { checks } = JSON.parse(await succeed(['doctor', '--json'], serviceEnvironment))
  return checks.flatMap(({ reasons }: { reasons: Reason[] }) => reasons)
}

test.each([
  'record_purge()',
  `capture_truncated('voucher')`,
  '"capture_rows_of_public.tenant"()',
  '"capture_row_of_public.tenant"()',
])('the service attaches no trigger function of the owner to a table of its own: %s', async trigger => {
  const { as: platform, open } = await migrated()
  await platform`insert into gateway.audit_entry (actor, action) values ('ann', 'token.create')`
  const service = open(login)
  // A type of its own, with a cast that would run as the owner.
  await execute(
    service,
    'create type pg_temp.stamp as (words text)',
    `create function pg_temp.to_instant(pg_temp.stamp) returns timestamptz language plpgsql as $$ begin
       delete from gateway.audit_entry;
       return now();
     end $$`,
    'create cast (pg_temp.stamp as timestamptz) with function pg_temp.to_instant(pg_temp.stamp) as implicit',
    'create temporary table mine (id bigint, parent_id bigint, updated_at pg_temp.stamp)',
    `insert into mine values (1, 1, row('x'))`,
  )
  const attack = execute(
    service,
    `create trigger mine after delete on pg_temp.mine referencing old table as purged
       for each statement execute function gateway.${trigger}`,
    'delete from mine',
  )
  await expect(attack).rejects.toMatchObject({ code: '42501' })
  expect(await platform`select actor from gateway.audit_entry where action = 'token.create'`).toHaveLength(1)
})

/** Functions that fit arguments of ours better than PostgreSQL's, and operators of our types. */
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

/** They need the types of the gateway. */
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

test('what a login makes in the schema public runs in no command, step or request (I10)', async () => {
  const platform = await createPlatform('create table public.ran (login text)', 'grant insert on public.ran to public')
  const { as: sql, environment, serviceEnvironment } = platform
  const intruder = platform.open(shop)
  await execute(intruder, ...traps)
  await succeed(['migrate'], environment)
  await execute(intruder, ...operators)
  // The traps work where a session has a path to them.
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
  const { token } = JSON.parse(
    await succeed(
      ['token', 'create', '--name', 'Till', '--tenant', '1', '--permission', 'view_vouchers', 'view_orders', '--json'],
      serviceEnvironment,
    ),
  )
  for (const path of ['tenants', 'tenants/1/catalog/vouchers', 'tenants/1/sales/purchased-vouchers']) {
    const answer = await fetch(`${service.restAddress}/${path}`, {
      headers: { accept: 'application/json', authorization: `Bearer ${token}` },
    })
    expect([path, answer.status]).toEqual([path, 200])
    expect((await answer.json()).data).toHaveLength(1)
  }
  await service.stop('SIGTERM')
  for (const command of [['verify'], ['verify', '--repair'], ['migrate', '--check']])
    await succeed(command, environment)
  expect(await diagnose(platform)).toContainEqual(expect.objectContaining({ code: 'SCHEMA_OPEN' }))
  // The service's login repairs capture as the owner, with a path of its own.
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
  // Nothing else is left to do.
  expect(await session`select gateway.repair_capture() as source`).toEqual([{ source: null }])
  // A step and a function that an operator runs in psql, with the usual path.
  const psql = platform.open(owner)
  await execute(psql, 'set search_path = public, pg_catalog', `call gateway.capture('public.tenant')`)
  await execute(psql, 'select gateway.require_full_pass()', 'call gateway.revoke_from_others()')
  await makeStep(psql)
  expect(await sql`select * from public.ran`).toEqual([])
})

test('the service captures no table again that the owner of the gateway may not alter: the reason stays, and requests are answered', async () => {
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

test('default privileges of the owner give no login a right, and doctor names rights that were granted later', async () => {
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
  // What capture creates again, and what it creates for a table that became a source.
  await execute(
    sql,
    'drop function gateway."capture_row_of_public.tenant" cascade',
    `call gateway.capture('public.tenant')`,
    'create table public.item (id bigint)',
    `insert into gateway.rule values ('voucher', 'public.item', '{id}')`,
    `call gateway.capture('public.item')`,
    `delete from gateway.rule where source = 'public.item'`,
    `call gateway.capture('public.item')`,
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
