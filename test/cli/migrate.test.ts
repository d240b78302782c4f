/** `migrate` beside writers: it gives way to them, and leaves no lock and no invalid index when it is killed. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import postgres from '#postgres'
import { connect } from '../../src/db/connect.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { run, start } from '../support/process.ts'

const files = readdirSync(join(import.meta.dirname, '../../sql')).sort()
const versionOf = (name: string) => Number(name.slice(0, 4))
/** The first file with triggers on tables that writers use all the time, and the first that creates indexes on them. */
const lists = versionOf(files.find(name => name.includes('.list.'))!)
const indexes = versionOf(files.find(name => name.includes('.index.'))!)
const from = (first: number) => files.filter(name => versionOf(name) >= first)
const printedFor = (names: string[]) => names.map(name => `applied ${name}\n`).join('')

/** Creates a database that lacks the migrations from a version on, with a voucher. */
async function createFormerDatabase(first = lists) {
  const { address, url } = await createEmptyDatabase()
  const open = (connection = {}) => postgres({ ...address, max: 1, onnotice: () => {}, connection })
  const owner = connect(address, { max: 2, statementTimeoutMs: 60_000 })
  await migrate(owner, { last: first - 1 })
  const sql = open()
  await sql`insert into tenant (id, name) values (1, 'Shop')`
  await sql`insert into product (id, tenant_id, slug, title, currency) values (1, 1, 'a', 'Product', 'GBP')`
  await sql`insert into purchased_voucher (id, tenant_id, reference) values (1, 1, 'A')`
  /** Writes other rows of the tables than a transaction keeps; fails when it waits for a lock for 5 seconds. */
  const write = async () => {
    const writer = open({ lock_timeout: 5_000 })
    for (const change of writes) await writer.unsafe(change).simple()
    await writer.end()
  }
  onTestFinished(async () => {
    await sql.end()
    await owner.end()
  })
  return { open, owner, sql, write, environment: { DATABASE_URL: url } }
}

/** The writes of a platform, each in a transaction of its own. */
const writes = [
  `insert into tenant (id, name) values (2, 'Other')`,
  `insert into tenant (id, parent_id, name) values (3, 2, 'Below')`,
  `insert into category (id, tenant_id, slug, title) values (2, 2, 'b', 'Category')`,
  `insert into product (id, tenant_id, slug, title, currency) values (2, 2, 'b', 'Product', 'GBP')`,
  `insert into product_category values (2, 2)`,
  `insert into variant (id, product_id, slug, title, currency) values (2, 2, 'b', 'Variant', 'GBP')`,
  `insert into customer (id, tenant_id, marketing_opted) values (2, 2, true), (3, 2, false)`,
  `insert into purchased_voucher (id, tenant_id, reference) select n, 2, 'B' || n from generate_series(2, 3000) n`,
  // So long that its stamps are planned ahead.
  `update tenant set name = name || 'x' where id = 2; select pg_sleep(0.06); update tenant set name = name || 'x' where id = 2;
   update purchased_voucher set product_title = 'x' where id > 1; update customer set surname = 'x'`,
  `update tenant set parent_id = null where id = 3`,
  `update category set title = title || 'x' where id = 2`,
  `update variant set title = title || 'x' where id = 2`,
  `set gateway.keep_updated_at = on; update product set title = title || 'x' where id = 2; reset gateway.keep_updated_at`,
  `delete from purchased_voucher where id > 1`,
  `delete from customer`,
  `delete from variant; delete from product where id = 2; delete from category; delete from tenant where id in (2, 3)`,
]

/** Lets `migrate` sleep after its first statement of a kind, kills it there, and lets later ones go on. */
async function killAfter(statement: string, { sql, environment }: Awaited<ReturnType<typeof createFormerDatabase>>) {
  await sql.unsafe(`
    create function public.sleep_long() returns event_trigger language plpgsql as $$ begin perform pg_sleep(60); end $$;
    create event trigger sleep_long on ddl_command_end when tag in ('${statement}') execute function public.sleep_long()`)
  const { child, ended } = start(['migrate'], environment)
  await expect
    .poll(() => sql`select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`, {
      timeout: 40_000,
    })
    .toHaveLength(1)
  child.kill('SIGKILL')
  await ended
  await sql.unsafe('drop event trigger sleep_long')
}

test('between any two files, the platform can write', async () => {
  const { owner, write } = await createFormerDatabase(2)
  for (const file of from(2)) {
    expect(await migrate(owner, { last: versionOf(file) })).toEqual([file])
    await write()
  }
})

test.each([
  ['while it has locked tables, it leaves no lock', 'CREATE TRIGGER', lists],
  ['after some files, it keeps those', 'CREATE TABLE', lists + 1],
])('killed %s, and the next run goes on', async (_, statement, first) => {
  const database = await createFormerDatabase()
  await killAfter(statement, database)
  await database.write()
  expect(await run(['migrate'], database.environment)).toEqual({ code: 0, stdout: printedFor(from(first)), stderr: '' })
})

test('killed while an index waits for a transaction, which it names, it makes that index again', async () => {
  const { open, sql, write, environment } = await createFormerDatabase(indexes)
  const invalid = () => sql`select indexrelid::regclass::text as name from pg_index where not indisvalid`
  const holder = open({ application_name: 'night batch' })
  await holder.begin(async transaction => {
    await transaction`update product set title = 'Held' where id = 1`
    const { child, ended, printed } = start(['migrate'], environment)
    await expect.poll(printed, { timeout: 30_000 }).toContain('Waiting for a lock that is held by backend')
    expect(printed()).toContain('application night batch')
    await write()
    child.kill('SIGKILL')
    await ended
    // Until the server has noticed that, the build could still end.
    await expect
      .poll(() => sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
      .toHaveLength(0)
    expect(await invalid()).toHaveLength(1)
  })
  await holder.end()
  expect(await run(['migrate'], environment)).toEqual({ code: 0, stdout: printedFor(from(indexes)), stderr: '' })
  expect(await invalid()).toEqual([])
})

test('it fails when the server ends its session', async () => {
  const { open, sql, environment } = await createFormerDatabase(indexes)
  const holder = open()
  await holder.begin(async transaction => {
    await transaction`update product set title = 'Held' where id = 1`
    const { ended, printed } = start(['migrate'], environment)
    await expect.poll(printed, { timeout: 30_000 }).toContain('Waiting for a lock')
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'voucher-gateway' and wait_event_type = 'Lock'`
    expect(await ended).toBe(1)
    expect(printed()).toContain('The database has closed the connection.')
  })
  await holder.end()
})

test('of two at a time, one waits for the other', async () => {
  const { sql, environment } = await createFormerDatabase()
  const outcomes = await Promise.all([run(['migrate'], environment), run(['migrate'], environment)])
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0])
  const printed = outcomes.map(({ stdout }) => stdout).sort()
  expect(printed).toEqual(['The database is up to date.\n', printedFor(from(lists))].sort())
  expect(await sql`select from gateway.migration`).toHaveLength(files.length)
})

test('with --json it prints the files that it applied as one JSON object', async () => {
  const { environment } = await createFormerDatabase()
  const outcomes = [await run(['migrate', '--json'], environment), await run(['migrate', '--json'], environment)]
  expect(outcomes).toEqual(
    [from(lists), []].map(applied => ({ code: 0, stdout: `${JSON.stringify({ applied })}\n`, stderr: '' })),
  )
})

test('while a transaction holds a lock, the command names it, lets writers go first, and goes on afterwards', async () => {
  const { open, write, environment } = await createFormerDatabase()
  const holder = open({ application_name: 'night batch' })
  const migration = await holder.begin(async transaction => {
    const [own] = await transaction`
      update purchased_voucher set void = false where id = 1 returning pg_backend_pid() as pid`
    const started = start(['migrate', '--wait', '60'], environment)
    await expect.poll(started.printed, { timeout: 30_000 }).toContain(`held by backend ${own?.pid}`)
    expect(started.printed()).toContain(`backend ${own?.pid} (application night batch, login `)
    expect(started.printed()).toContain('idle in transaction')
    expect(started.printed()).toContain('update purchased_voucher set void = false')
    await write()
    return started
  })
  expect(await migration.ended).toBe(0)
  expect(migration.printed()).toContain(`applied ${files.at(-1)}`)
  await write()
  await holder.end()
})

test('it gives up after the time that --wait sets, and changes nothing', async () => {
  const { open, sql, environment } = await createFormerDatabase()
  const holder = open({ application_name: 'night batch' })
  await holder.begin(async transaction => {
    await transaction`update purchased_voucher set void = false`
    const refused = await run(['migrate', '--wait', '1'], environment)
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toMatch(/\nThe migration did not get a lock that it needs\. It is held by backend \d+ \(/)
    expect(refused.stderr).toContain('application night batch')
    expect(await sql`select from gateway.migration where version >= ${lists}`).toHaveLength(0)
  })
  await holder.end()
  const wrong = await run(['migrate', '--wait', 'long'], environment)
  expect(wrong.code).toBe(2)
})
