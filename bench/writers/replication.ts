/** Replication: a second server publishes vouchers, to which a database subscribes. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../src/db/sql.ts'
import { startEmbeddedServer } from '../harness/database-server.ts'
import { createDatabase, population } from './databases.ts'

const copiedRowCount = 100_000
/** The ids are higher than the ids of the subscribers' own vouchers. */
const firstId = 1_000_000

const insertQuery = (count: number) => `
  insert into purchased_voucher
    (tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug, date_valid_end)
  select 1 + item % ${population.tenants}, gen_random_uuid(), 50, 50, 'GBP', 'A gift', 'a-gift', '2030-01-01'
  from generate_series(1, ${count}) each (item);`

const insertOneByOneQuery = (count: number) =>
  `do $$ begin for n in 1..${count} loop ${insertQuery(1)} commit; end loop; end $$`

let publisher: ReturnType<typeof startPublisher> | undefined

async function startPublisher() {
  // Commits do not wait for the disk, but the WAL is written immediately: otherwise the server would write and send WAL
  // only every 200 ms.
  const settings = { wal_level: 'logical', synchronous_commit: 'on' }
  const server = await startEmbeddedServer(settings, { durable: false })
  await createDatabase(server, 'plain', true)
  const sql = server.open('plain')
  await sql
    .unsafe(`
    insert into tenant (name) select 'Tenant ' || n from generate_series(1, ${population.tenants}) n;
    select setval('purchased_voucher_id_seq', ${firstId});
    ${insertQuery(copiedRowCount)}
    create publication vouchers for table purchased_voucher;`)
    .simple()
  return { url: server.url('plain'), sql }
}

/** @returns the time until a subscription has applied the written rows, in milliseconds */
export async function timeApplied(source: Pool, target: Pool, write: string): Promise<number> {
  const start = performance.now()
  await source.unsafe(write).simple()
  const [last] = await source`select max(id) as id from purchased_voucher`
  while ((await target`select from purchased_voucher where id = ${last?.id}`).count === 0) await sleep(2)
  return performance.now() - start
}

/**
 * Subscribes a database to the published vouchers.
 *
 * @returns the time of the copy of 100,000 vouchers, and the time of 2,000 transactions with one voucher each, in
 * milliseconds
 */
export async function replicate(sql: Pool): Promise<number[]> {
  publisher ??= startPublisher()
  const { url, sql: source } = await publisher
  await sql.unsafe(`create subscription vouchers connection '${url}' publication vouchers`)
  const copied = await timeApplied(source, sql, 'select')
  // The first transaction waits until the worker of the copy has ended.
  await timeApplied(source, sql, insertOneByOneQuery(1))
  const applied = await timeApplied(source, sql, insertOneByOneQuery(2_000))
  await sql.unsafe('drop subscription vouchers')
  await source`delete from purchased_voucher where id > ${firstId + copiedRowCount}`
  return [copied, applied]
}
