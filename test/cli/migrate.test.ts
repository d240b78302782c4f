/** `migrate` beside other transactions: it gives way to them, and leaves no lock when it is killed. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import postgres from '#postgres'
import { migrate } from '../../src/db/migrate.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { run, start } from '../support/process.ts'

const files = readdirSync(join(import.meta.dirname, '../../sql'))
  .filter(name => name.includes('.do.'))
  .sort()
/** The number of files before the first that creates a trigger on a table of an earlier file, `gateway.removal`. */
const before = files.findIndex(name => name.includes('.sync-state.'))
const missing = files.slice(before)
const printedFor = (names: string[]) => names.map(name => `applied ${name}\n`).join('')

/** A write of the table with that trigger. */
const write = `insert into gateway.removal select 'voucher', 1, 1, 'deleted', clock_timestamp()`

/** Creates a database that has the first migrations only. @param count how many */
async function createFormerDatabase(count = before) {
  const { address, owner, url } = await createEmptyDatabase()
  const open = (connection = {}) => postgres({ ...address, max: 1, onnotice: () => {}, connection })
  await migrate(owner, { last: count })
  const sql = open({ lock_timeout: 5_000 })
  onTestFinished(() => sql.end())
  return { open, sql, environment: { DATABASE_URL: url } }
}

/** Starts `migrate`, which sleeps after the first trigger that it creates. */
async function startSleeping({ sql, environment }: Awaited<ReturnType<typeof createFormerDatabase>>) {
  await sql.unsafe(`
    create function public.sleep_long() returns event_trigger language plpgsql as $$ begin perform pg_sleep(60); end $$;
    create event trigger sleep_long on ddl_command_end when tag in ('CREATE TRIGGER') execute function public.sleep_long()`)
  const started = start(['migrate'], environment)
  const findPid = async () => {
    const [found] = await sql<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
    return found?.pid ?? 0
  }
  await expect.poll(findPid, { timeout: 40_000 }).toBeGreaterThan(0)
  return { ...started, pid: await findPid() }
}

test('killed while it has locked a table, it leaves no lock, and the next run goes on', async () => {
  const database = await createFormerDatabase(before - 1)
  const { child, ended } = await startSleeping(database)
  child.kill('SIGKILL')
  await ended
  await database.sql.unsafe(`drop event trigger sleep_long; ${write}`)
  expect(await run(['migrate'], database.environment)).toEqual({ code: 0, stdout: printedFor(missing), stderr: '' })
})

test('it fails when the server ends its session', async () => {
  const database = await createFormerDatabase()
  const { ended, printed, pid } = await startSleeping(database)
  await database.sql`select pg_terminate_backend(${pid})`
  expect(await ended).toBe(1)
  expect(printed()).toContain('The database has closed the connection.')
})

test('of two at a time, one waits for the other', async () => {
  const { sql, environment } = await createFormerDatabase()
  const outcomes = await Promise.all([run(['migrate'], environment), run(['migrate'], environment)])
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0])
  const printed = outcomes.map(({ stdout }) => stdout).sort()
  expect(printed).toEqual(['The database is up to date.\n', printedFor(missing)].sort())
  expect(await sql`select from gateway.migration`).toHaveLength(files.length)
})

test('with --json it prints the files that it applied as one JSON object', async () => {
  const { environment } = await createFormerDatabase()
  const outcomes = [await run(['migrate', '--json'], environment), await run(['migrate', '--json'], environment)]
  expect(outcomes).toEqual(
    [missing, []].map(applied => ({ code: 0, stdout: `${JSON.stringify({ applied })}\n`, stderr: '' })),
  )
})

test.each([
  ['a file', before, write, printedFor(missing)],
  ['a mapping', files.length, 'lock table gateway.mapping in share mode', 'The database is up to date.'],
])('while a transaction holds a lock that %s needs, the command names it, lets others go first, and goes on', async (_, count, held, last) => {
  const { open, sql, environment } = await createFormerDatabase(count)
  const holder = open({ application_name: 'night batch' })
  const migration = await holder.begin(async transaction => {
    const [own] = await transaction`select pg_backend_pid() as pid`
    await transaction.unsafe(held)
    const started = start(['migrate', '--wait', '60'], environment)
    await expect.poll(started.printed, { timeout: 30_000 }).toContain(`held by backend ${own?.pid}`)
    expect(started.printed()).toContain(`backend ${own?.pid} (application night batch, login `)
    expect(started.printed()).toContain('idle in transaction')
    expect(started.printed()).toContain(held)
    await sql.unsafe(write)
    return started
  })
  expect(await migration.ended).toBe(0)
  expect(migration.printed()).toContain(last)
  await holder.end()
})

test('it gives up after the time that --wait sets, and changes nothing', async () => {
  const { open, sql, environment } = await createFormerDatabase()
  const holder = open({ application_name: 'night batch' })
  await holder.begin(async transaction => {
    await transaction.unsafe(write)
    const refused = await run(['migrate', '--wait', '3'], environment)
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toMatch(/\nThe migration did not get a lock that it needs\. It is held by backend \d+ \(/)
    expect(refused.stderr).toContain('application night batch')
    expect(await sql`select from gateway.migration`).toHaveLength(before)
  })
  await holder.end()
  const wrong = await run(['migrate', '--wait', 'long'], environment)
  expect(wrong.code).toBe(2)
})

test.each([
  ['--status', '--check'],
  ['--dry-run', '--check'],
  ['--dry-run', '--status'],
])('%s is refused beside %s', async (one, other) => {
  const stderr = `error: option '${one}' cannot be used with option '${other}'\n`
  expect(await run(['migrate', other, one], {})).toEqual({ code: 2, stdout: '', stderr })
})
