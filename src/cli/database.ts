import type { Config } from '../config.ts'
import { connect, type DatabaseAddress, type Pool, serviceRole } from '../db/connect.ts'
import { requireCorrectedDriver } from '../db/driver.ts'
import { attachEmbedded, startEmbedded } from '../db/embedded.ts'
import { countMissingMigrations, UnreleasedDatabaseError } from '../db/migrate.ts'
import { readRights } from '../db/rights.ts'
import { GatewayError } from '../domain/errors.ts'
import { shellCommand } from './shell-command.ts'
import { unreleasedDatabase, unusableDatabase, unusableDataDirectory } from './database-errors.ts'

/** The most time that the server gives a statement, in milliseconds. */
export const statementTimeoutMs = 10_000

/** A database that is ours to use until it is closed. */
export interface Database {
  /** As the role that logs in: for what the service does not do, such as migrations. */
  owner: Pool
  /** As the service's own role. It is there once the database is migrated. */
  pool: Pool
  /** Whether it is an embedded server, which the service looks after itself. */
  embedded: boolean
  /** Whether it is the embedded server of a service that runs beside this command. */
  attached: boolean
  close(): Promise<void>
}

/**
 * Opens the database that the configuration names; without `DATABASE_URL` an embedded server is started.
 *
 * @param options.attach whether to use the embedded server of a running service when there is one
 * @throws Error when the driver is not the corrected one; when the database cannot be used, naming the variable to change
 */
async function openDatabase(config: Config, options: { attach: boolean }): Promise<Database> {
  requireCorrectedDriver()
  const settings = { max: config.databasePool, statementTimeoutMs }
  const open = (address: DatabaseAddress) => {
    const owner = connect(address, settings)
    const pool = connect(address, { ...settings, role: serviceRole })
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
      throw unusableDatabase(config.databaseUrl, error)
    }
    return { ...opened, embedded: false, attached: false }
  }
  const { server, attached } = await openEmbedded(config.dataDir, options).catch(error => {
    throw unusableDataDirectory(config.dataDir, error)
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
 * @throws when the database lacks migrations, naming the command that applies them; when the login lacks a right,
 *   naming the statement that gives it
 */
export async function requireMigrated({ owner, pool }: Database): Promise<void> {
  const { login, readsMigrations, setsServiceRole } = await readRights(owner)
  // A login that cannot read the migrations would take the database for an empty one.
  if (!readsMigrations && !setsServiceRole) {
    throw new GatewayError(
      'UNAVAILABLE',
      `The login ${login} may not look into the schema gateway. ${wayIn(login, setsServiceRole)}`,
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
      `The login ${login} may not work as the role ${serviceRole}. ${wayIn(login, setsServiceRole)}`,
    )
  }
}

const wayIn = (login: string, setsServiceRole: boolean | null) =>
  setsServiceRole === null
    ? `There is no role ${serviceRole} yet either: let the owner of the schema apply the migrations.`
    : `Let an administrator of the database run: grant ${serviceRole} to ${login};`

/** @throws when the database is a standby, which does not see who is writing on the primary */
export async function requirePrimary(pool: Pool): Promise<void> {
  const [row] = await pool<{ standby: boolean }[]>`select /* database.is_standby */ pg_is_in_recovery() as standby`
  if (!row?.standby) return
  throw new GatewayError('UNAVAILABLE', 'The database is a standby. Name its primary in DATABASE_URL.')
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

/** The same for the service itself, which never uses the embedded server of another one. */
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
    throw error instanceof UnreleasedDatabaseError ? unreleasedDatabase(config, error) : error
  } finally {
    await database.close()
  }
}
