import { setTimeout as pause } from 'node:timers/promises'
import type postgres from '#postgres'
import {
  type Change,
  changeNothing,
  changes,
  createMark,
  drawChange,
  type Hand,
  type Kind,
  loads,
  moves,
  type Transaction,
} from './changes.ts'
import type { Random } from './random.ts'
import { type Address, type Ground, insertOnlyRole, open } from './seed.ts'

/** What became of the writers' transactions. */
const noCounts = {
  transactions: 0,
  rows: 0,
  long: 0,
  rolledBack: 0,
  savepoints: 0,
  prepared: 0,
  loads: 0,
  /** As an applier of a replication, in a session of our own. */
  replica: 0,
  /** After an update that changes nothing, and `set constraints all immediate`. */
  immediate: 0,
  /** Under REPEATABLE READ and SERIALIZABLE. */
  snapshot: 0,
  /** In which records left lists, or came back. */
  moved: 0,
  /** Away in one transaction, and back in the next. */
  returned: 0,
  /** Of a publisher, applied by a subscription. */
  replicated: 0,
  terminated: 0,
  /** Ended by a lock that was not to be had, a deadlock, a check, or a snapshot that was too old. */
  refused: 0,
}
export type WriterCounts = typeof noCounts

/** How the writers are to be. */
export interface WriterOptions {
  address: Address
  ground: Ground
  /** What all of its transactions are of; of all kinds of a platform's own when left out. */
  kind?: Kind
  random: Random
  /** Seconds. */
  longest: number
  bulkRows: number
  counts: WriterCounts
  stop: AbortSignal
}

/** The start of the counting. */
export const createWriterCounts = (): WriterCounts => ({ ...noCounts })

/** Thrown by a writer that thinks better of it. */
class Undone extends Error {}

let prepared = 0

/** How long a transaction takes, in milliseconds: most are short, some are of the longest. */
function drawLength({ random, longest }: WriterOptions): number {
  const at = random.next()
  if (at < 0.8) return 0
  if (at < 0.94) return 3 + random.below(Math.min(400, longest * 1000))
  return random.below(longest * 1000)
}

/** What a transaction is to be. */
interface Plan {
  kind: Kind
  /** Milliseconds. */
  length: number
  /** Whether foreign keys are checked: not where the session applies a replication. */
  checked: boolean
}

const handOf = (sql: Transaction, { ground, random, bulkRows }: WriterOptions, { kind }: Plan): Hand => {
  return { sql, ground, random, mark: createMark(kind), bulkRows }
}

/** The changes of one transaction, some of them in savepoints, with the writer's pauses between them. */
async function makeChanges(sql: Transaction, options: WriterOptions, plan: Plan): Promise<number> {
  const { random, counts } = options
  const { kind, length, checked } = plan
  const steps = 1 + random.below(4)
  let rows = 0
  const draw = () => drawChange(random, random.chance(kind === 'moved' ? 1 : 0.1) ? moves : changes, checked)
  const make = (change: Change, transaction: Transaction) => change(handOf(transaction, options, plan))
  for (let step = 0; step < steps; step += 1) {
    if (random.chance(0.15)) {
      counts.savepoints += 1
      const kept = random.chance(0.5)
      await sql
        .savepoint(async inner => {
          const count = await make(draw(), inner)
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
      rows += await make(random.pick(loads) ?? draw(), sql)
    } else {
      rows += await make(draw(), sql)
    }
    if (random.chance(0.015)) await sql`set constraints all immediate`
    if (length > 0) await pause(length / steps)
  }
  return rows
}

/** What Postgres may well refuse where writers meet, and how a terminated writer learns of it. */
const refusals = new Set(['55P03', '40P01', '40001', '25001', '23503', '23505', '23514'])
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

/** How often a transaction is of a kind, by weight; all others are ordinary. */
const kindsOfTransactions: [share: number, kind: Kind][] = [
  [0.1, 'immediate'],
  [0.15, 'snapshot'],
  [0.18, 'moved'],
]

function drawPlan(options: WriterOptions): Plan {
  const { random } = options
  const length = drawLength(options)
  if (options.kind) return { kind: options.kind, checked: true, length }
  const checked = !random.chance(0.05)
  let at = random.next()
  for (const [share, kind] of kindsOfTransactions) {
    // Stamps that are final early hold the watermark: short, or it would stand most of the time.
    const short = random.chance(0.5) ? 0 : 20 + random.below(60)
    if (at < share) return { kind, checked, length: kind === 'immediate' ? short : length }
    at -= share
  }
  return { kind: 'ordinary', checked, length }
}

/** The tables whose records leave a tenant's list and come back, with a column that shows who wrote last. */
const returning = { purchased_voucher: 'product_title', product: 'title', customer: 'surname' } as const

/** A record leaves a list, and comes back in a transaction of its own, soon or at once. */
async function leaveAndReturn(sql: postgres.Sql, { ground, random, counts, kind = 'moved' }: WriterOptions) {
  const wait = () => pause(random.chance(0.5) ? 0 : random.below(60))
  const what = random.pick(['purchased_voucher', 'product', 'customer', 'consent', 'tenant'] as const) ?? 'consent'
  if (what === 'tenant') {
    const id = random.pick(random.chance(0.5) ? ground.shops : ground.tenants) ?? 0
    await sql`update tenant set parent_id = ${ground.elsewhere} where id = ${id}`
    await wait()
    await sql`update tenant set parent_id = ${random.pick([ground.root, ground.branch]) ?? 0} where id = ${id}`
  } else if (what === 'consent') {
    const id = random.pick(ground.customers) ?? 0
    await sql`update customer set marketing_opted = false where id = ${id}`
    await wait()
    await sql`update customer set marketing_opted = true, surname = ${createMark(kind)} where id = ${id}`
  } else {
    const known = { purchased_voucher: ground.vouchers, product: ground.products, customer: ground.customers }[what]
    const id = random.pick(known) ?? 0
    const owners = random.chance(0.5) ? ground.owners : ground.owners.toReversed()
    for (const owner of [...owners, ...owners]) {
      const mark = createMark(kind)
      await sql`update ${sql(what)} set tenant_id = ${owner}, ${sql(returning[what])} = ${mark} where id = ${id}`
      await wait()
    }
  }
  counts.returned += 1
}

const isolations = ['isolation level repeatable read', 'isolation level serializable']

/** A writer of all kinds of changes, in transactions of all lengths that end in all ways. */
export async function write(options: WriterOptions): Promise<void> {
  const { address, random, counts, stop } = options
  const sql = open(address, { connection: { lock_timeout: 700 }, backoff: () => 0.05 })
  const transact = async () => {
    if (random.chance(0.08)) return leaveAndReturn(sql, options)
    const plan = drawPlan(options)
    const name = random.chance(0.04) ? `stress_${process.pid}_${++prepared}` : null
    const isolation = plan.kind === 'snapshot' ? random.pick(isolations) : undefined
    const rows = await sql.begin(isolation ?? '', async transaction => {
      if (!plan.checked) {
        counts.replica += 1
        await transaction`set local session_replication_role = replica`
      }
      if (plan.kind === 'immediate') {
        // No stamp is taken yet when the constraints of this row are done with.
        await changeNothing(handOf(transaction, options, plan))
        await transaction`set constraints all immediate`
      }
      const count = await makeChanges(transaction, options, plan)
      if (name) await transaction.prepare(name)
      else if (random.chance(0.05)) throw new Undone()
      else if (random.chance(0.01)) await terminate(address, transaction)
      return count
    })
    if (name) {
      await pause(Math.min(1000, plan.length / 2))
      const kept = random.chance(0.8)
      await sql.unsafe(`${kept ? 'commit' : 'rollback'} prepared '${name}'`)
      counts.prepared += 1
      if (!kept) return
    }
    counts.rows += rows
    counts.transactions += 1
    if (plan.length >= 1000) counts.long += 1
    if (plan.kind !== 'ordinary' && plan.kind !== 'deferred') counts[plan.kind] += 1
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
        const mark = createMark('ordinary')
        await transaction`
          insert into purchased_voucher (tenant_id, reference, product_title)
          values (${random.pick(ground.owners) ?? 0}, ${mark}, ${mark})`
        if (length > 0) await pause(length / sold)
      }
    })
    counts.rows += sold
    counts.transactions += 1
    await pause(random.below(50))
  }
  await sql.end({ timeout: 5 })
}
