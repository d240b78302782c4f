import { setTimeout as pause } from 'node:timers/promises'
import type postgres from '#postgres'
import type { Pool } from '../../src/db/sql.ts'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { bulkExports } from '../../src/export/routes.ts'
import { createTestToken, whole } from '../support/builders.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { projected } from '../support/projected.ts'
import { findRecordProblems } from '../support/record-problems.ts'
import { createWork } from './changes.ts'
import { createControl, follow } from './clients.ts'
import { askThrough, clientKinds, createFollower } from './followers.ts'
import type { startInstances } from './instances.ts'
import { createWholes } from './outcome.ts'
import type { Publisher } from './publisher.ts'
import { createRandom, type Random } from './random.ts'
import { type Address, open, poolAddress, seedDatabase, seedPublisher } from './seed.ts'
import { createWriterCounts, sell, write } from './writers.ts'

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

type Service = ReturnType<typeof startInstances>

/** The longest time that writers go on until the control has lost changes, in seconds. */
const mostExtraSeconds = 240

/** Chunks so small that each export has many, with writers at work between them. */
const exportChunkSize = 40

/** Leaves behind what a clock leaves that was up to four seconds ahead and was set back: a last step in the future. */
async function setClockBack(sql: postgres.Sql, random: Random): Promise<void> {
  await sql.begin(async transaction => {
    await transaction`lock table gateway.step_lock in exclusive mode`
    await transaction`
      insert into gateway.step
      select greatest(stamp + interval '1 microsecond', clock_timestamp() + ${random.below(4000)} * interval '1 millisecond'),
        snapshot, waited, epoch, is_complete
      from gateway.step order by stamp desc limit 1`
  })
}

/**
 * Ends sessions in the middle of a step, until `stop` is aborted. After some of them it sets the clock back, the first time and
 * at random times while all instances are stopped.
 *
 * @returns how often
 */
async function killSteps(address: Address, restart: Service['restart'], random: Random, stop: AbortSignal) {
  const sql = open(address)
  const done = { killedSteps: 0, clocks: { setBack: 0, whileStopped: 0 } }
  while (!stop.aborted) {
    await pause(random.below(500))
    const { count } = await sql`
      select pg_terminate_backend(pid) from pg_locks where granted and relation = 'gateway.step_lock'::regclass`
    done.killedSteps += count
    if (random.chance(0.9)) continue
    const isStopped = done.clocks.whileStopped === 0 || random.chance(0.25)
    await (isStopped ? restart(() => setClockBack(sql, random)) : setClockBack(sql, random))
    done.clocks.setBack += 1
    if (isStopped) done.clocks.whileStopped += 1
  }
  await sql.end()
  return done
}

/** Compares the figures with the records, and adds the differences to those found before. */
export async function compareFigures(sql: Pool, found: { checks: number; wrong: number }): Promise<void> {
  const { asOf, differences } = await checkFigures(sql)
  if (asOf !== null) found.checks += 1
  for (const { rows } of differences) found.wrong += rows
}

/**
 * Runs the stress test on a migrated database that nothing else uses. Needs `max_prepared_transactions`.
 *
 * @param service the service over that database, with a sufficient rate
 * @param publisher an empty one, to which the database is subscribed; the caller stops it
 * @returns the outcomes of the clients, and how many changes the control has lost
 */
export async function stress(
  address: Address,
  { instances, restart }: Service,
  publisher: Publisher,
  options: StressOptions,
) {
  const { seed, longest, bulkRows } = options
  for (const each of bulkExports) each.chunkSize = exportChunkSize
  const knownIds = await seedDatabase(address)
  const sql = open(address)
  const [server] = await sql<{ version: string }[]>`select current_setting('server_version_num') as version`
  // PostgreSQL 15 has no parallel streaming.
  const streaming = Number(server?.version) < 160_000 ? 'on' : 'parallel'
  const subscribe = () => publisher.subscribe(address, { copyData: false, streaming, twoPhase: true })
  const published = await seedPublisher(publisher.address, knownIds.root, 20, subscribe)
  const listed = [...knownIds.owners, published.owners[0] ?? 0]
  const pool = connect(poolAddress(address), { max: 2, statementTimeoutMs: 60_000, role: serviceRole })
  await publisher.caughtUp()

  // A client reads the tenants with the most records one by one.
  const single = [...listed, knownIds.branch, ...knownIds.shops.slice(0, 2), ...knownIds.tenants.slice(0, 5)]
  const grants = {
    root: [whole(knownIds.root)],
    branch: [whole(knownIds.branch)],
    'single tenants': single,
  }
  const clients = await Promise.all(
    clientKinds.slice(0, options.clients).map(async kind => {
      const { secret } = await createTestToken(pool, grants[kind.scope])
      return createFollower(kind, instances, secret)
    }),
  )
  const controls = listed.map(tenant => createControl(sql, tenant))
  const lost = () => controls.reduce((total, control) => total + control.lost.size, 0)
  const passes = [...clients, ...controls].map(client => client.pass)

  const writersStop = new AbortController()
  const clientsStop = new AbortController()
  const counts = createWriterCounts()
  // A fifth of the writers write at the publisher.
  const atPublisher = Math.max(1, Math.round(options.writers / 5))
  const [work, workAtPublisher] = [createWork(knownIds, bulkRows), createWork(published, bulkRows)]
  const writing = Array.from({ length: options.writers }, (_, number) => {
    const random = createRandom(seed * 1000 + number)
    const writer = { address, random, longest, counts, stop: writersStop.signal }
    if (number === 0) return sell({ ...writer, knownIds })
    if (number > atPublisher) return write({ ...writer, work })
    return write({ ...writer, address: publisher.address, work: workAtPublisher, isPublisher: true })
  })
  const following = passes.map((pass, number) =>
    follow(pass, createRandom(seed * 1000 + 500 + number), clientsStop.signal),
  )
  const figures = { checks: 0, wrong: 0 }
  const comparing = (async () => {
    for (; !writersStop.signal.aborted; await pause(200)) await compareFigures(pool, figures)
  })()
  const killing = killSteps(address, restart, createRandom(seed), writersStop.signal)
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
  const { secret } = await createTestToken(
    pool,
    all.map(({ id }) => Number(id)),
  )
  const wholeOf = createWholes(askThrough(instances, 'REST', secret))
  const report = {
    counts,
    clients: (await Promise.all(clients.map(client => client.outcomes(wholeOf)))).flat(),
    lost: lost(),
    ...(await killing),
    problems: await findRecordProblems(pool),
    figures,
  }
  await Promise.all([sql.end(), publisherSql.end(), pool.end()])
  return report
}

/** Commits prepared transactions whose writers were stopped before `commit prepared`. */
export async function commitPrepared(sql: postgres.Sql): Promise<void> {
  const left = await sql<{ gid: string }[]>`
    select gid from pg_prepared_xacts where database = current_database() and gid like 'stress%'`
  for (const { gid } of left) await sql.unsafe(`commit prepared '${gid}'`)
}
