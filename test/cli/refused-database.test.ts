/** Databases that no command uses: some cannot hold every text, others were migrated by an unreleased version. */
import { rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import postgres from '#postgres'
import { startEmbedded } from '../../packages/embedded/src/embedded.ts'
import { connect, serviceRole } from '../../src/db/connection/connect.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { refusalOf, run, serve } from '../support/process.ts'

const commands = ['serve', 'migrate', 'token list']

test.each([
  'LATIN1',
  'SQL_ASCII',
])('%s: every command, session and sync refuses it, and changes nothing', async encoding => {
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
  // As a service that runs finds it, whose database was replaced.
  await expect(session`select 1`).rejects.toThrow(`encoding ${encoding}`)
  const { code, stderr } = await run(['sync', '--url', 'http://127.0.0.1:1', '--to', url], {
    VOUCHER_GATEWAY_TOKEN: 'x',
  })
  expect(stderr).toContain(`The database of the copy has the encoding ${encoding}`)
  expect(code).toBe(2)
  expect(await sql`select nspname from pg_namespace where nspname !~ '^pg_|^information_schema$|^public$'`).toEqual([])
})

/** The rows of former migrations. There are more than `sql/` has files, so their number does not show that they are former. */
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

test('a data directory of an unreleased version is refused with the directory to delete, after which the service starts', async () => {
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
