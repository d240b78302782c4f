/** Replication: a second server publishes vouchers, to which a database subscribes. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../src/db/sql.ts'
import { type DatabaseServer, startTemporaryServer } from '../harness/database-server.ts'
import { createDatabase, population } from './databases.ts'

const [rows, transactions] = [100_000, 2_000]
/** The ids are higher than the ids of the subscribers' own vouchers. */
const first = 1_000_000

const insert = (ids: string) => `
  insert into purchased_voucher
    (id, tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug, date_valid_end)
  select id, 1 + id % ${population.tenants}, 'PUB-' || id, 50, 50, 'GBP', 'A gift', 'a-gift', '2030-01-01'
  from ${ids} each (id);`

let publisher: Promise<{ server: DatabaseServer; sql: Pool }> | undefined

async function startPublisher() {
  // Commits do not wait for the disk, but the log is written immediately: otherwise the server would write and send it
  // only each 200 ms.
  const settings = { wal_level: 'logical', synchronous_commit: 'on' }
  const server = await startTemporaryServer({ sharedBuffers: '128MB', durable: false, settings })
  await createDatabase(server, 'plain', true)
  const sql = server.open('plain')
  await sql
    .unsafe(`
    insert into tenant (name) select 'Tenant ' || n from generate_series(1, ${population.tenants}) n;
    ${insert(`generate_series(${first + 1}, ${first + rows})`)}
    create publication vouchers for table purchased_voucher;`)
    .simple()
  return { server, sql }
}

/** Stops the publisher, if a workload has started it. */
export async function stopPublisher(): Promise<void> {
  if (publisher === undefined) return
  const { server, sql } = await publisher
  await sql.end()
  await server.stop()
}

/**
 * Subscribes a database to the published vouchers.
 *
 * @returns the time that the copy of 100,000 vouchers took, and then 2,000 transactions of one voucher, in milliseconds
 */
export async function replicate(sql: Pool): Promise<number[]> {
  publisher ??= startPublisher()
  const { server, sql: source } = await publisher
  const { host, port, user, database } = server.address('plain')
  const last = first + rows
  const untilApplied = async (id: number) => {
    while ((await sql`select from purchased_voucher where id = ${id}`).count === 0) await sleep(2)
  }
  const write = async (from: number, to: number) => {
    await source.unsafe(`do $$ begin
      for n in ${from}..${to} loop
        ${insert('(values (n))')}
        commit;
      end loop;
    end $$`)
    await untilApplied(to)
  }
  const times: number[] = []
  const time = async (work: Promise<void>) => {
    const start = performance.now()
    await work
    times.push(performance.now() - start)
  }
  await sql.unsafe(`create subscription vouchers
    connection 'host=${host} port=${port} user=${user} dbname=${database}' publication vouchers`)
  await time(untilApplied(last))
  // The first transaction waits until the worker of the copy has ended.
  await write(last + 1, last + 1)
  await time(write(last + 2, last + 1 + transactions))
  await sql.unsafe('drop subscription vouchers')
  await source`delete from purchased_voucher where id > ${last}`
  return times
}
