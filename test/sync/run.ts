import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { connect } from '../../src/db/connect.ts'
import { permissionNames } from '../../src/domain/permission.ts'
import { createToken } from '../../src/domain/token-lifecycle.ts'
import {
  createNaiveAsk,
  createSyncClient,
  follow,
  lostFrom,
  type Resumption,
  resumptions,
  type SyncClient,
} from './clients.ts'
import { type Address, open, prepareGround } from './ground.ts'
import { type Lag, lagBesideLongWriter, watchLag } from './lag.ts'
import { doors, type Kept, type List, lists } from './lists.ts'
import { createRandom } from './random.ts'
import { createWriterCounts, sell, type WriterCounts, write } from './writers.ts'

/** How hard, and for how long. Times are in seconds. */
export interface StressOptions {
  seconds: number
  writers: number
  longest: number
  seed: number
  bulkRows: number
  /** For how long a writer holds its transaction open while the lag is watched; 0 for no such watch. */
  hold: number
}

/** What a client ended with. */
export interface Outcome {
  list: string
  door: string
  resumption: Resumption
  /** How many records the tables hold for it. */
  records: number
  lost: number
  passes: number
  received: number
  /** Received though the copy had them already, just so. */
  repeated: number
  /** Some of the lost, for the search. */
  examples: string[]
}

/** What came of it all. */
export interface StressReport {
  counts: WriterCounts
  clients: Outcome[]
  control: Outcome[]
  lag: Lag
  lagBesideLong: Lag | null
}

interface Party {
  list: List
  door: string
  resumption: Resumption
  tenant: number
  client: SyncClient
}

/**
 * Runs the stress test on a migrated database that is the suite's own, and needs `max_prepared_transactions`.
 *
 * @param app the service over it, with a rate that is wide enough
 */
export async function stress(address: Address, app: FastifyInstance, options: StressOptions): Promise<StressReport> {
  const ground = await prepareGround(address)
  const pool = connect(address, { max: 1, statementTimeoutMs: 60_000 })
  const { secret } = await createToken(
    pool,
    { name: 'test', address: null },
    {
      name: 'stress',
      contact: null,
      rateLimit: null,
      permissions: [...permissionNames],
      tenants: [{ tenantId: ground.root, withDescendants: true }],
      expiresAt: null,
    },
  )
  await pool.end()

  const parties: Party[] = []
  const naive = ground.owners.flatMap(tenant => resumptions.map(resumption => ({ tenant, resumption })))
  const controls = naive.map(({ tenant, resumption }) => {
    const { ask, sql } = createNaiveAsk(address, tenant)
    const list = lists.find(({ name }) => name === 'vouchers')!
    return { sql, party: { list, door: 'naive', resumption, tenant, client: createSyncClient(ask, resumption) } }
  })
  for (const list of lists) {
    for (const [door, knock] of Object.entries(doors)) {
      if (door === 'REST' && !list.path) continue
      for (const resumption of resumptions) {
        for (const tenant of list.ofTenant ? ground.owners : [ground.root]) {
          const client = createSyncClient(knock(app, secret, list, tenant), resumption)
          parties.push({ list, door, resumption, tenant, client })
        }
      }
    }
  }
  const all = [...parties, ...controls.map(({ party }) => party)]

  const writersStop = new AbortController()
  const clientsStop = new AbortController()
  const counts = createWriterCounts()
  const writing = Array.from({ length: options.writers }, (_, number) => {
    const random = createRandom(options.seed * 1000 + number)
    const { longest, bulkRows } = options
    const writer = { address, ground, random, longest, bulkRows, counts, stop: writersStop.signal }
    return number === 0 ? sell(writer) : write(writer)
  })
  const following = all.map(({ client }, number) =>
    follow(client, createRandom(options.seed * 1000 + 500 + number), clientsStop.signal),
  )
  const watching = watchLag(address, writersStop.signal)
  const failed = Promise.all([...writing, ...following])
  await Promise.race([pause(options.seconds * 1000), failed])
  writersStop.abort()
  await Promise.all(writing)
  const lag = await watching
  const lagBesideLong = options.hold > 0 ? await lagBesideLongWriter(address, ground, options.hold) : null
  clientsStop.abort()
  await failed

  const sql = open(address)
  // Of writers that were ended between the two halves of it.
  for (const { gid } of await sql<
    { gid: string }[]
  >`select gid from pg_prepared_xacts where database = ${address.database}`) {
    await sql.unsafe(`commit prepared '${gid}'`)
  }
  for (const { client } of all) await client.pass()
  const truths = new Map<string, Kept[]>()
  for (const { list, tenant } of all) {
    const name = `${list.name} ${tenant}`
    if (!truths.has(name)) truths.set(name, await list.truth(sql, tenant))
  }
  await Promise.all([sql.end(), ...controls.map(control => control.sql.end())])
  const outcomes = (of: Party[]) => sumUp(of, ({ list, tenant }) => truths.get(`${list.name} ${tenant}`) ?? [])
  return {
    counts,
    clients: outcomes(parties),
    control: outcomes(controls.map(({ party }) => party)),
    lag,
    lagBesideLong,
  }
}

/** The clients of one list, door and resumption are one, whatever their tenants. */
function sumUp(parties: Party[], truthOf: (party: Party) => Kept[]): Outcome[] {
  const found = new Map<string, Outcome>()
  for (const party of parties) {
    const { list, door, resumption, client } = party
    const name = `${list.name} ${door} ${resumption}`
    const none = { records: 0, lost: 0, passes: 0, received: 0, repeated: 0, examples: [] }
    const outcome = found.get(name) ?? { list: list.name, door, resumption, ...none }
    const truth = truthOf(party)
    const lost = lostFrom(client.copy, truth)
    outcome.records += truth.length
    outcome.lost += lost.length
    outcome.passes += client.counts.passes
    outcome.received += client.counts.received
    outcome.repeated += client.counts.repeated
    for (const record of lost.slice(0, 3 - outcome.examples.length)) {
      outcome.examples.push(`${record.key}: ${record.image}, held ${client.copy.get(record.key)?.image ?? 'nothing'}`)
    }
    found.set(name, outcome)
  }
  return [...found.values()]
}
