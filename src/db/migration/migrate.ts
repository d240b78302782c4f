import { retryLocks } from '../connection/lock-retries.ts'
import { captureMissing, hasMappings, installMappings, type Mapping } from '../mapping/mappings.ts'
import { inSession, type Pool, type Sql } from '../sql.ts'
import { makeDefinitions, readDefinitions } from './definitions.ts'
import {
  filesBeforeTransaction,
  isAlone,
  isUpToDate,
  type Migration,
  readMigrationFiles,
  readUpgrade,
} from './migrations.ts'
import {
  completionStatements,
  needsCaptureAgain,
  needsPreparationAgain,
  preparationStatement,
  recaptureStatement,
  recordStatement,
} from './upgrade-statements.ts'

/** The files that an upgrade has run, or would run, in the order of their execution. */
export interface Upgrade {
  /** Files of `sql/`, each of which is applied only once. */
  applied: string[]
  /** Files of `sql/functions`, each of which runs again after a change. */
  made: string[]
}

/** The key of the advisory lock of a migration: an arbitrary number, the same for all instances. */
const migrationLock = 7_302_155_601

/**
 * Times in milliseconds. While a migration waits for a lock, all later statements that need the lock wait behind the
 * migration. So a migration waits only for a short time, then lets the other statements run, and tries again.
 */
const limitsMs = { lock: 100, connectionCheck: 500 }

/** The default of `lockWait`, in seconds. */
export const defaultLockWait = 300

interface MigrationOptions {
  /** The time for which a migration tries to get all locks, in seconds. */
  lockWait?: number
  /** The mappings of a platform whose tables are not the plain ones; null to keep the mappings of the database. */
  adopted?: Mapping[] | null
  /** Called after each attempt that failed, with the transactions that hold the locks. */
  onBlocked?: (holders: string) => void
}

/**
 * Brings a database up to date; only one process at a time can do so. One transaction applies the missing migrations of
 * `sql/`, the missing or different definitions, and the mappings, so an error or a killed process changes nothing. When
 * a file cannot run in a transaction, this file and all files before it run first; they can be repeated. After the
 * transaction, the sources are captured, one table per transaction.
 *
 * @throws `UnreleasedDatabaseError`; a ReasonError when another release has to upgrade the database; an error of the
 * database when a statement fails; an Error that names the transactions that hold a lock for longer than `lockWait`
 */
export async function migrate(
  sql: Pool,
  { lockWait = defaultLockWait, adopted, onBlocked }: MigrationOptions = {},
): Promise<Upgrade> {
  return inSession(sql, async session => {
    // The settings are made later: behind a pooler, the next client of the session would also have them.
    const isCurrent =
      isUpToDate(await readUpgrade(session)) && (adopted === null || (await hasMappings(session, adopted)))
    if (isCurrent) return { applied: [], made: [] }
    const pid = await prepareSession(session)
    const attempt = retryLocks(sql, pid, {
      ...{ lockWait, onBlocked, subject: 'The migration' },
      remedy: 'The database is as it was: end that transaction, and run the migration again.',
    })
    await attempt(() => session`select /* migration.lock */ pg_advisory_lock(${migrationLock})`)
    const applied: string[] = []
    for (const migration of filesBeforeTransaction((await readUpgrade(session)).missing)) {
      await attempt(
        async () => void (await (isAlone(migration) ? runOutsideTransaction : runMigration)(session, migration)),
      )
      applied.push(migration.file)
    }
    const upgrade = await attempt(() => upgradeIn(session, adopted))
    if (adopted !== null) await attempt(() => captureMissing(session))
    return { ...upgrade, applied: [...applied, ...upgrade.applied] }
  })
}

/** Runs the upgrade in one transaction of the session. @param adopted as for `migrate` */
async function upgradeIn(session: Sql, adopted: Mapping[] | null | undefined): Promise<Upgrade> {
  const execute = (text: string) => session.unsafe(text).simple()
  await execute('begin /* migration.begin */')
  try {
    const { missing, changed } = await readUpgrade(session)
    for (const migration of missing) await runMigration(session, migration)
    await makeDefinitions(session, changed)
    // The functions of a mapping depend on the functions that create them, and on the fields of the type.
    if (missing.length > 0 || needsPreparationAgain(changed)) await execute(preparationStatement(changed))
    if (needsCaptureAgain(changed)) await execute(recaptureStatement)
    if (adopted !== null) await installMappings(session, adopted)
    await execute(completionStatements(missing))
    await execute('commit /* migration.commit */')
    return { applied: missing.map(({ file }) => file), made: changed.map(({ file }) => file) }
  } catch (error) {
    await execute('rollback /* migration.roll_back */').catch(() => {}) // A lost connection has ended it.
    throw error
  }
}

/**
 * Prepares the session of a migration: statements have no time limit, waits for locks have one. A commit does not wait
 * for the disk or a standby, because writers wait for the locks of the migration. When this process is killed, the
 * server soon cancels the running statement (a server on Windows cannot detect this).
 *
 * @returns the process id of the session's backend
 */
async function prepareSession(session: Sql): Promise<number> {
  await session.unsafe(`do /* migration.check_connection */ $$ begin
    perform set_config('client_connection_check_interval', '${limitsMs.connectionCheck}', false);
  exception when invalid_parameter_value then null; end $$`)
  const [row] = await session<[{ pid: number }]>`
    select /* migration.prepare */ pg_backend_pid() as pid, set_config('statement_timeout', '0', false),
           set_config('lock_timeout', ${String(limitsMs.lock)}, false), set_config('synchronous_commit', 'off', false)`
  return row.pid
}

/** Runs the statements of a file that cannot be in a transaction one by one, and records the file. */
async function runOutsideTransaction(session: Sql, migration: Migration): Promise<void> {
  for (const statement of migration.text.split(/;\n/)) if (statement.trim()) await session.unsafe(statement).simple()
  await session.unsafe(recordStatement(migration)).simple()
}

/** Runs and records a file in one message, because PostgreSQL runs all statements of one message in one transaction. */
const runMigration = (session: Sql, migration: Migration) =>
  session.unsafe(`${migration.text}\n${recordStatement(migration)}`).simple()

/** Applies all migrations and definitions in the transaction of the caller, without mappings. The database has none. */
export async function createSchema(transaction: Sql): Promise<void> {
  for (const migration of readMigrationFiles()) await runMigration(transaction, migration)
  await makeDefinitions(transaction, readDefinitions())
}
