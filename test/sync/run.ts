import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type postgres from '#postgres'
import { connect, serviceRole } from '../../src/db/connect.ts'
import type { Pool } from '../../src/db/sql.ts'
import { checkFigures } from '../../src/domain/figures/check.ts'
import type { CreatedToken } from '../../src/domain/token/lifecycle.ts'
import type { TenantGrant } from '../../src/domain/token/token.ts'
import { bulkExports } from '../../src/export/routes.ts'
import { findRecordProblems } from '../../src/projection/check.ts'
import { createTestToken, whole } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { createControl, follow, patient, type Resumption, readWhole } from './clients.ts'
import { type Ask, type List, lists, transports } from './lists.ts'
import { createWholes, outcomesOf } from './outcome.ts'
import type { Publisher } from './publisher.ts'
import { createRandom, type Random } from './random.ts'
import { createRecipeClient } from './recipe.ts'
import { type Address, type KnownIds, open, poolAddress, seedDatabase, seedPublisher } from './seed.ts'
import { createWriterCounts, sell, type WriterOptions, write } from './writers.ts'

/** The size of a run. Times are in seconds. */
export interface StressOptions {
  /** The shortest time that the writers run: they go on until the control has lost changes. */
  seconds: number
  writers: number
  /** The number of `clientKinds` that run, from the first. */
  clients: number
  longest: number
  seed: number
  bulkRows: number
}

export type StressReport = Awaited<ReturnType<typeof stress>>

/** A client that keeps a copy of all that its token is authorised for, by the recipe. */
interface ClientKind {
  scope: 'root' | 'branch' | 'single tenants'
  transport: keyof typeof transports
  resumption: Resumption
}

/** The clients; a run with fewer takes the first ones. */
export const clientKinds: ClientKind[] = [
  { scope: 'root', transport: 'REST', resumption: 'first page' },
  { scope: 'root', transport: 'export', resumption: 'last page' },
  { scope: 'branch', transport: 'GraphQL', resumption: 'last page' },
  { scope: 'single tenants', transport: 'GraphQL', resumption: 'first page' },
  { scope: 'root', transport: 'REST', resumption: 'newest record' },
  { scope: 'root', transport: 'GraphQL', resumption: 'newest record' },
  { scope: 'branch', transport: 'REST', resumption: 'last page' },
]

interface Setting {
  address: Address
  apps: readonly FastifyInstance[]
  knownIds: KnownIds
  /** The tenants with the most records, which a client reads one by one. */
  listed: number[]
  createToken(grants: TenantGrant[]): Promise<CreatedToken>
}

const tenantList = lists.find(({ name }) => name === 'tenants')!

/** The longest time that writers go on until the control has lost changes, in seconds. */
const mostExtraSeconds = 240

/** Chunks so small that each export has many, with writers at work between them. */
const exportChunkSize = 40

/** Returns how a list is read over a transport, each time from another instance; v1 has no removals. */
const askThrough =
  (apps: readonly FastifyInstance[], transport: ClientKind['transport'], secret: string) =>
  (list: List, tenant: number) => {
    const asks = apps.map(app => patient(transports[list.path ? transport : 'GraphQL'](app, secret, list, tenant)))
    let asked = 0
    const ask: Ask = (since, cursor) => asks[asked++ % asks.length]!(since, cursor)
    return ask
  }

/** @returns the pass that a client repeats, and its outcomes */
async function createClient(kind: ClientKind, { apps, knownIds, listed, createToken }: Setting) {
  const single = [...listed, knownIds.branch, ...knownIds.shops.slice(0, 2), ...knownIds.tenants.slice(0, 5)]
  const grants = {
    root: [whole(knownIds.root)],
    branch: [whole(knownIds.branch)],
    'single tenants': single.map(tenantId => ({ tenantId, withDescendants: false })),
  }[kind.scope]
  const { secret } = await createToken(grants)
  const askFor = askThrough(apps, kind.transport, secret)
  const client = createRecipeClient(askFor, kind.resumption)
  return {
    pass: client.round,
    outcomes: async (wholeOf: ReturnType<typeof createWholes>) =>
      outcomesOf(Object.values(kind).join(', '), client, await readWhole(askFor(tenantList, 0)), wholeOf),
  }
}

/** Ends sessions in the middle of a step, until `stop` is aborted. @returns how many */
async function killSteps(address: Address, random: Random, stop: AbortSignal): Promise<number> {
  const sql = open(address)
  let killed = 0
  while (!stop.aborted) {
    await pause(random.below(500))
    const { count } = await sql`
      select pg_terminate_backend(pid) from pg_locks where granted and relation = 'gateway.step_lock'::regclass`
    killed += count
  }
  await sql.end()
  return killed
}

/** Compares the figures with the records, and adds the differences to those found before. */
async function compareFigures(sql: Pool, found: { checks: number; wrong: number }): Promise<void> {
  const { asOf, differences } = await checkFigures(sql)
  if (asOf !== null) found.checks += 1
  for (const { rows } of differences) found.wrong += rows
}

/**
 * Runs the stress test on a migrated database that nothing else uses. Needs `max_prepared_transactions`.
 *
 * @param apps instances of the service over that database, with a sufficient rate
 * @param publisher an empty one, to which the database is subscribed; the caller stops it
 * @returns the outcomes of the clients, and how many changes the control has lost
 */
export async function stress(
  address: Address,
  apps: readonly FastifyInstance[],
  publisher: Publisher,
  options: StressOptions,
) {
  const { seed, longest, bulkRows } = options
  for (const each of bulkExports) each.chunkSize = exportChunkSize
  const knownIds = await seedDatabase(address)
  const subscribe = () => publisher.subscribe(address, { copyData: false, streaming: 'parallel', twoPhase: true })
  const published = await seedPublisher(publisher.address, knownIds.root, 20, subscribe)
  const listed = [...knownIds.owners, published.owners[0] ?? 0]
  const pool = connect(poolAddress(address), { max: 2, statementTimeoutMs: 60_000, role: serviceRole })
  await publisher.caughtUp()

  const setting: Setting = { address, apps, knownIds, listed, createToken: tenants => createTestToken(pool, tenants) }
  const clients = await Promise.all(clientKinds.slice(0, options.clients).map(kind => createClient(kind, setting)))
  const sql = open(address)
  const controls = listed.map(tenant => createControl(sql, tenant))
  const lost = () => controls.reduce((total, control) => total + control.lost.size, 0)
  const passes = [...clients, ...controls].map(client => client.pass)

  const writersStop = new AbortController()
  const clientsStop = new AbortController()
  const counts = createWriterCounts()
  // A fifth of the writers write at the publisher.
  const atPublisher = Math.max(1, Math.round(options.writers / 5))
  const writing = Array.from({ length: options.writers }, (_, number) => {
    const random = createRandom(seed * 1000 + number)
    const writer: WriterOptions = { address, knownIds, random, longest, bulkRows, counts, stop: writersStop.signal }
    if (number === 0) return sell(writer)
    if (number > atPublisher) return write(writer)
    return write({ ...writer, address: publisher.address, knownIds: published, isPublisher: true })
  })
  const following = passes.map((pass, number) =>
    follow(pass, createRandom(seed * 1000 + 500 + number), clientsStop.signal),
  )
  const figures = { checks: 0, wrong: 0 }
  const comparing = (async () => {
    for (; !writersStop.signal.aborted; await pause(200)) await compareFigures(pool, figures)
  })()
  const killing = killSteps(address, createRandom(seed), writersStop.signal)
  const failed = Promise.all([...writing, ...following, killing, comparing])
  const run = async () => {
    const end = Date.now() + options.seconds * 1000
    while (Date.now() < end || (lost() === 0 && Date.now() < end + mostExtraSeconds * 1000)) {
      await Promise.race([pause(200), failed])
    }
    writersStop.abort()
    await Promise.all(writing)
  }
  // Stops them even when one of them fails: the others would keep the process running.
  await run().finally(() => {
    for (const stop of [writersStop, clientsStop]) stop.abort()
    return Promise.allSettled([...writing, ...following, killing, comparing])
  })
  await failed

  const publisherSql = open(publisher.address)
  for (const server of [publisherSql, sql]) await commitPrepared(server)
  await publisher.caughtUp()
  await projected(pool)
  await compareFigures(pool, figures)
  // Twice: at the second time nothing changes during a read, so no cached scope is out of date.
  for (let time = 0; time < 2; time += 1) {
    await Promise.all(passes.map(pass => pass()))
    await pause(1000)
  }
  const all = await sql<{ id: string }[]>`select id from tenant`
  const { secret } = await setting.createToken(all.map(({ id }) => ({ tenantId: Number(id), withDescendants: false })))
  const wholeOf = createWholes(askThrough(apps, 'REST', secret))
  const report = {
    counts,
    clients: (await Promise.all(clients.map(client => client.outcomes(wholeOf)))).flat(),
    lost: lost(),
    killedSteps: await killing,
    problems: await findRecordProblems(pool),
    figures,
  }
  await Promise.all([sql.end(), publisherSql.end(), pool.end()])
  return report
}

/** Commits prepared transactions whose writers were stopped before `commit prepared`. */
async function commitPrepared(sql: postgres.Sql): Promise<void> {
  const left = await sql<{ gid: string }[]>`
    select gid from pg_prepared_xacts where database = current_database() and gid like 'stress%'`
  for (const { gid } of left) await sql.unsafe(`commit prepared '${gid}'`)
}
