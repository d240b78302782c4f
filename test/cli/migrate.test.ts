/** `migrate` beside writers: it gives way to them, and leaves no lock when it is killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import Postgrator from 'postgrator'
import { expect, inject, onTestFinished, test } from 'vitest'
import postgres from '#postgres'
import { commandProcess, run } from '../support/process.ts'

const directory = join(import.meta.dirname, '../../sql')
/** The migrations from the first that builds over rows on are applied by the tests. */
const first = 15
const files = readdirSync(directory).sort()
const missing = files.filter(name => Number(name.slice(0, 4)) >= first)

/** Creates a database that lacks the last migrations, with a voucher. */
async function createFormerDatabase() {
  const { host, port, user } = inject('server')
  const database = `migrate_${randomBytes(4).toString('hex')}`
  const admin = postgres({ host, port, user, database: 'postgres', max: 1, onnotice: () => {} })
  await admin.unsafe(`create database ${database}`)
  const open = (connection = {}) => postgres({ host, port, user, database, max: 1, onnotice: () => {}, connection })
  const sql = open()
  const migrated = new Postgrator({
    driver: 'pg',
    migrationPattern: join(directory, '*.sql'),
    schemaTable: 'gateway.migration',
    execQuery: async query => ({ rows: await sql.unsafe(query).simple() }),
  })
  await migrated.migrate(String(first - 1))
  await sql`insert into tenant (id, name) values (1, 'Shop')`
  await sql`insert into purchased_voucher (tenant_id, reference) values (1, 'A')`
  const url = `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
  /** Changes the voucher; fails when it waits for a lock for 5 seconds. */
  const write = async () => {
    const writer = open({ lock_timeout: 5_000 })
    await writer`update purchased_voucher set product_title = product_title || 'x'`
    await writer.end()
  }
  onTestFinished(async () => {
    await sql.end()
    await admin.unsafe(`drop database ${database} with (force)`)
    await admin.end()
  })
  return { open, sql, write, environment: { DATABASE_URL: url } }
}

/** Starts `migrate` without waiting for its end. */
function startMigrate(environment: NodeJS.ProcessEnv, ...args: string[]) {
  const { command, args: all, options } = commandProcess(['migrate', ...args], environment)
  const child: ChildProcess = spawn(command, all, options)
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (printed += chunk))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return { child, ended, printed: () => printed }
}

test('killed while it builds an index, it leaves no lock, and the next run goes on', async () => {
  const { sql, write, environment } = await createFormerDatabase()
  // The first index takes a minute.
  await sql.unsafe(`
    create function public.sleep_long() returns event_trigger language plpgsql as $$ begin perform pg_sleep(60); end $$;
    create event trigger sleep_long on ddl_command_end when tag in ('CREATE INDEX') execute function public.sleep_long()`)
  const { child, ended } = startMigrate(environment)
  await expect
    .poll(() => sql`select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`, {
      timeout: 40_000,
    })
    .toHaveLength(1)
  child.kill('SIGKILL')
  await ended
  await write()

  await sql.unsafe('drop event trigger sleep_long')
  expect(await run(['migrate'], environment)).toEqual({
    code: 0,
    stdout: missing.map(name => `applied ${name}\n`).join(''),
    stderr: '',
  })
})

test('killed after some files, it keeps those', async () => {
  const { sql, write, environment } = await createFormerDatabase()
  await sql.unsafe(`
    create function public.sleep_long() returns event_trigger language plpgsql as $$ begin perform pg_sleep(60); end $$;
    create event trigger sleep_long on ddl_command_end when tag in ('CREATE TABLE') execute function public.sleep_long()`)
  const { child, ended } = startMigrate(environment)
  await expect
    .poll(() => sql`select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`, {
      timeout: 40_000,
    })
    .toHaveLength(1)
  child.kill('SIGKILL')
  await ended
  await write()
  await sql.unsafe('drop event trigger sleep_long')
  const { stdout } = await run(['migrate'], environment)
  expect(stdout).toBe(
    missing
      .slice(1)
      .map(name => `applied ${name}\n`)
      .join(''),
  )
})

test('with --json it prints the files that it applied as one JSON object', async () => {
  const { environment } = await createFormerDatabase()
  const outcomes = [await run(['migrate', '--json'], environment), await run(['migrate', '--json'], environment)]
  expect(outcomes).toEqual(
    [missing, []].map(applied => ({ code: 0, stdout: `${JSON.stringify({ applied })}\n`, stderr: '' })),
  )
})

test('it lets writers go first while a transaction holds a lock, names it, and goes on afterwards', async () => {
  const { open, write, environment } = await createFormerDatabase()
  const holder = open({ application_name: 'night batch' })
  const migration = await holder.begin(async transaction => {
    const [own] = await transaction`update purchased_voucher set void = false returning pg_backend_pid() as pid`
    const started = startMigrate(environment, '--wait', '60')
    await expect.poll(started.printed, { timeout: 30_000 }).toContain('Waiting for a lock')
    expect(started.printed()).toContain(`backend ${own?.pid} (application night batch, login `)
    expect(started.printed()).toContain('idle in transaction')
    expect(started.printed()).toContain('update purchased_voucher set void = false')
    // Another row: the holder keeps its own.
    const writer = open({ lock_timeout: 5_000 })
    await writer`insert into purchased_voucher (tenant_id, reference) values (1, 'B')`
    await writer.end()
    return started
  })
  expect(await migration.ended).toBe(0)
  expect(migration.printed()).toContain(`applied ${missing.at(-1)}`)
  await write()
  await holder.end()
})

test('it gives up after the time that --wait sets, and changes nothing', async () => {
  const { open, sql, environment } = await createFormerDatabase()
  const holder = open({ application_name: 'night batch' })
  await holder.begin(async transaction => {
    await transaction`update purchased_voucher set void = false`
    const refused = await run(['migrate', '--wait', '0'], environment)
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toMatch(/^The migration did not get a lock that it needs\. It is held by backend \d+ \(/)
    expect(refused.stderr).toContain('application night batch')
    expect(await sql`select from gateway.migration where version >= ${first}`).toHaveLength(0)
  })
  await holder.end()
  const wrong = await run(['migrate', '--wait', 'long'], environment)
  expect(wrong.code).toBe(2)
})
