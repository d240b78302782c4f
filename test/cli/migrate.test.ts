/**
 * Runs `migrate` during other transactions. `migrate` must let these transactions go first, and must leave no lock when
 * it is killed.
 */
import { expect, onTestFinished, test } from 'vitest'
import postgres from '#postgres'
import { createDatabase } from '../support/database.ts'
import { createLaterVersion } from '../support/later-version.ts'
import { run, start } from '../support/process.ts'

const file = '0099.do.watch.sql'
/** A later version, whose migration creates a trigger. */
const laterVersion = {
  entry: createLaterVersion({
    migrations: {
      [file]: `create function gateway.watch() returns trigger language plpgsql as $$ begin return null; end $$;
        create trigger watch after insert on gateway.removal for each statement execute function gateway.watch();`,
    },
  }),
}
const appliedOutput = `applied ${file}\n`

/** An insert into the table on which the later version creates its trigger. */
const insertStatement = `insert into gateway.removal select 'voucher', 1, 1, 'deleted', clock_timestamp()`

async function createFormerDatabase() {
  const { address, url } = await createDatabase()
  const open = (connection = {}) => postgres({ ...address, max: 1, onnotice: () => {}, connection })
  const sql = open({ lock_timeout: 5_000 })
  onTestFinished(() => sql.end())
  return { open, sql, environment: { DATABASE_URL: url } }
}

/** Returns the files of the later version's migrations that the database has. */
const readLaterMigrations = async (sql: postgres.Sql) =>
  (await sql<{ name: string }[]>`select name from gateway.migration where version = 99`).map(({ name }) => name)

/** Starts `migrate`, which sleeps after the first trigger that it creates. */
async function startSleeping({ sql, environment }: Awaited<ReturnType<typeof createFormerDatabase>>) {
  await sql.unsafe(`
    create function public.sleep_long() returns event_trigger language plpgsql as $$ begin perform pg_sleep(60); end $$;
    create event trigger sleep_long on ddl_command_end when tag in ('CREATE TRIGGER') execute function public.sleep_long()`)
  const started = start(['migrate'], environment, laterVersion)
  const findPid = async () => {
    const [found] = await sql<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
    return found?.pid ?? 0
  }
  await expect.poll(findPid, { timeout: 40_000 }).toBeGreaterThan(0)
  return { ...started, pid: await findPid() }
}

test('a killed migrate that has locked a table leaves no lock and no change, and the next run applies all migrations', async () => {
  const database = await createFormerDatabase()
  const { child, ended } = await startSleeping(database)
  child.kill('SIGKILL')
  await ended
  await database.sql.unsafe(`drop event trigger sleep_long; ${insertStatement}`)
  expect(await database.sql`select to_regproc('gateway.watch') as made`).toEqual([{ made: null }])
  expect(await run(['migrate'], database.environment, laterVersion)).toEqual({
    code: 0,
    stdout: appliedOutput,
    stderr: '',
  })
})

test('migrate fails when the server ends its session', async () => {
  const database = await createFormerDatabase()
  const { ended, printed, pid } = await startSleeping(database)
  await database.sql`select pg_terminate_backend(${pid})`
  expect(await ended).toBe(1)
  expect(printed()).toContain('The database has closed the connection.')
})

test('when two migrate commands run at the same time, one waits for the other', async () => {
  const { sql, environment } = await createFormerDatabase()
  const outcomes = await Promise.all([1, 2].map(() => run(['migrate'], environment, laterVersion)))
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0])
  expect(outcomes.map(({ stdout }) => stdout).sort()).toEqual(['The database is up to date.\n', appliedOutput])
  expect(await readLaterMigrations(sql)).toEqual([file])
})

test.each([
  ['a file', laterVersion, insertStatement, appliedOutput],
  ['a mapping', {}, 'lock table gateway.mapping in share mode', 'The database is up to date.'],
])('while a transaction holds a lock that %s needs, the command names the transaction, lets other sessions go first, and then continues', async (_, program, held, last) => {
  const { open, sql, environment } = await createFormerDatabase()
  if (program !== laterVersion) await sql`delete from gateway.mapping`
  const holder = open({ application_name: 'night batch' })
  const migration = await holder.begin(async transaction => {
    const [own] = await transaction`select pg_backend_pid() as pid`
    await transaction.unsafe(held)
    const started = start(['migrate', '--wait', '60'], environment, program)
    await expect.poll(started.printed, { timeout: 30_000 }).toContain(`held by backend ${own?.pid}`)
    expect(started.printed()).toContain(`backend ${own?.pid} (application night batch, login `)
    expect(started.printed()).toContain('idle in transaction')
    expect(started.printed()).toContain(held)
    await sql.unsafe(insertStatement)
    return started
  })
  expect(await migration.ended).toBe(0)
  expect(migration.printed()).toContain(last)
  await holder.end()
})

test('migrate gives up after the time that --wait sets, and changes nothing', async () => {
  const { open, sql, environment } = await createFormerDatabase()
  const holder = open({ application_name: 'night batch' })
  await holder.begin(async transaction => {
    await transaction.unsafe(insertStatement)
    const refused = await run(['migrate', '--wait', '1'], environment, laterVersion)
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toMatch(/\nThe migration did not get a lock that it needs\. It is held by backend \d+ \(/)
    expect(refused.stderr).toContain('application night batch')
    expect(await readLaterMigrations(sql)).toEqual([])
  })
  await holder.end()
})

test('--status is refused together with --check', async () => {
  const stderr = `error: option '--status' cannot be used with option '--check'\n`
  expect(await run(['migrate', '--check', '--status'], {})).toEqual({ code: 2, stdout: '', stderr })
})
