/** Measures a subscription: a second server publishes vouchers, without the gateway's triggers and indexes. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../src/db/sql.ts'
import { type DatabaseServer, startTemporaryServer } from '../harness/database-server.ts'
import { type Connections, population } from './databases.ts'

const rows = 100_000
const transactions = 2_000
/** The ids are higher than the ids of the subscribers' own vouchers. */
const first = 1_000_000

const insert = (ids: string) => `
  insert into purchased_voucher
    (id, tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug, date_valid_end)
  select id, 1 + id % ${population.tenants}, 'PUB-' || id, 50, 50, 'GBP', 'A gift', 'a-gift', '2030-01-01'
  from ${ids} each (id);`

const writeTransactions = (ids: { from: number; to: number }) => `do $$ begin
  for n in ${ids.from}..${ids.to} loop
    ${insert('(values (n))')}
    commit;
  end loop;
end $$`

let publisher: Promise<{ server: DatabaseServer; sql: Pool }> | undefined

async function startPublisher() {
  const settings = { wal_level: 'logical' }
  const server = await startTemporaryServer({ sharedBuffers: '128MB', durable: false, settings })
  const sql = server.open('postgres')
  await sql.unsafe(readFileSync(new URL('../../sql/0001.do.platform.sql', import.meta.url), 'utf8')).simple()
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
 * Subscribes a database to the publisher's vouchers until the last of them is applied.
 *
 * @param copied whether the vouchers that exist are copied; otherwise the publisher writes new ones
 * @returns the time that it took, in milliseconds; for new ones from the time when the first of them is applied
 */
async function replicate([sql]: Connections, copied: boolean): Promise<number> {
  publisher ??= startPublisher()
  const { server, sql: source } = await publisher
  const { host, port, user, database } = server.address('postgres')
  const applied = async (id: number) => {
    while ((await sql`select from purchased_voucher where id = ${id}`).count === 0) await sleep(2)
  }
  const last = first + rows
  let start = performance.now()
  await sql.unsafe(`create subscription vouchers
    connection 'host=${host} port=${port} user=${user} dbname=${database}' publication vouchers with (copy_data = ${copied})`)
  if (copied) await applied(last)
  else {
    await source.unsafe(writeTransactions({ from: last + 1, to: last + 1 }))
    await applied(last + 1)
    start = performance.now()
    await source.unsafe(writeTransactions({ from: last + 2, to: last + 1 + transactions }))
    await applied(last + 1 + transactions)
  }
  const end = performance.now()
  await sql.unsafe('drop subscription vouchers')
  await source`delete from purchased_voucher where id > ${last}`
  return end - start
}

export const replicatedCopy = (connections: Connections): Promise<number> => replicate(connections, true)
export const replicatedTransactions = (connections: Connections): Promise<number> => replicate(connections, false)
