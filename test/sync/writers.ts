import { setTimeout as pause } from 'node:timers/promises'
import { type Change, drawChange, loads, type Transaction } from './changes.ts'
import { type Address, type Ground, insertOnlyRole, open } from './ground.ts'
import type { Random } from './random.ts'

/** What became of the writers' transactions. */
export interface WriterCounts {
  transactions: number
  rows: number
  long: number
  rolledBack: number
  savepoints: number
  prepared: number
  loads: number
  replica: number
  terminated: number
  /** Ended by a lock that was not to be had, a deadlock, or a record that another had deleted. */
  refused: number
}

/** How the writers are to be. */
export interface WriterOptions {
  address: Address
  ground: Ground
  random: Random
  /** Seconds. */
  longest: number
  bulkRows: number
  counts: WriterCounts
  stop: AbortSignal
}

/** The start of the counting. */
export const createWriterCounts = (): WriterCounts => ({
  transactions: 0,
  rows: 0,
  long: 0,
  rolledBack: 0,
  savepoints: 0,
  prepared: 0,
  loads: 0,
  replica: 0,
  terminated: 0,
  refused: 0,
})

/** Thrown by a writer that thinks better of it. */
class Undone extends Error {}

let marks = 0
let prepared = 0

/** How long a transaction takes, in milliseconds: most are short, some are of the longest. */
function drawLength({ random, longest }: WriterOptions): number {
  const at = random.next()
  if (at < 0.8) return 0
  if (at < 0.94) return 3 + random.below(Math.min(400, longest * 1000))
  return random.below(longest * 1000)
}

/** The changes of one transaction, some of them in savepoints, with the writer's pauses between them. */
async function makeChanges(sql: Transaction, options: WriterOptions, length: number): Promise<number> {
  const { random, ground, bulkRows, counts } = options
  const steps = 1 + random.below(4)
  let rows = 0
  const make = (change: Change, transaction: Transaction) => {
    marks += 1
    return change({ sql: transaction, ground, random, mark: `m${marks}`, bulkRows })
  }
  for (let step = 0; step < steps; step += 1) {
    if (random.chance(0.15)) {
      counts.savepoints += 1
      const kept = random.chance(0.5)
      await sql
        .savepoint(async inner => {
          const count = await make(drawChange(random), inner)
          if (length > 0 && random.chance(0.5)) await pause(length / steps / 2)
          if (random.chance(0.1)) await inner`set constraints all immediate`
          if (!kept) throw new Undone()
          rows += count
        })
        .catch(error => {
          if (!(error instanceof Undone)) throw error
        })
    } else if (random.chance(0.004)) {
      counts.loads += 1
      rows += await make(random.pick(loads) ?? drawChange(random), sql)
    } else {
      rows += await make(drawChange(random), sql)
    }
    if (random.chance(0.03)) await sql`set constraints all immediate`
    if (length > 0) await pause(length / steps)
  }
  return rows
}

/** What Postgres may well refuse where writers meet, and how a terminated writer learns of it. */
const refusals = new Set(['55P03', '40P01', '23503'])
const terminations = new Set(['57P01', 'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED'])

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '')

/**
 * Ends a writer in its transaction. Nothing may be asked of the driver's connection after that, not even to roll back
 * (it would write to a socket that is gone), so this does not come to an end: the driver tells of the closed connection.
 */
async function terminate(address: Address, transaction: Transaction): Promise<never> {
  const [own] = await transaction<{ pid: number }[]>`select pg_backend_pid() as pid`
  const other = open(address)
  await other`select pg_terminate_backend(${own?.pid ?? 0})`
  await other.end()
  return new Promise<never>(() => {})
}

/** A writer of all kinds of changes, in transactions of all lengths that end in all ways. */
export async function write(options: WriterOptions): Promise<void> {
  const { address, random, counts, stop } = options
  const sql = open(address, { connection: { lock_timeout: 700 }, backoff: () => 0.05 })
  const transact = async () => {
    const length = drawLength(options)
    const name = random.chance(0.04) ? `stress_${process.pid}_${++prepared}` : null
    const rows = await sql.begin(async transaction => {
      if (random.chance(0.05)) {
        counts.replica += 1
        await transaction`set local session_replication_role = replica`
      }
      const count = await makeChanges(transaction, options, length)
      if (name) await transaction.prepare(name)
      else if (random.chance(0.05)) throw new Undone()
      else if (random.chance(0.01)) await terminate(address, transaction)
      return count
    })
    if (name) {
      await pause(length / 2)
      const kept = random.chance(0.8)
      await sql.unsafe(`${kept ? 'commit' : 'rollback'} prepared '${name}'`)
      counts.prepared += 1
      if (!kept) return
    }
    counts.rows += rows
    counts.transactions += 1
    if (length >= 1000) counts.long += 1
  }
  while (!stop.aborted) {
    try {
      await transact()
    } catch (error) {
      if (error instanceof Undone) counts.rolledBack += 1
      else if (terminations.has(codeOf(error))) counts.terminated += 1
      else if (refusals.has(codeOf(error))) counts.refused += 1
      else throw error
    }
    await pause(random.below(30))
  }
  await sql.end({ timeout: 5 })
}

/** A till: it may insert vouchers, and nothing else. */
export async function sell(options: WriterOptions): Promise<void> {
  const { address, ground, random, counts, stop } = options
  const sql = open({ ...address, user: insertOnlyRole })
  while (!stop.aborted) {
    const length = drawLength(options)
    const sold = 1 + random.below(3)
    await sql.begin(async transaction => {
      for (let n = 0; n < sold; n += 1) {
        marks += 1
        await transaction`
          insert into purchased_voucher (tenant_id, reference, product_title)
          values (${random.pick(ground.owners) ?? 0}, ${`m${marks}`}, 'sold')`
        if (length > 0) await pause(length / sold)
      }
    })
    counts.rows += sold
    counts.transactions += 1
    await pause(random.below(50))
  }
  await sql.end({ timeout: 5 })
}
