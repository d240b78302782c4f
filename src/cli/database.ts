import type { Config } from '../config.ts'
import { connect, type DatabaseAddress, type Pool, serviceRole } from '../db/connect.ts'
import { requirePatchedDriver } from '../db/driver.ts'
import { attachEmbedded, startEmbedded } from '../db/embedded.ts'
import { countMissingMigrations, UnreleasedDatabaseError } from '../db/migrate.ts'
import { readRights } from '../db/rights.ts'
import { GatewayError } from '../domain/errors.ts'
import { databaseError, dataDirectoryError, unreleasedDatabaseError } from './database-errors.ts'
import { shellCommand } from './shell-command.ts'

/** The statement timeout of every connection, in milliseconds. */
const statementTimeoutMs = 10_000

/** Longer than a statement may take, and shorter than a request may (server.ts); in milliseconds. */
const silenceTimeoutMs = 12_000

/** An open database. */
export interface Database {
  /** Connections as the login role, for migrations and other work outside the service. */
  owner: Pool
  /** Connections as the service's own role, which exists once the database is migrated. */
  pool: Pool
  /** Whether it is an embedded server. */
  embedded: boolean
  /** Whether another process, the running service, started the embedded server. */
  attached: boolean
  /** Ends all connections, and stops an embedded server that this process started. */
  close(): Promise<void>
}

/**
 * Opens the database that the configuration names; without `DATABASE_URL` an embedded server is started.
 *
 * @param options.attach whether to use the embedded server of a running service when there is one
 * @returns the open database; the caller closes it
 * @throws Error when the driver is not the patched one, or when the database cannot be used; the message names the
 *   variable to change
 */
async function openDatabase(config: Config, options: { attach: boolean }): Promise<Database> {
  requirePatchedDriver()
  const settings = { max: config.databasePool, statementTimeoutMs }
  const open = (address: DatabaseAddress) => {
    const owner = connect(address, settings)
    // Migrations and demo data run as the owner, and their statements have no time limit.
    const pool = connect(address, { ...settings, silenceTimeoutMs, role: serviceRole })
    const close = async () => {
      await Promise.all([owner.end({ timeout: 5 }), pool.end({ timeout: 5 })])
    }
    return { owner, pool, close }
  }
  if (config.databaseUrl !== undefined) {
    const opened = open(config.databaseUrl)
    try {
      await opened.owner`select /* database.reach */ 1`
    } catch (error) {
      await opened.close()
      throw databaseError(config.databaseUrl, error)
    }
    return { ...opened, embedded: false, attached: false }
  }
  const { server, attached } = await openEmbedded(config.dataDir, options).catch(error => {
    throw dataDirectoryError(config.dataDir, error)
  })
  const { host, port, user, database } = server
  const { close, ...pools } = open({ host, port, user, database })
  return {
    ...pools,
    embedded: true,
    attached,
    async close() {
      await close()
      await server.stop()
    },
  }
}

async function openEmbedded(dataDir: string, options: { attach: boolean }) {
  const running = options.attach ? await attachEmbedded(dataDir) : null
  return { server: running ?? (await startEmbedded({ dataDir })), attached: running !== null }
}

/**
 * Checks that the database is migrated and that the login may use it.
 *
 * @throws GatewayError that names the command which applies missing migrations, or the statement which grants a missing
 *   right
 */
export async function requireMigrated({ owner, pool }: Database): Promise<void> {
  const { login, readsMigrations, setsServiceRole } = await readRights(owner)
  // A login that cannot read the migrations would report that all of them are missing.
  if (!readsMigrations && !setsServiceRole) {
    throw new GatewayError(
      'UNAVAILABLE',
      `The login ${login} has no access to the schema gateway. ${grantRemedy(login, setsServiceRole)}`,
    )
  }
  const missing = await countMissingMigrations(readsMigrations ? owner : pool)
  if (missing > 0) {
    throw new GatewayError(
      'UNAVAILABLE',
      `The database lacks ${missing} migration${missing === 1 ? '' : 's'}. Apply them first: ${shellCommand('migrate')}`,
    )
  }
  if (!setsServiceRole) {
    throw new GatewayError(
      'UNAVAILABLE',
      `The login ${login} is not a member of the role ${serviceRole}. ${grantRemedy(login, setsServiceRole)}`,
    )
  }
}

const grantRemedy = (login: string, setsServiceRole: boolean | null) =>
  setsServiceRole === null
    ? `The role ${serviceRole} does not exist yet: the owner of the schema has to apply the migrations.`
    : `A database administrator has to run: grant ${serviceRole} to ${login};`

/**
 * Checks that the database is a primary: a standby does not show which transactions are open on the primary.
 *
 * @throws GatewayError when it is a standby
 */
export async function requirePrimary(pool: Pool): Promise<void> {
  const [row] = await pool<{ standby: boolean }[]>`select /* database.is_standby */ pg_is_in_recovery() as standby`
  if (!row?.standby) return
  throw new GatewayError('UNAVAILABLE', 'The database is a standby. Set DATABASE_URL to its primary.')
}

/**
 * Runs a command's work on the database, and closes the database afterwards. Uses the embedded server of a running service
 * when there is one.
 *
 * @throws what opening the database and the work throw; for a database of an unreleased version an error that names the
 *   remedy
 */
export const withDatabase = <Result>(config: Config, work: (database: Database) => Promise<Result>) =>
  runOnDatabase(config, { attach: true }, work)

/** Does the same as `withDatabase` for the service itself, which never uses the embedded server of another process. */
export const withOwnDatabase = <Result>(config: Config, work: (database: Database) => Promise<Result>) =>
  runOnDatabase(config, { attach: false }, work)

async function runOnDatabase<Result>(
  config: Config,
  options: { attach: boolean },
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = await openDatabase(config, options)
  try {
    return await work(database)
  } catch (error) {
    throw error instanceof UnreleasedDatabaseError ? unreleasedDatabaseError(config, error) : error
  } finally {
    await database.close()
  }
}
