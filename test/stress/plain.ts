/**
 * Runs on the plain tables. Writers write to the database of the gateway and to a publisher, while steps are killed and
 * clocks are set back.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type postgres from '#postgres'
import { readConfig } from '../../src/config/config.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { bulkExports } from '../../src/export/routes.ts'
import { buildServer } from '../../src/server.ts'
import { whole } from '../support/builders.ts'
import { afterFile } from '../support/cleanups.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { startServer } from '../support/embedded-postgres.ts'
import { freePort } from '../support/free-port.ts'
import { packagedPrograms } from '../support/packaged-postgres.ts'
import { createPgBouncer, password } from '../support/pgbouncer.ts'
import { createWork } from '../sync/changes.ts'
import { createControl } from '../sync/clients.ts'
import { type Instance, instanceOf } from '../sync/lists.ts'
import { startPublisher } from '../sync/publisher.ts'
import { createRandom, type Random } from '../sync/random.ts'
import { type Address, insertOnlyRole, open, poolAddress, seedDatabase, seedPublisher } from '../sync/seed.ts'
import { createWriterCounts, sell, write } from '../sync/writers.ts'
import { webhookSettings } from './events.ts'
import { commitPrepared, compareFigures, runUntilFirstEnds, type Sources, type StressOptions } from './run.ts'
import { startReplicated } from './standbys.ts'

/** The maximum time that writers continue after `seconds` until the control has lost changes, in seconds. */
const maxExtraSeconds = 240

/** The number of records per chunk of an export: so few that writers change records between the many chunks. */
const exportChunkSize = 40

/**
 * Starts a PgBouncer for the service, in the configuration of docs/scaling.md, and one for the writers of the platform,
 * both in transaction mode.
 */
async function startPoolers(direct: Address) {
  const admin = open(direct)
  const login = 'gateway_login'
  await admin.unsafe(`create role ${login} login in role ${serviceRole}`)
  await admin.end()
  const service = createPgBouncer({ server: direct, port: await freePort(), login })
  // PgBouncer has to track `lock_timeout`, which writers set, and needs connections for long transactions.
  const tracked = 'search_path, lock_timeout, statement_timeout, default_transaction_isolation, role, jit, work_mem'
  const changes = { connect_query: null, track_extra_parameters: tracked, default_pool_size: '60' }
  const logins = { login: direct.user, otherLogins: [insertOnlyRole] }
  const platform = createPgBouncer({ server: direct, port: await freePort(), ...logins, changes })
  for (const each of [service, platform]) {
    await each.start()
    afterFile(() => each.remove())
  }
  const options = { max: 10, statementTimeoutMs: 10_000, role: serviceRole, startupParameters: false }
  return {
    service: connect(service.url(direct.database), options),
    platform: { host: '127.0.0.1', port: platform.port, user: direct.user, password, database: direct.database },
  }
}

/** Simulates a clock that was up to four seconds ahead and is set back: inserts a last step in the future. */
async function simulateClockSetBack(sql: postgres.Sql, random: Random): Promise<void> {
  await sql.begin(async transaction => {
    await transaction`lock table gateway.step_lock in exclusive mode`
    await transaction`
      insert into gateway.step
      select greatest(stamp + interval '1 microsecond', clock_timestamp() + ${random.below(4000)} * interval '1 millisecond'),
        snapshot, waited, epoch, is_complete
      from gateway.step order by stamp desc limit 1`
  })
}

/** Starts instances. @param builders create a server of the service; called again after each stop */
function startInstances(builders: readonly (() => Promise<FastifyInstance>)[]) {
  const start = () => Promise.all(builders.map(build => build()))
  const close = (apps: FastifyInstance[]) => Promise.all(apps.map(app => app.close()))
  let running = start()
  const answers = new Set<Promise<unknown>>()
  return {
    /** The instances. Their requests wait while the servers are stopped. */
    instances: builders.map(
      (_, at): Instance => ({
        async fetch(...request) {
          const apps = await running
          const answer = instanceOf(apps[at]!).fetch(...request)
          const answered = answer.finally(() => answers.delete(answered))
          answers.add(answered)
          return answered
        },
      }),
    ),

    /**
     * Stops all instances after the requests under way, and starts them again. @param during runs while the instances
     * are stopped
     */
    async restart(during: () => Promise<unknown>) {
      running = running.then(async apps => {
        await Promise.allSettled(answers)
        await close(apps)
        await during()
        return start()
      })
      await running
    },

    stop: async () => close(await running),
  }
}

async function startService({ instances, standbys, packaged, pgpool, pgbouncer }: StressOptions) {
  const settings = { max_connections: '200', max_prepared_transactions: '50' }
  const replicated =
    standbys > 0 ? await startReplicated(standbys, settings, packaged ? packagedPrograms() : null, pgpool) : null
  const { stop, ...address } = replicated
    ? { ...replicated.address, stop: replicated.stop }
    : await startServer(settings)
  afterFile(stop)
  const owner = connect(address, { max: 10, statementTimeoutMs: 10_000 })
  afterFile(() => owner.end({ timeout: 1 }))
  await migrate(owner)
  const poolers = pgbouncer ? await startPoolers(address) : null
  afterFile(() => poolers?.service.end({ timeout: 1 }))
  const limits = { RATE_LIMIT_PER_MINUTE: '1000000', EXPORTS_PER_HOUR: '1000000' }
  const config = readConfig({ LOG_LEVEL: 'error', ...limits, ...webhookSettings })
  const pool = poolers?.service ?? owner
  const service = startInstances(
    Array.from({ length: instances }, () => {
      const standbyPools = replicated?.connectStandbys() ?? []
      return () => buildServer({ config, pool, standbys: standbyPools })
    }),
  )
  afterFile(service.stop)
  return { address: poolers?.platform ?? address, replicated, ...service }
}

/** Creates the plain tables, and starts the service and a publisher whose changes are applied to the tables. */
export async function startPlain(options: StressOptions): Promise<Sources> {
  const { seed, longest, bulkRows, seconds } = options
  for (const each of bulkExports) each.chunkSize = exportChunkSize
  const { address, replicated, instances, restart } = await startService(options)
  const publisher = await startPublisher()
  afterFile(publisher.stop)
  const knownIds = await seedDatabase(address)
  const sql = open(address)
  const [server] = await sql<{ version: string }[]>`select current_setting('server_version_num') as version`
  // Versions before PostgreSQL 16 have no parallel streaming.
  const streaming = Number(server?.version) < 160_000 ? 'on' : 'parallel'
  const subscribe = () => publisher.subscribe(address, streaming)
  const published = await seedPublisher(publisher.address, knownIds.root, 20, subscribe)
  await publisher.caughtUp()
  const pool = connect(poolAddress(address), { max: 2, statementTimeoutMs: 60_000, role: serviceRole })
  const publisherSql = open(publisher.address)
  afterFile(() => Promise.all([sql, publisherSql, pool].map(each => each.end({ timeout: 1 }))))

  const listed = [...knownIds.owners, published.owners[0] ?? 0]
  const controls = listed.map(tenant => createControl(sql, tenant))
  const lost = () => controls.reduce((total, control) => total + control.lost.size, 0)
  const counts = createWriterCounts()
  const [work, workAtPublisher] = [createWork(knownIds, bulkRows), createWork(published, bulkRows)]
  const done = { killedSteps: 0, setBack: 0, whileStopped: 0 }

  function startWriter(number: number, stop: AbortSignal): Promise<void> {
    const writer = { address, random: createRandom(seed * 1000 + number), longest, counts, stop }
    if (number === 0) return sell({ ...writer, knownIds })
    if (number > Math.max(1, Math.round(options.writers / 5))) return write({ ...writer, work })
    return write({ ...writer, address: publisher.address, work: workAtPublisher, isPublisher: true })
  }

  /**
   * Kills steps by ending their sessions, and sometimes sets the clock back afterwards: the first time while all
   * instances are stopped, later at random.
   */
  async function killSteps(random: Random, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await pause(random.below(500))
      const { count } = await sql`
        select pg_terminate_backend(pid) from pg_locks where granted and relation = 'gateway.step_lock'::regclass`
      done.killedSteps += count
      if (random.chance(0.9)) continue
      const isStopped = done.whileStopped === 0 || random.chance(0.25)
      await (isStopped ? restart(() => simulateClockSetBack(sql, random)) : simulateClockSetBack(sql, random))
      done.setBack += 1
      if (isStopped) done.whileStopped += 1
    }
  }

  /** Waits until the minimum time of the writers is over and the control has lost changes. */
  async function untilEnough(stop: AbortSignal): Promise<void> {
    const end = Date.now() + seconds * 1000
    const isEnough = () => Date.now() > end && (lost() > 0 || Date.now() > end + maxExtraSeconds * 1000)
    while (!stop.aborted && !isEnough()) await pause(200)
  }

  return {
    ...{ sql, pool, instances, counts },
    grants: {
      root: [whole(knownIds.root)],
      branch: [whole(knownIds.branch)],
      // These grants contain the tenants with the most records, which the client reads one by one.
      'single tenants': [...listed, knownIds.branch, ...knownIds.shops.slice(0, 2), ...knownIds.tenants.slice(0, 5)],
    },
    passes: controls.map(control => control.pass),

    disturb(outer, figures) {
      const own = new AbortController()
      const stop = AbortSignal.any([outer, own.signal])
      const compare = async () => {
        for (; !stop.aborted; await pause(200)) await compareFigures(pool, figures)
      }
      let count = 0
      const randomOfStandby = () => createRandom(seed * 1000 + 900 + count++)
      return runUntilFirstEnds(own, [
        ...Array.from({ length: options.writers }, (_, number) => startWriter(number, stop)),
        ...[killSteps(createRandom(seed), stop), compare(), untilEnough(stop)],
        ...(replicated ? [replicated.disturb(randomOfStandby, stop)] : []),
      ])
    },

    async settle() {
      for (const server of [publisherSql, sql]) await commitPrepared(server)
      await publisher.caughtUp()
    },

    conclude: async () => ({
      lines: [
        `control: ${lost()} changes that it passed over`,
        `steps: ${done.killedSteps} killed`,
        `clock: set back ${done.setBack} times, in ${done.whileStopped} of them while all instances were stopped`,
        ...(replicated ? [`standbys: ${JSON.stringify(replicated.counts())}`] : []),
      ],
      exitCode: lost() === 0 || replicated?.counts().statements === 0 ? 3 : 0,
    }),
  }
}
