import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Pool, Sql } from '../../src/db/sql.ts'
import { type Connections, population } from './databases.ts'
import { replicatedCopy, replicatedTransactions } from './replication.ts'

/** The number of sessions that write at once. */
export const writers = 4

/** The measurement in each contender's database. */
export interface Workload {
  name: string
  unit: '/s' | 'ms' | 'bytes'
  /** The share of the bare rate that must be left, the most times of the bare time, or the most bytes. */
  limit?: number
  /** @param seconds how long a rate is measured */
  measure(connections: Connections, seconds: number): Promise<number>
}

/** The call that takes the write marker at the start of a transaction. */
export const takeWriteMarker = 'gateway.announce_bulk_write()'

const bulk = 20_000

/** One transaction of a writer. `turn` counts each writer's transactions from 0. */
type Transaction = (sql: Sql, writer: number, turn: number) => Promise<unknown>

const insertOne: Transaction = (sql, writer, turn) => sql`
  insert into purchased_voucher
    (tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug, date_valid_end)
  values (${1 + (turn % population.tenants)}, ${`NEW-${writer}-${turn}`}, 50, 50, 'GBP', 'A gift', 'a-gift',
          '2030-01-01')`

// Each writer updates and deletes vouchers of its own, so that none waits for another's row.
const own = bulk / writers

/** Updates a voucher of the first half. */
export const updateOne: Transaction = (sql, writer, turn) => sql`
  update purchased_voucher set current_balance = current_balance + 1
  where id = ${1 + writer + writers * ((turn * 7919) % own)}`

const deleteOne: Transaction = async (sql, writer, turn) => {
  const { count } = await sql`
    delete from purchased_voucher where id = ${bulk + 1 + writer + writers * ((turn * 7919) % own)}`
  if (count === 0) throw new Error('There are no more vouchers to delete: run it for less time.')
}

const insertMany = (sql: Sql, named: string, count: number) => sql`
  insert into purchased_voucher
    (tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug, date_valid_end)
  select 1 + n % ${population.tenants}::int, ${named} || '-' || n, 50, 50, 'GBP', 'A gift', 'a-gift', '2030-01-01'
  from generate_series(1, ${count}::int) n`

async function copyMany(sql: Sql, named: string): Promise<void> {
  const line = (n: number) =>
    `${1 + (n % population.tenants)}\t${named}-${n}\t50\t50\tGBP\tA gift\ta-gift\t2030-01-01\n`
  const target = await sql`
    copy purchased_voucher
      (tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug, date_valid_end)
    from stdin`.writable()
  await pipeline(Readable.from([Array.from({ length: bulk }, (_, n) => line(n)).join('')]), target)
}

const updateMany = (sql: Sql) =>
  sql`update purchased_voucher set current_balance = current_balance + 1 where id <= ${bulk}`

// Until then statements are prepared and the triggers' functions compiled.
const warmingTurns = 30

/** @returns how many transactions a second several writers commit, each on its connection */
export async function measureRate(transaction: Transaction, connections: Pool[], seconds: number): Promise<number> {
  const turns = connections.map(() => 0)
  const write = (isRunning: (turn: number) => boolean) =>
    Promise.all(
      connections.map(async (connection, writer) => {
        while (isRunning(turns[writer]!)) await transaction(connection, writer, turns[writer]!++)
      }),
    )
  await write(turn => turn < warmingTurns)
  const start = performance.now()
  await write(() => performance.now() < start + seconds * 1000)
  const counted = turns.reduce((sum, turn) => sum + turn - warmingTurns, 0)
  return (counted / (performance.now() - start)) * 1000
}

const rate = (name: string, limit: number | undefined, transaction: Transaction): Workload => ({
  name,
  unit: '/s',
  ...(limit !== undefined && { limit }),
  measure: (connections, seconds) => measureRate(transaction, connections, seconds),
})

/** Two workloads: a load without an announcement, and the same load with one. */
const load = (name: string, limit: number, write: (sql: Sql, named: string) => Promise<unknown>): Workload[] => {
  const timed = async (work: () => Promise<unknown>) => {
    const start = performance.now()
    await work()
    return performance.now() - start
  }
  return [
    { name, unit: 'ms', limit, measure: ([sql]) => timed(() => write(sql, `${name} plain`)) },
    {
      name: `${name}, announced`,
      unit: 'ms',
      limit: 1.6,
      measure: ([pool]) =>
        timed(() =>
          pool.begin(async sql => {
            await sql.unsafe(`select ${takeWriteMarker}`)
            await write(sql, `${name} announced`)
          }),
        ),
    },
  ]
}

/** The WAL that the update of one row writes when its pages were written since the last checkpoint. */
const walOfUpdate: Workload = {
  name: 'WAL of an update of one row, without full pages',
  unit: 'bytes',
  limit: 900,
  async measure([sql]) {
    const rows = 1000
    const update = sql.unsafe.bind(
      sql,
      `do $$ begin
      for n in 1..${rows} loop
        update purchased_voucher set current_balance = current_balance + 1 where id = n * 20;
        commit;
      end loop;
    end $$`,
    )
    await sql`set synchronous_commit = off`
    await update()
    const [begun] = await sql<{ lsn: string }[]>`select pg_current_wal_insert_lsn()::text as lsn`
    await update()
    const [row] = await sql<{ bytes: number }[]>`
      select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), ${begun!.lsn}::pg_lsn)::float8 as bytes`
    await sql`reset synchronous_commit`
    return row!.bytes / rows
  },
}

/** All workloads, in the order in which they run on a copy. */
export const workloads: Workload[] = [
  rate('insert of one row', 0.8, insertOne),
  rate('update of one row', 0.75, updateOne),
  rate('delete of one row', 0.7, deleteOne),
  rate('insert of ten rows', undefined, (sql, writer, turn) => insertMany(sql, `TEN-${writer}-${turn}`, 10)),
  walOfUpdate,
  ...load('insert of 20,000 rows', 2.7, (sql, named) => insertMany(sql, named, bulk)),
  ...load('COPY of 20,000 rows', 2.7, copyMany),
  ...load('update of 20,000 rows', 6, updateMany),
  { name: 'replicated copy of 100,000 rows', unit: 'ms', limit: 3, measure: replicatedCopy },
  { name: '2,000 replicated transactions', unit: 'ms', limit: 1.6, measure: replicatedTransactions },
]
