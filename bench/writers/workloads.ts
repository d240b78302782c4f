import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Pool, Sql } from '../../src/db/connect.ts'
import { population } from './databases.ts'

/** How many sessions write at once. */
export const writers = 4

/** What is measured: transactions a second of several writers, or the seconds that one transaction takes. */
export type Workload = {
  name: string
} & (
  | { kind: 'throughput'; transaction: (sql: Sql, writer: number, turn: number) => Promise<unknown> }
  | { kind: 'time'; transaction: (sql: Pool) => Promise<unknown> }
)

/** The call that takes the write marker at the start of a transaction. */
export const takeWriteMarker = 'gateway.announce_bulk_write()'

const bulk = 20_000

const tenantOf = (turn: number) => 1 + (turn % population.tenants)
const reference = (writer: number, turn: number) => `NEW-${writer}-${turn}`

const insertOne = (sql: Sql, tenant: number, named: string) => sql`
  insert into purchased_voucher
    (tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug, date_valid_end)
  values (${tenant}, ${named}, 50, 50, 'GBP', 'A gift', 'a-gift', '2030-01-01')`

const insertMany = (sql: Sql, named: string, count: number) => sql`
  insert into purchased_voucher
    (tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug, date_valid_end)
  select 1 + n % ${population.tenants}::int, ${named} || '-' || n, 50, 50, 'GBP', 'A gift', 'a-gift', '2030-01-01'
  from generate_series(1, ${count}::int) n`

const copyText = (named: string) =>
  Array.from(
    { length: bulk },
    (_, turn) => `${tenantOf(turn)}\t${named}-${turn}\t50\t50\tGBP\tA gift\ta-gift\t2030-01-01\n`,
  ).join('')

/** Transactions of many rows. Each runs twice on a copy, so the references of each run have a prefix. */
const loads: { name: string; prepare: (named: string) => (sql: Sql) => Promise<unknown> }[] = [
  { name: 'insert … select of 20,000 rows', prepare: named => sql => insertMany(sql, `BULK-${named}`, bulk) },
  {
    name: 'copy of 20,000 rows',
    prepare: named => {
      const text = copyText(`COPY-${named}`)
      return async sql => {
        const target = await sql`
          copy purchased_voucher
            (tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug,
             date_valid_end)
          from stdin`.writable()
        await pipeline(Readable.from([text]), target)
      }
    },
  },
  {
    name: 'update of 20,000 rows',
    prepare: () => sql =>
      sql`update purchased_voucher set current_balance = current_balance + 1 where id <= ${population.vouchers}`,
  },
]

const plainLoads = loads.map(({ name, prepare }): Workload => ({ name, kind: 'time', transaction: prepare('plain') }))
const markedLoads = loads.map(({ name, prepare }): Workload => {
  const load = prepare('marked')
  return {
    name: `${name}, after \`${takeWriteMarker}\``,
    kind: 'time',
    transaction: pool =>
      pool.begin(async sql => {
        await sql.unsafe(`select ${takeWriteMarker}`)
        await load(sql)
      }),
  }
})

/** All workloads. Each writer updates vouchers of its own, so that none waits for another's row. */
export const workloads: Workload[] = [
  {
    name: 'insert of one row',
    kind: 'throughput',
    transaction: (sql, writer, turn) => insertOne(sql, tenantOf(turn), reference(writer, turn)),
  },
  {
    name: 'update of one row',
    kind: 'throughput',
    transaction: (sql, writer, turn) => {
      const id = 1 + writer + writers * ((turn * 7919) % Math.floor(population.vouchers / writers))
      return sql`update purchased_voucher set current_balance = current_balance + 1 where id = ${id}`
    },
  },
  {
    name: 'insert of ten rows, one statement',
    kind: 'throughput',
    transaction: (sql, writer, turn) => insertMany(sql, `TEN${reference(writer, turn)}`, 10),
  },
  {
    name: 'ten inserts of one row, one transaction',
    kind: 'throughput',
    transaction: async (sql, writer, turn) => {
      await sql`begin`
      for (let n = 0; n < 10; n++) await insertOne(sql, tenantOf(turn), `MANY${reference(writer, turn * 10 + n)}`)
      await sql`commit`
    },
  },
  ...plainLoads,
  ...markedLoads,
]

// Until then statements are prepared and the triggers' functions compiled.
const warmingTurns = 30

/**
 * Runs a workload once.
 *
 * @param connections one for each writer
 * @param options.seconds how long transactions are counted, when the workload is measured by throughput
 * @returns transactions a second, or seconds
 */
export async function measure(workload: Workload, connections: Pool[], options: { seconds: number }): Promise<number> {
  if (workload.kind === 'time') {
    const start = performance.now()
    await workload.transaction(connections[0]!)
    return (performance.now() - start) / 1000
  }
  // References stay unique when a workload runs more than once on the same copy.
  const first = Math.floor(performance.now()) * 1000
  const turns = connections.map(() => first)
  const write = (isRunning: (turn: number) => boolean) =>
    Promise.all(
      connections.map(async (connection, writer) => {
        while (isRunning(turns[writer]!)) await workload.transaction(connection, writer, turns[writer]!++)
      }),
    )
  await write(turn => turn < first + warmingTurns)
  const start = performance.now()
  const end = start + options.seconds * 1000
  await write(() => performance.now() < end)
  const seconds = (performance.now() - start) / 1000
  return turns.reduce((sum, turn) => sum + turn - first - warmingTurns, 0) / seconds
}
