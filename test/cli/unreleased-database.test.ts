/** A database that an unreleased version of the service has migrated, by migrations that `sql/` no longer has. */
import { rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import postgres from '#postgres'
import { startEmbedded } from '../../packages/embedded/src/embedded.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { refusalOf, run, serve } from '../support/process.ts'

/** The remains of the former migrations: more of them than `sql/` has, so their number alone does not show it. */
const formerMigrations = `
  create schema gateway;
  create table gateway.migration (version bigint primary key, name text, md5 text, run_at timestamptz);
  insert into gateway.migration (version) values (0);
  insert into gateway.migration select n, 'former', md5(n::text), now() from generate_series(1, 16) n;`

const describeSchema = (sql: postgres.Sql) => sql`
  select (select json_agg(migration order by version) from gateway.migration) as migrations,
         (select json_agg(oid::regclass order by oid) from pg_class
          where relnamespace in ('public'::regnamespace, 'gateway'::regnamespace)) as relations`

test('every command refuses it with the remedy, and changes nothing', async () => {
  const { address, url } = await createEmptyDatabase()
  const sql = postgres({ ...address, max: 1, onnotice: () => {} })
  onTestFinished(() => sql.end())
  await sql.unsafe(formerMigrations)
  const before = await describeSchema(sql)

  for (const command of ['serve', 'migrate', 'token list']) {
    expect(refusalOf(await run(command.split(' '), { DATABASE_URL: url })), command).toBe(
      'DATABASE_UNRELEASED: The database that DATABASE_URL names was made by an unreleased version of this service and cannot be upgraded. ' +
        'Create an empty one, name it in DATABASE_URL, and run: node main.js migrate. ' +
        'Then let the platform fill it, or load demo data with: node main.js demo.\n',
    )
  }
  expect(await describeSchema(sql)).toEqual(before)
})

test('in a data directory, it is refused with the directory to delete, after which the service starts', async () => {
  const DATA_DIR = createDirectory()
  const server = await startEmbedded({ dataDir: DATA_DIR, durable: false })
  const { host, port, user, database } = server
  const sql = postgres({ host, port, user, database, max: 1, onnotice: () => {} })
  await sql.unsafe(formerMigrations)
  await sql.end()
  await server.stop()

  for (const command of ['serve', 'migrate']) {
    expect(refusalOf(await run([command], { DATA_DIR })), command).toBe(
      `DATA_DIR_UNRELEASED: The database in the data directory ${DATA_DIR} was made by an unreleased version of this service and cannot be ` +
        'upgraded. Delete that directory, with all data in it, and run this command again.\n',
    )
  }

  rmSync(DATA_DIR, { recursive: true })
  const service = await serve({ DATA_DIR })
  expect(service.printed()).toContain('Token')
  expect(await service.stop('SIGTERM')).toBe(0)
}, 120_000)
