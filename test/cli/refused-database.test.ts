/**
 * Commands must refuse a database with another encoding than UTF8, of an unreleased version, or with too few rights.
 */
import { rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import postgres from '#postgres'
import { startEmbedded } from '../../packages/embedded/src/embedded.ts'
import { connect, serviceRole } from '../../src/db/connection/connect.ts'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { createLogin } from '../support/login.ts'
import { refusalOf, run, serve } from '../support/process.ts'

const commands = ['serve', 'migrate', 'token list']

test.each([
  'LATIN1',
  'SQL_ASCII',
])('with the encoding %s, commands, sessions and syncs refuse the database, and change nothing', async encoding => {
  const { address, url } = await createEmptyDatabase(`encoding '${encoding}' locale 'C' template template0`)
  const sql = postgres({ ...address, max: 1, onnotice: () => {} })
  const session = connect(address, { max: 1, statementTimeoutMs: 10_000, role: serviceRole })
  onTestFinished(() => Promise.all([sql.end(), session.end()]).then(() => {}))

  for (const command of commands) {
    expect(refusalOf(await run(command.split(' '), { DATABASE_URL: url })), command).toBe(
      `DATABASE_NOT_UTF8: The database has the encoding ${encoding}, in which some texts cannot be stored. It must be UTF8. Create another ` +
        "database, and set DATABASE_URL to it: create database gateway encoding 'UTF8' locale 'C' template template0;\n",
    )
  }
  // A running service finds such a database when its own database was replaced.
  await expect(session`select 1`).rejects.toThrow(`encoding ${encoding}`)
  const { code, stderr } = await run(['sync', '--url', 'http://127.0.0.1', '--to', url], { VOUCHER_GATEWAY_TOKEN: 'x' })
  expect(stderr).toContain(`The database of the copy has the encoding ${encoding}`)
  expect(code).toBe(2)
  expect(await sql`select nspname from pg_namespace where nspname !~ '^pg_|^information_schema$|^public$'`).toEqual([])
})

/**
 * SQL that creates migration rows of an unreleased version. `sql/` has fewer files, so the number of rows must not
 * matter.
 */
const formerMigrations = `
  create schema gateway;
  create table gateway.migration (version bigint primary key, name text, md5 text, run_at timestamptz);
  insert into gateway.migration (version) values (0);
  insert into gateway.migration select n, 'former', md5(n::text), now() from generate_series(1, 16) n;`

const describeSchema = (sql: postgres.Sql) => sql`
  select (select json_agg(migration order by version) from gateway.migration) as migrations,
         (select json_agg(oid::regclass order by oid) from pg_class
          where relnamespace in ('public'::regnamespace, 'gateway'::regnamespace)) as relations`

test('every command refuses a database of an unreleased version with the remedy, and changes nothing', async () => {
  const { address, url } = await createEmptyDatabase()
  const sql = postgres({ ...address, max: 1, onnotice: () => {} })
  onTestFinished(() => sql.end())
  await sql.unsafe(formerMigrations)
  const before = await describeSchema(sql)

  for (const command of commands) {
    expect(refusalOf(await run(command.split(' '), { DATABASE_URL: url })), command).toBe(
      'DATABASE_UNRELEASED: The database that DATABASE_URL names was made by an unreleased version of this service and cannot be upgraded. ' +
        'Create an empty one, name it in DATABASE_URL, and run: node main.js migrate. ' +
        'Then let the platform fill it, or load demo data with: node main.js demo.\n',
    )
  }
  expect(await describeSchema(sql)).toEqual(before)
})

test('a data directory of an unreleased version is refused, and the service starts after the named directory is deleted', async () => {
  const DATA_DIR = createDirectory()
  const server = await startEmbedded({ dataDir: DATA_DIR, durable: false })
  const { host, port, user, database } = server
  const sql = postgres({ host, port, user, database, max: 1, onnotice: () => {} })
  await sql.unsafe(formerMigrations)
  await sql.end()
  await server.stop()

  for (const command of ['serve', 'migrate']) {
    expect(refusalOf(await run([command], { DATA_DIR, PORT: '0' })), command).toBe(
      `DATA_DIR_UNRELEASED: The database in the data directory ${DATA_DIR} was made by an unreleased version of this service and cannot be ` +
        'upgraded. Delete that directory, with all data in it, and run this command again.\n',
    )
  }

  rmSync(DATA_DIR, { recursive: true })
  const service = await serve({ DATA_DIR })
  expect(service.printed()).toContain('Token')
  expect(await service.stop('SIGTERM')).toBe(0)
}, 120_000)

const listTokens = (DATABASE_URL: string) => run(['token', 'list', '--json'], { DATABASE_URL })
const noTokens = { code: 0, stdout: '[]\n', stderr: '' }

test.each([
  ['the role', () => 'select'],
  [
    'the role, but with access to the schema,',
    (login: string) => `grant usage on schema gateway to ${login}; grant select on gateway.migration to ${login}`,
  ],
])('a login without %s gets the statement that grants the role, and works afterwards', async (_, rightsOf) => {
  const { address, platform } = await createDatabase()
  const { login, url } = await createLogin(platform, address)
  await platform.unsafe(rightsOf(login)).simple()
  const grant = `grant voucher_gateway to ${login};`
  for (const command of ['serve', 'token list', 'admin list']) {
    expect(refusalOf(await run(command.split(' '), { DATABASE_URL: url }))).toBe(
      `ROLE_NOT_GRANTED: The login ${login} is not a member of the role voucher_gateway. A database administrator has to run: ${grant}\n`,
    )
  }
  await platform.unsafe(grant)
  expect(await listTokens(url)).toEqual(noTokens)
})

test('the service can run as a noinherit member of its role', async () => {
  const { address, platform } = await createDatabase()
  const { url } = await createLogin(platform, address, 'noinherit in role voucher_gateway')
  expect(await listTokens(url)).toEqual(noTokens)
})

test('when an administrator has created the schema, the login needs no right to create schemas', async () => {
  const { address, owner } = await createEmptyDatabase()
  const { login, url } = await createLogin(owner, address, 'in role voucher_gateway, voucher_gateway_reader')
  await owner.unsafe(`create schema gateway; grant create on schema public to ${login}`).simple()
  const environment = { DATABASE_URL: url }
  const check = async () => JSON.parse((await run(['migrate', '--check', '--json'], environment)).stdout).findings
  const extensions = ['btree_gin', 'pg_trgm'].map(name => `create extension ${name} schema public;`)
  const needed = [...extensions, `alter schema gateway owner to ${login};`]
  expect(await check()).toMatchObject(
    needed.map(statement => ({ code: 'MIGRATION_FORBIDDEN', action: expect.stringContaining(statement) })),
  )
  await owner.unsafe(needed.join('')).simple()
  expect(await check()).toEqual([])
  expect(await run(['migrate'], environment)).toMatchObject({ code: 0, stderr: '' })
})

test('an owner without the role of the service gets the statement that grants the role, and can then migrate', async () => {
  const { address, owner } = await createEmptyDatabase()
  const { login, url } = await createLogin(owner, address, 'createrole')
  await owner.unsafe(`alter database ${address.database} owner to ${login}`)
  const environment = { DATABASE_URL: url }
  expect((await run(['serve'], environment)).stderr).toContain('node main.js migrate')
  for (const role of ['voucher_gateway', 'voucher_gateway_reader']) {
    expect(refusalOf(await run(['migrate'], environment))).toBe(
      `${login} may not set the role ${role}, which another login has created.\n` +
        `Let an administrator of the database run: grant ${role} to ${login};\n`,
    )
    await owner.unsafe(`grant ${role} to ${login}`)
  }
  const stdout = expect.stringContaining('applied 0002')
  expect(await run(['migrate'], environment)).toMatchObject({ stderr: '', stdout })
  expect(await listTokens(url)).toEqual(noTokens)
})
