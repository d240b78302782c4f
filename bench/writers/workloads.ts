/** The measured writers, each with the limit of its cost, as a ratio to the tables without capture. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, Sql } from '../../src/db/sql.ts'
import { type Goal, median } from '../harness/goals.ts'
import { rotated } from '../harness/rounds.ts'
import { type Copy, population, writers } from './databases.ts'
import { replicate } from './replication.ts'

/** A figure with its goal. The goal is a bound of the ratio to the tables without capture, or of the figure itself. */
interface Figure {
  unit: 'µs' | '/s' | 'ms' | 'bytes' | '%'
  goal: Goal
  isValue?: boolean
}

/** A measurement in one database. */
interface Workload {
  name: string
  figures: Record<string, Figure>
  /**
   * The number of measurements in a round, in turns with the other database. The median of these measurements is used.
   */
  slices: number
  /** @returns the value of each figure, in their order */
  measure(copy: Copy, slice: number): Promise<number[]>
}

/** Measures a workload in several databases in turns. @returns the medians of the figures in each database */
export async function measureInTurns(workload: Workload, copies: Copy[], round: number): Promise<number[][]> {
  const slices = copies.map((): number[][] => [])
  for (let slice = 0; slice < workload.slices; slice++) {
    for (const index of rotated([...copies.keys()], round + slice)) {
      slices[index]!.push(await workload.measure(copies[index]!, slice))
    }
  }
  return slices.map(values => Object.keys(workload.figures).map((_, place) => median(values.map(each => each[place]!))))
}

/** One transaction of a writer. `turn` counts the transactions of each writer from 0. */
type Transaction = (sql: Pool, writer: number, turn: number) => Promise<unknown>

const bulk = 20_000
/** Each writer updates and deletes its own vouchers, so that writers do not wait for each other. */
const ownId = (writer: number, turn: number) => 1 + writer + writers * ((turn * 7919) % (bulk / writers))

const columns = `
  tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug, date_valid_end`

const insertOne = (sql: Sql, reference: string) => sql`
  insert into purchased_voucher (${sql.unsafe(columns)})
  values (1, ${reference}, 50, 50, 'GBP', 'A gift', 'a-gift', '2030-01-01')`

const updateOne = (sql: Sql, id: number) =>
  sql`update purchased_voucher set current_balance = current_balance + 1 where id = ${id}`

/**
 * All writers repeat a transaction. The first transactions are not measured, because they prepare statements and compile
 * functions.
 *
 * @param goals the goals of the processor time and of the rate
 */
const createRepeatedWorkload = (name: string, goals: [Goal, Goal], transaction: Transaction, count = 50): Workload => ({
  name,
  figures: { 'processor time': { unit: 'µs', goal: goals[0] }, rate: { unit: '/s', goal: goals[1] } },
  slices: 12,
  async measure({ sessions, processorTime }, slice) {
    const run = (from: number) =>
      Promise.all(
        sessions.map(async (sql, writer) => {
          for (let turn = from; turn < from + count; turn++) await transaction(sql, writer, turn)
        }),
      )
    if (slice === 0) await run(0)
    const [start, used] = [performance.now(), processorTime()]
    await run((slice + 1) * count)
    const transactions = writers * count
    return [((processorTime() - used) / transactions) * 1e6, transactions / ((performance.now() - start) / 1000)]
  },
})

const createTimedWorkload = (name: string, goal: Goal, write: (sql: Pool) => Promise<unknown>): Workload => ({
  name,
  figures: { time: { unit: 'ms', goal } },
  slices: 1,
  async measure({ sessions: [sql] }) {
    const start = performance.now()
    await write(sql!)
    return [performance.now() - start]
  },
})

async function copyMany(sql: Pool): Promise<void> {
  const line = (n: number) => `${1 + (n % population.tenants)}\tCOPY-${n}\t50\t50\tGBP\tA gift\ta-gift\t2030-01-01\n`
  const target = await sql.unsafe(`copy purchased_voucher (${columns}) from stdin`).writable()
  await pipeline(Readable.from([Array.from({ length: bulk }, (_, n) => line(n)).join('')]), target)
}

/** The WAL of the update of one row, when its pages were written since the last checkpoint. */
async function measureWal({ sessions: [sql] }: Copy): Promise<number[]> {
  const rows = 1000
  const update = () =>
    sql!.unsafe(`do $$ begin
      for n in 1..${rows} loop
        update purchased_voucher set current_balance = current_balance + 1 where id = n * 20;
        commit;
      end loop;
    end $$`)
  await update()
  const [begun] = await sql!<[{ lsn: string }]>`select pg_current_wal_insert_lsn()::text as lsn`
  await update()
  const [{ bytes }] = await sql!<[{ bytes: number }]>`
    select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), ${begun.lsn}::pg_lsn)::float8 as bytes`
  return [bytes / rows]
}

/**
 * The share of SERIALIZABLE insertions that fail, in percent. Updates also fail without capture, because their rows
 * share pages.
 */
async function measureConflicts(copy: Copy): Promise<number[]> {
  const [turns, serializationFailure] = [100, '40001']
  let failed = 0
  await Promise.all(
    copy.sessions.map(async (sql, writer) => {
      for (let turn = 0; turn < turns; turn++) {
        try {
          await sql.begin('isolation level serializable', async transaction => {
            await insertOne(transaction, `SERIALIZABLE-${writer}-${turn}`)
            await sleep(8)
          })
        } catch (error) {
          if (!(error instanceof Error && 'code' in error && error.code === serializationFailure)) throw error
          failed++
        }
      }
    }),
  )
  return [(failed / (turns * writers)) * 100]
}

/** All workloads, in the order in which they run in one copy of the database. */
export const workloads: Workload[] = [
  createRepeatedWorkload('insert of one row', ['≤ 1.2', '≥ 0.85'], (sql, writer, turn) =>
    insertOne(sql, `NEW-${writer}-${turn}`),
  ),
  createRepeatedWorkload('update of one row', ['≤ 1.2', '≥ 0.85'], (sql, writer, turn) =>
    updateOne(sql, ownId(writer, turn)),
  ),
  createRepeatedWorkload(
    'delete of one row',
    ['≤ 1.2', '≥ 0.8'],
    (sql, writer, turn) => sql`delete from purchased_voucher where id = ${bulk + ownId(writer, turn)}`,
  ),
  createRepeatedWorkload(
    'three statements with pauses of 3 ms',
    ['≤ 1.3', '≥ 0.95'],
    (sql, writer, turn) =>
      sql.begin(async transaction => {
        await insertOne(transaction, `PAUSED-${writer}-${turn}`)
        await sleep(3)
        await updateOne(transaction, ownId(writer, turn))
        await sleep(3)
        await updateOne(transaction, ownId(writer, turn + 1))
      }),
    10,
  ),
  {
    name: 'update of one row, without full pages',
    figures: { WAL: { unit: 'bytes', goal: '≤ 400', isValue: true } },
    slices: 1,
    measure: measureWal,
  },
  {
    name: 'SERIALIZABLE insert that stays open for 8 ms',
    figures: { failures: { unit: '%', goal: '≤ 0', isValue: true } },
    slices: 1,
    measure: measureConflicts,
  },
  createTimedWorkload('insert of 20,000 rows', '≤ 1.5', sql =>
    sql.unsafe(`
      insert into purchased_voucher (${columns})
      select 1 + n % ${population.tenants}, 'MANY-' || n, 50, 50, 'GBP', 'A gift', 'a-gift', '2030-01-01'
      from generate_series(1, ${bulk}) n`),
  ),
  createTimedWorkload('COPY of 20,000 rows', '≤ 1.5', copyMany),
  createTimedWorkload(
    'update of 20,000 rows',
    '≤ 1.6',
    sql => sql`update purchased_voucher set current_balance = current_balance + 1 where id <= ${bulk}`,
  ),
  {
    name: 'replication',
    figures: {
      'copy of 100,000 rows': { unit: 'ms', goal: '≤ 1.6' },
      '2,000 transactions': { unit: 'ms', goal: '≤ 1.1' },
    },
    slices: 1,
    measure: ({ sessions: [sql] }) => replicate(sql!),
  },
]
