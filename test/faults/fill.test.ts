/**
 * A service fills a large database while writers change its rows. The service is killed at random: no write waits for
 * the service, the next service continues the fill, and all records are right at the end. No mapping is installed
 * before the first service starts.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import type postgres from '#postgres'
import type { Pool } from '../../src/db/sql.ts'
import { run, start } from '../support/process.ts'
import { isShort } from './support/form.ts'
import { repeat } from './support/repeat.ts'
import { startFaultServer } from './support/start.ts'
import { createMigrated, writeRecords } from './support/world.ts'

const size = isShort
  ? { vouchers: 20_000, customers: 5_000, products: 2_000, tenants: 100 }
  : { vouchers: 1_000_000, customers: 200_000, products: 50_000, tenants: 1_000 }

const kills = 10

/**
 * The maximum time that a write may wait for the service, in milliseconds. On a busy machine, processes also wait for a
 * core.
 */
const longestWait = isShort ? 1_000 : 200

const plainTables = readFileSync(new URL('../../sql/plain-tables.sql', import.meta.url), 'utf8')

// On average, a kill wastes half a fill. A copy whose fill ends before the kill takes a further fill: some ten fills in
// all.
const timeout = 3_000_000

const server = await startFaultServer({ shared_buffers: '512MB', max_wal_size: '4GB', autovacuum_naptime: '5s' })
const admin = server.open('postgres')
afterAll(() => admin.end())

function insertRows(owner: Pool) {
  const { vouchers, customers, products, tenants } = size
  return owner.unsafe(`
    ${plainTables}
    insert into tenant (name, parent_id) select 'Tenant ' || n, nullif(n / 10, 0) from generate_series(1, ${tenants}) n;
    insert into category (tenant_id, slug, title) select n, 'c', 'Category' from generate_series(1, ${tenants}) n;
    insert into product (tenant_id, slug, title, currency, price)
    select 1 + (n - 1) % ${tenants}, 'p-' || n, 'Product ' || n, 'GBP', 50 from generate_series(1, ${products}) n;
    insert into variant (product_id, slug, title, currency)
    select n, 'v-' || n, 'Variant ' || n, 'GBP' from generate_series(1, ${products}) n;
    insert into product_category select id, tenant_id from product;
    insert into customer (tenant_id, email, full_name, marketing_opted)
    select 1 + (n - 1) % ${tenants}, n || '@example.com', 'Customer ' || n, n % 2 = 0 from generate_series(1, ${customers}) n;
    insert into purchased_voucher (tenant_id, reference, initial_balance, current_balance, currency, product_title)
    select 1 + (n - 1) % ${tenants}, 'OLD-' || n, 50, 50, 'GBP', 'Product ' || n % 100 from generate_series(1, ${vouchers}) n`)
}

await createMigrated(server, 'platform', insertRows, { adopted: null })

const anyOf = (count: number) => 1 + Math.floor(Math.random() * count)

/**
 * Writes of one row. Each writer has separate rows, and separate categories with their products, so no writer waits for
 * another.
 */
const changes: ((sql: postgres.ISql, writer: number) => Promise<unknown>)[] = [
  (sql, writer) => sql`update purchased_voucher set current_balance = 1 where id = ${ownRow(size.vouchers, writer)}`,
  (sql, writer) => sql`update purchased_voucher set product_title = 'x' where id = ${ownRow(size.vouchers, writer)}`,
  (sql, writer) => sql`delete from purchased_voucher where id = ${ownRow(size.vouchers, writer)}`,
  sql => sql`
    insert into purchased_voucher (tenant_id, reference) values (${anyOf(size.tenants)}, gen_random_uuid()::text)`,
  (sql, writer) => sql`update customer set surname = 'x' where id = ${ownRow(size.customers, writer)}`,
  (sql, writer) =>
    sql`update customer set marketing_opted = not marketing_opted where id = ${ownRow(size.customers, writer)}`,
  (sql, writer) => sql`delete from customer where id = ${ownRow(size.customers, writer)}`,
  (sql, writer) => sql`update product set title = title || 'x' where id = ${ownRow(size.products, writer)}`,
  (sql, writer) => sql`update variant set title = title || 'x' where id = ${ownRow(size.products, writer)}`,
  (sql, writer) => sql`update category set title = title || 'x' where id = ${ownRow(size.tenants, writer)}`,
  (sql, writer) => sql`update tenant set name = name || 'x' where id = ${ownRow(size.tenants, writer)}`,
]

const writers = 4

/** The application name of the writers' sessions. Other sessions, such as autovacuum, may wait for longer. */
const platform = 'postgres.js'

const ownRow = (count: number, writer: number) => anyOf(count / writers - 1) * writers + writer

/**
 * Starts writers, which write until they are stopped. The first writer sometimes keeps a transaction open for a second.
 */
function startWriters(database: string) {
  const sql = server.open(database, writers)
  let written = 0
  let slowest = 0
  const write = async (on: postgres.ISql, writer: number) => {
    const began = performance.now()
    await changes[anyOf(changes.length) - 1]!(on, writer)
    slowest = Math.max(slowest, performance.now() - began)
    written += 1
  }
  const writeLong = (writer: number) =>
    sql.begin(async transaction => {
      for (let step = 0; step < 10; step++) {
        await write(transaction, writer)
        await pause(100)
      }
    })
  const stops = Array.from({ length: writers }, (_, writer) =>
    repeat(() => (writer > 0 || Math.random() < 0.99 ? write(sql, writer) : writeLong(writer))),
  )
  return {
    /** Returns the number of writes, and the duration of the slowest write in milliseconds. */
    async stop() {
      await Promise.all(stops.map(stop => stop()))
      await sql.end()
      return { written, slowest: Math.round(slowest) }
    },
  }
}

interface Wait {
  pid: number
  application: string
  blockers: number[]
  ms: number
}

/** Measures, until it is stopped, how long sessions wait for the service, directly or behind other sessions. */
function watchWaits(database: string) {
  const sql = server.open(database)
  let longest = 0
  const stop = repeat(async () => {
    const sessions = await sql<Wait[]>`
      select pid, application_name as application, pg_blocking_pids(pid) as blockers,
             coalesce(extract(epoch from clock_timestamp() - waitstart) * 1000, 0)::float8 as ms
      from pg_stat_activity left join pg_locks using (pid)
      where datname = current_database() and (not granted or application_name = 'voucher-gateway')`
    const blocked = new Set(sessions.filter(each => each.application === 'voucher-gateway').map(({ pid }) => pid))
    for (let size = 0; size < blocked.size; ) {
      size = blocked.size
      for (const { pid, blockers } of sessions) if (blockers.some(each => blocked.has(each))) blocked.add(pid)
    }
    for (const { pid, application, ms } of sessions)
      if (application === platform && blocked.has(pid)) longest = Math.max(longest, ms)
    await pause(5)
  })
  return {
    /** Returns the longest wait of a writer, in milliseconds. */
    async stop() {
      await stop()
      await sql.end()
      return Math.round(longest)
    },
  }
}

/**
 * Runs the service until the fill is done, or kills it after `life` milliseconds. @returns whether the service was
 * killed, and the time of the fill in milliseconds
 */
async function runService(database: string, life: number) {
  const began = performance.now()
  const service = start(['serve'], { DATABASE_URL: server.url(database), PORT: '0', LOG_LEVEL: 'fatal' })
  const killed = () => performance.now() - began > life
  const isFilled = () =>
    server.use(
      database,
      sql => sql`select from (select is_complete from gateway.step order by stamp desc limit 1) last where is_complete`,
    )
  while (!killed() && (await isFilled()).length === 0) await pause(50)
  const took = Math.round(performance.now() - began)
  service.child.kill(killed() ? 'SIGKILL' : 'SIGTERM')
  await service.ended
  return { killed: killed(), took }
}

const indexesOf = (database: string) =>
  server.use(
    database,
    sql => sql`
      select pg_get_indexdef(indexrelid) as text, indisvalid as valid from pg_index
      where indrelid::regclass::text !~ '^pg_' order by 1`,
  )

async function fillCopy(database: string, lives: () => number) {
  await admin.unsafe(`create database ${database} template platform`)
  const work = startWriters(database)
  const waits = watchWaits(database)
  expect((await run(['migrate'], { DATABASE_URL: server.url(database) })).code).toBe(0)
  let kills = 0
  let last = await runService(database, lives())
  for (; last.killed; last = await runService(database, lives())) kills += 1
  const wait = await waits.stop()
  const writes = await work.stop()
  await writeRecords(server, database)
  expect(await run(['verify'], { DATABASE_URL: server.url(database) }, { timeout: 300_000 })).toMatchObject({ code: 0 })
  return { kills, wait, took: last.took, ...writes }
}

test(`no write waits over ${longestWait} ms, and ${kills} kills leave no invalid index`, { timeout }, async () => {
  const whole = await fillCopy('whole', () => Infinity)
  const indexes = await indexesOf('whole')
  expect(indexes.filter(({ valid }) => !valid)).toEqual([])
  const runs = [whole]
  for (let left = kills; left > 0; left -= runs.at(-1)!.kills) {
    const database = `killed_${runs.length}`
    let killed = 0
    runs.push(await fillCopy(database, () => (killed++ < left ? Math.random() * whole.took : Infinity)))
    expect(await indexesOf(database)).toEqual(indexes)
    await admin.unsafe(`drop database ${database}`)
  }
  if (process.env.FAULTS_PRINT) console.table(runs)
  expect(Math.max(...runs.map(({ wait }) => wait))).toBeLessThan(longestWait)
})
