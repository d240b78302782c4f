import { setTimeout as pause } from 'node:timers/promises'
import type postgres from '#postgres'
import { createMark } from './mark.ts'
import type { Random } from './random.ts'
import { type Address, insertOnlyRole, type KnownIds, open } from './seed.ts'

export type Transaction = postgres.TransactionSql

/** The work of writers at a platform. The numbers are the numbers of written rows. */
export interface Work {
  /** Runs one statement, or a few statements that belong together. @param checked true when foreign keys are checked */
  change(sql: Transaction, random: Random, checked: boolean): Promise<number>
  /** Writes many rows. */
  load(sql: Transaction, random: Random, checked: boolean): Promise<number>
  /** Makes a record leave a list and return in a later transaction, after a short or no pause. */
  leaveAndReturn(sql: postgres.Sql, random: Random): Promise<void>
}

const noCounts = {
  transactions: 0,
  rows: 0,
  long: 0,
  rolledBack: 0,
  savepoints: 0,
  prepared: 0,
  loads: 0,
  /** The number of transactions in sessions with `session_replication_role = replica`. */
  replica: 0,
  /** The number of transactions under REPEATABLE READ or SERIALIZABLE. */
  snapshot: 0,
  /** The number of transactions in which a record returned that an earlier transaction had removed from a list. */
  returned: 0,
  terminated: 0,
  /** The number of transactions that ended with a lock timeout, a deadlock, a constraint or a serialization failure. */
  failed: 0,
}
export type WriterCounts = typeof noCounts

export interface WriterOptions {
  address: Address
  work: Work
  /** True when the writer writes to a publisher, whose changes a subscription applies. */
  isPublisher?: boolean
  random: Random
  /** The maximum duration of a transaction, in seconds. */
  longest: number
  counts: WriterCounts
  stop: AbortSignal
}

export const createWriterCounts = (): WriterCounts => ({ ...noCounts })

class Rollback extends Error {}

let prepared = 0

/** Returns a random duration of a transaction, in milliseconds. Most are short, a few take up to the maximum time. */
function randomLength({ random, longest }: Pick<WriterOptions, 'random' | 'longest'>): number {
  const at = random.next()
  if (at < 0.8) return 0
  if (at < 0.94) return 3 + random.below(Math.min(400, longest * 1000))
  return random.below(longest * 1000)
}

interface Plan {
  length: number
  /** True when foreign keys are checked; an applier does not check them. */
  checked: boolean
}

async function makeChanges(sql: Transaction, options: WriterOptions, { length, checked }: Plan): Promise<number> {
  const { random, counts, work } = options
  const steps = 1 + random.below(4)
  let rows = 0
  for (let step = 0; step < steps; step += 1) {
    if (random.chance(0.15)) {
      counts.savepoints += 1
      const kept = random.chance(0.5)
      await sql
        .savepoint(async inner => {
          const count = await work.change(inner, random, checked)
          if (length > 0 && random.chance(0.5)) await pause(length / steps / 2)
          if (!kept) throw new Rollback()
          rows += count
        })
        .catch(error => {
          if (!(error instanceof Rollback)) throw error
        })
    } else if (random.chance(0.004)) {
      counts.loads += 1
      rows += await work.load(sql, random, checked)
    } else {
      rows += await work.change(sql, random, checked)
    }
    if (length > 0) await pause(length / steps)
  }
  return rows
}

/**
 * The codes of errors that concurrent writers can get, and of errors of a terminated writer: PgBouncer reports 08P01.
 */
const expectedErrors = new Set(['55P03', '40P01', '40001', '25001', '23503', '23505', '23514'])
const terminations = new Set(['57P01', '08P01', 'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED'])

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '')

/**
 * Terminates the session of a writer in its transaction. Never resolves, because the driver must not use the connection
 * any more, not even for a rollback. The transaction fails when the driver reports the closed connection.
 */
async function terminate(address: Address, transaction: Transaction): Promise<never> {
  const [own] = await transaction<{ pid: number }[]>`select pg_backend_pid() as pid`
  const other = open(address)
  await other`select pg_terminate_backend(${own?.pid ?? 0})`
  await other.end()
  return new Promise<never>(() => {})
}

const isolations = ['isolation level repeatable read', 'isolation level serializable']

/**
 * Returns how long a transaction stays prepared, in milliseconds; null when it commits without being prepared. At a
 * publisher, many transactions are prepared: the applier writes a short transaction only at its commit, so a control
 * would miss few records otherwise.
 */
function randomPreparedTime({ isPublisher, random }: WriterOptions, { length }: Plan): number | null {
  if (isPublisher) return random.chance(0.2) ? 100 + random.below(500) : null
  return random.chance(0.04) ? Math.min(1000, length / 2) : null
}

/**
 * Writes all kinds of changes until `stop` is aborted, in transactions of different lengths that end in different ways.
 */
export async function write(options: WriterOptions): Promise<void> {
  const { address, work, random, counts, stop, isPublisher = false } = options
  const sql = open(address, { connection: { lock_timeout: 700 }, backoff: () => 0.05 })
  const transact = async () => {
    if (random.chance(0.08)) {
      await work.leaveAndReturn(sql, random)
      counts.returned += 1
      return
    }
    const plan = { length: randomLength(options), checked: isPublisher || !random.chance(0.05) }
    const preparedTime = randomPreparedTime(options, plan)
    const name = preparedTime === null ? null : `stress_${process.pid}_${++prepared}`
    const isolation = !isPublisher && random.chance(0.15) ? random.pick(isolations) : undefined
    const rows = await sql.begin(isolation ?? '', async transaction => {
      if (!plan.checked) {
        counts.replica += 1
        await transaction`set local session_replication_role = replica`
      }
      const count = await makeChanges(transaction, options, plan)
      if (name) await transaction.prepare(name)
      else if (random.chance(0.05)) throw new Rollback()
      else if (random.chance(0.01)) await terminate(address, transaction)
      return count
    })
    if (preparedTime !== null) {
      await pause(preparedTime)
      const kept = random.chance(0.8)
      await sql.unsafe(`${kept ? 'commit' : 'rollback'} prepared '${name}'`)
      counts.prepared += 1
      if (!kept) return
    }
    counts.rows += rows
    counts.transactions += 1
    if (plan.length >= 1000) counts.long += 1
    if (isolation) counts.snapshot += 1
  }
  while (!stop.aborted) {
    try {
      await transact()
    } catch (error) {
      if (error instanceof Rollback) counts.rolledBack += 1
      else if (terminations.has(codeOf(error))) counts.terminated += 1
      else if (expectedErrors.has(codeOf(error))) counts.failed += 1
      else throw error
    }
    await pause(random.below(30))
  }
  await sql.end({ timeout: 5 })
}

/** Inserts vouchers with the role that may only insert. */
export async function sell(options: Omit<WriterOptions, 'work'> & { knownIds: KnownIds }): Promise<void> {
  const { address, knownIds, random, counts, stop } = options
  const sql = open({ ...address, user: insertOnlyRole })
  while (!stop.aborted) {
    const length = randomLength(options)
    const sold = 1 + random.below(3)
    await sql.begin(async transaction => {
      for (let n = 0; n < sold; n += 1) {
        const mark = createMark()
        await transaction`
          insert into purchased_voucher (tenant_id, reference, product_title)
          values (${random.pick(knownIds.owners) ?? 0}, ${mark}, ${mark})`
        if (length > 0) await pause(length / sold)
      }
    })
    counts.rows += sold
    counts.transactions += 1
    await pause(random.below(50))
  }
  await sql.end({ timeout: 5 })
}
