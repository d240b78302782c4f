/** The stress test of the sync as a command: `npm run stress -- --seconds 60`. */
import { Command, InvalidArgumentError } from 'commander'
import { readConfig } from '../../src/config/config.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { buildServer } from '../../src/server.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { startServer } from '../support/embedded-postgres.ts'
import { freePort } from '../support/free-port.ts'
import { packagedPrograms } from '../support/packaged-postgres.ts'
import { createPgBouncer, password } from '../support/pgbouncer.ts'
import { clientKinds } from './followers.ts'
import { startInstances } from './instances.ts'
import { startPublisher } from './publisher.ts'
import { createRandom } from './random.ts'
import { printReport, wrongInClients } from './report.ts'
import { type StressOptions, stress } from './run.ts'
import { type Address, insertOnlyRole, open } from './seed.ts'
import { startReplicated } from './standbys.ts'

const number = (text: string) => {
  const value = Number(text)
  if (!(value >= 0)) throw new InvalidArgumentError('This must be a number that is not negative.')
  return value
}

const { pgbouncer, instances, standbys, packaged, pgpool, ...options } = new Command('stress')
  .description(
    'Runs all kinds of writers, and checks that clients that resume end with exactly what the service holds, and that ' +
      'figures agree with the records all the time. Exits with 1 when a client lacks a record or has one too much, when ' +
      'a figure or a record differs from its sources, and with 3 when the control, which resumes from the time, misses no ' +
      'change: a check that cannot fail proves nothing.',
  )
  .option('--seconds <seconds>', 'how long the writers run at least', number, 60)
  .option('--writers <count>', 'how many writers, a fifth of them at a publisher', number, 10)
  .option('--clients <count>', `how many clients; ${clientKinds.length} at most`, number, clientKinds.length)
  .option('--longest <seconds>', 'the longest transaction', number, 6)
  .option('--seed <number>', 'seed of the random numbers', number, Date.now() % 1_000_000)
  .option('--bulk-rows <count>', 'rows of a bulk load', number, 2000)
  .option('--instances <count>', 'instances of the service, which clients read by turns', number, 2)
  .option('--pgbouncer', 'put PgBouncer before the service, and another one before the platform', false)
  .option('--standbys <count>', 'standbys from which the service reads, and to which faults happen', number, 0)
  .option('--packaged', 'with standbys: on the PostgreSQL of the packages', false)
  .option('--pgpool', 'with standbys: Pgpool-II before them, which routes each read to another one', false)
  .parse()
  .opts<
    StressOptions & { pgbouncer: boolean; instances: number; standbys: number; packaged: boolean; pgpool: boolean }
  >()

/** A PgBouncer in transaction mode as docs/scaling.md has it for the service, and one for the platform's writers. */
async function startPoolers(direct: Address) {
  const admin = open(direct)
  const login = 'gateway_login'
  await admin.unsafe(`create role ${login} login in role ${serviceRole}`)
  await admin.end()
  const service = createPgBouncer({ server: direct, port: await freePort(), login })
  // Each writer sets a limit for its locks, and holds its connection during its transactions.
  const tracked = 'search_path, lock_timeout, statement_timeout, default_transaction_isolation, role, jit, work_mem'
  const changes = { connect_query: null, track_extra_parameters: tracked, default_pool_size: '60' }
  const logins = { login: direct.user, otherLogins: [insertOnlyRole] }
  const platform = createPgBouncer({ server: direct, port: await freePort(), ...logins, changes })
  await service.start()
  await platform.start()
  return {
    service: connect(service.url(direct.database), {
      max: 10,
      statementTimeoutMs: 10_000,
      role: serviceRole,
      startupParameters: false,
    }),
    platform: { host: '127.0.0.1', port: platform.port, user: direct.user, password, database: direct.database },
    stop: () => Promise.all([service.remove(), platform.remove()]),
  }
}

const settings = { max_connections: '200', max_prepared_transactions: '50' }
const replicated =
  standbys > 0 ? await startReplicated(standbys, settings, packaged ? packagedPrograms() : null, pgpool) : null
const { stop, ...address } = replicated ? { ...replicated.address, stop: replicated.stop } : await startServer(settings)
const publisher = await startPublisher()
const owner = connect(address, { max: 10, statementTimeoutMs: 10_000 })
let poolers: Awaited<ReturnType<typeof startPoolers>> | null = null
try {
  await migrate(owner)
  if (pgbouncer) poolers = await startPoolers(address)
  const config = readConfig({ LOG_LEVEL: 'error', RATE_LIMIT_PER_MINUTE: '1000000', EXPORTS_PER_HOUR: '1000000' })
  const pool = poolers?.service ?? owner
  const service = startInstances(
    Array.from({ length: instances }, () => {
      const standbyPools = replicated?.connectStandbys() ?? []
      return () => buildServer({ config, pool, standbys: standbyPools })
    }),
  )
  const faultsStop = new AbortController()
  let count = 0
  const random = () => createRandom(options.seed * 1000 + 900 + count++)
  const disturbing = replicated?.disturb(random, faultsStop.signal)
  const report = await stress(poolers?.platform ?? address, service, publisher, options).finally(() =>
    faultsStop.abort(),
  )
  await disturbing
  await service.stop()
  printReport(report, options, [
    `control: ${report.lost} changes that it passed over`,
    `steps: ${report.killedSteps} killed`,
    `clock: set back ${report.clocks.setBack} times, in ${report.clocks.whileStopped} of them while all instances were stopped`,
    ...(replicated ? [`standbys: ${JSON.stringify(replicated.counts())}`] : []),
  ])
  if (wrongInClients(report.clients) > 0 || report.figures.wrong > 0 || report.problems.length > 0) process.exitCode = 1
  else if (report.lost === 0 || replicated?.counts().statements === 0) process.exitCode = 3
} finally {
  await Promise.all([owner.end({ timeout: 1 }), poolers?.service.end({ timeout: 1 })])
  await publisher.stop()
  await poolers?.stop()
  await stop()
}
