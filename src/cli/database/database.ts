import { attachEmbedded, startEmbedded } from '#embedded'
import { type Config, readConfig } from '../../config/config.ts'
import { connect, type DatabaseAddress, serviceRole } from '../../db/connection/connect.ts'
import { requirePatchedDriver } from '../../db/connection/driver.ts'
import { readRights } from '../../db/connection/rights.ts'
import { requireVersion } from '../../db/connection/server-version.ts'
import { requireUnicode } from '../../db/connection/session.ts'
import { countPendingMigrations, UnreleasedDatabaseError } from '../../db/migration/migrations.ts'
import { ReasonError, reason } from '../../reasons.ts'
import { shellCommand } from '../terminal/shell-command.ts'
import { databaseError } from './errors.ts'

/** The statement timeout of commands, in milliseconds. */
const statementTimeoutMs = 10_000

/**
 * The time limits of the service's statements, in milliseconds. Each limit is shorter than the time limit of a request
 * (server.ts), so that the caller gets the error of the statement.
 */
const serviceLimits = {
  statementTimeoutMs: 4_000,
  answerTimeoutMs: 4_500,
  waitTimeoutMs: 4_000,
  backgroundTimeoutMs: 10_000,
}

/** The maximum wait for running statements when the database is closed, in seconds. */
const endTimeout = 1

/**
 * The limits of the connection for the health checks. Behind a pooler, this connection has the same statement timeout
 * as the other connections.
 */
const healthLimits = {
  name: 'health',
  max: 1,
  statementTimeoutMs: serviceLimits.statementTimeoutMs,
  answerTimeoutMs: 1_000,
  connectTimeoutMs: 1_000,
}

/**
 * The limits of the connection that checks a standby. The service stops using a standby within a second after the
 * standby stops answering.
 */
const probeLimits = { ...healthLimits, answerTimeoutMs: 500, connectTimeoutMs: 500 }

/** The limits of the connection that counts rates. */
const rateLimits = { name: 'rates', max: 1, statementTimeoutMs: 500, answerTimeoutMs: 1_000 }

export type Database = Awaited<ReturnType<typeof openDatabase>>

/**
 * Opens the database that the configuration names; without `DATABASE_URL` an embedded server is started.
 *
 * @param attach true to use the embedded server of a running service, if a service runs
 * @returns the open database; the caller closes it
 * @throws ReasonError when the driver is not the patched one, or when the database cannot be used; the message names
 *   the variable to change
 */
async function openDatabase(config: Config, attach: boolean) {
  requirePatchedDriver()
  const { databaseUrl, dataDir } = config
  if (databaseUrl === undefined) {
    try {
      const running = attach ? await attachEmbedded(dataDir) : null
      const { stop, ...address } = running ?? (await startEmbedded({ dataDir }))
      // `attached` means that another process, the running service, has started the embedded server.
      return { ...openPools(config, address, stop), embedded: true, attached: running !== null }
    } catch (error) {
      // Only an error of the file system is an error of the data directory.
      if (!(error instanceof Error) || !('syscall' in error)) throw error
      throw new ReasonError(reason('DATA_DIR_UNUSABLE', { directory: dataDir, why: error.message }), { cause: error })
    }
  }
  const pools = openPools(config, databaseUrl)
  try {
    const [row] = await pools.owner<[{ encoding: string; version: number }]>`
      select /* database.reach */ current_setting('server_encoding') as encoding,
             current_setting('server_version_num')::int as version`
    requireVersion('DATABASE_URL', row.version)
    requireUnicode(row.encoding)
  } catch (error) {
    await pools.close()
    throw error instanceof ReasonError ? error : databaseError(databaseUrl, error)
  }
  return { ...pools, embedded: false, attached: false }
}

function openPools(
  { databasePool, startupParameters, replicaUrls }: Config,
  address: DatabaseAddress,
  stopServer = async () => {},
) {
  const settings = { max: databasePool, statementTimeoutMs, startupParameters }
  /** Connections as the login role, for migrations and other work outside the service. */
  const owner = connect(address, { ...settings, name: 'owner' })
  /** Connections as the service's own role, which exists once the database is migrated. */
  const pool = connect(address, { ...settings, ...serviceLimits, role: serviceRole })
  const health = connect(address, { ...healthLimits, startupParameters, role: serviceRole })
  // Behind a pooler, these sessions have the same timeout as the other connections.
  const pooled = startupParameters ? {} : { statementTimeoutMs: serviceLimits.statementTimeoutMs }
  /**
   * One connection as the service's role, only for counting rates, so that counting waits for no other statement and
   * delays none.
   */
  const rates = connect(address, { ...rateLimits, ...pooled, startupParameters, role: serviceRole })
  /** Connections as the service's role to each standby. */
  const standbys = replicaUrls.map((url, index) => {
    const { connectTimeoutMs } = probeLimits
    const own = { name: `standby_${index + 1}`, role: serviceRole, startupParameters, readsOnly: true }
    return {
      pool: connect(url, { ...settings, ...serviceLimits, ...own, connectTimeoutMs }),
      probe: connect(url, { ...probeLimits, ...own, name: `${own.name}_probe` }),
    }
  })
  /** Ends all connections, and stops the embedded server if this process has started one. */
  const close = async () => {
    const all = [owner, pool, health, rates, ...standbys.flatMap(standby => [standby.pool, standby.probe])]
    await Promise.all(all.map(each => each.end({ timeout: endTimeout })))
    await stopServer()
  }
  return { owner, pool, health, rates, standbys, address, close }
}

/**
 * Checks that the database is migrated and that the login may use it.
 *
 * @throws ReasonError with the command that applies missing migrations, or the statement that grants a missing right
 */
export async function requireMigrated({ owner, pool }: Database): Promise<void> {
  const { login, readsMigrations, setsServiceRole } = await readRights(owner)
  const migrate = shellCommand('migrate')
  const forbidden =
    setsServiceRole === null ? reason('ROLE_MISSING', { migrate }) : reason('ROLE_NOT_GRANTED', { login })
  // Checked first, because a login that cannot read the table of migrations would report all migrations as missing.
  if (!readsMigrations && !setsServiceRole) throw new ReasonError(forbidden)
  const missing = await countPendingMigrations(readsMigrations ? owner : pool)
  if (missing > 0) throw new ReasonError(reason('MIGRATIONS_MISSING', { missing, migrate }))
  if (!setsServiceRole) throw new ReasonError(forbidden)
}

/**
 * Runs a command's work on the migrated database, and closes the database afterwards. Uses the embedded server of a
 * running service, if a service runs.
 *
 * @param config default: read from the environment
 * @throws the errors of `withUnmigratedDatabase`, of `requireMigrated` and of the work
 */
export const withDatabase = <Result>(work: (database: Database) => Promise<Result>, config?: Config) =>
  withUnmigratedDatabase(async database => {
    await requireMigrated(database)
    return work(database)
  }, config)

/**
 * Runs work like `withDatabase`, but the database need not be migrated.
 *
 * @param options.attach false for the service itself, which never uses the embedded server of another process
 * @throws the errors of opening and of the work; for a database of an unreleased version an error that names the remedy
 */
export async function withUnmigratedDatabase<Result>(
  work: (database: Database) => Promise<Result>,
  config = readConfig(process.env),
  { attach = true } = {},
): Promise<Result> {
  const database = await openDatabase(config, attach)
  try {
    return await work(database)
  } catch (error) {
    if (!(error instanceof UnreleasedDatabaseError)) throw error
    const remedy = database.embedded
      ? reason('DATA_DIR_UNRELEASED', { directory: config.dataDir })
      : reason('DATABASE_UNRELEASED', { migrate: shellCommand('migrate'), demo: shellCommand('demo') })
    throw new ReasonError(remedy, { cause: error })
  } finally {
    await database.close()
  }
}
