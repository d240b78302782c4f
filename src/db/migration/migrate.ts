import { retryLocks } from '../connection/lock-retries.ts'
import { captureMissing, hasMappings, installMappings, type Mapping } from '../mapping/mappings.ts'
import { inSession, type Pool, type Sql } from '../sql.ts'
import { makeDefinitions, readDefinitions } from './definitions.ts'
import { filesBeforeTransaction, isAlone, isUpToDate, type Migration, readOwn, readUpgrade } from './migrations.ts'
import {
  completionOf,
  needsCaptureAgain,
  needsPreparationAgain,
  preparationFor,
  recapture,
  recordOf,
} from './upgrade-statements.ts'

/** The files that a migration has run, or would run, in their order. */
export interface Upgrade {
  /** Files of `sql/`, which are applied once. */
  applied: string[]
  /** Files of `sql/functions`, which are run again when they have changed. */
  made: string[]
}

/** The key of the advisory lock of a migration: any number, the same for all instances. */
const migrationLock = 7_302_155_601

/**
 * Times in milliseconds. Statements that need a lock queue behind a migration that waits for it, so a migration waits
 * for a short time, lets the others run first, and tries again.
 */
const times = { lock: 100, connectionCheck: 500 }

/** The time for which a migration tries to get its locks by default, in seconds. */
export const defaultLockWait = 300

interface MigrationOptions {
  /** The time for which a migration tries to get its locks, in seconds. */
  lockWait?: number
  /** The mappings of a platform whose tables are not the plain ones; null to keep the mappings of the database. */
  adopted?: Mapping[] | null
  /** Called after each attempt that failed, with the transactions that hold the locks. */
  onBlocked?: (holders: string) => void
}

/**
 * Brings a database up to date, one process at a time: missing migrations of `sql/`, missing or different definitions,
 * and the mappings, in one transaction: after an error, or the end of this process, the database is as before. Files up
 * to the last that cannot be in a transaction come before it, and can be repeated. After it, sources are captured, a
 * table at a time.
 *
 * @throws `UnreleasedDatabaseError`; a ReasonError for a database that another release has to upgrade; an error of the
 * database when a statement fails; an Error that names the transactions that hold a lock for longer than `lockWait`
 */
export async function migrate(
  sql: Pool,
  { lockWait = defaultLockWait, adopted, onBlocked }: MigrationOptions = {},
): Promise<Upgrade> {
  return inSession(sql, async session => {
    // Settings come later: behind a pooler they would stay for the session's next client.
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
      await attempt(async () => void (await (isAlone(migration) ? runAlone : run)(session, migration)))
      applied.push(migration.file)
    }
    const upgrade = await attempt(() => upgradeIn(session, adopted))
    if (adopted !== null) await attempt(() => captureMissing(session))
    return { ...upgrade, applied: [...applied, ...upgrade.applied] }
  })
}

/** Makes the upgrade in one transaction of the session. @param adopted as for `migrate` */
async function upgradeIn(session: Sql, adopted: Mapping[] | null | undefined): Promise<Upgrade> {
  const execute = (text: string) => session.unsafe(text).simple()
  await execute('begin /* migration.begin */')
  try {
    const { missing, changed } = await readUpgrade(session)
    for (const migration of missing) await run(session, migration)
    await makeDefinitions(session, changed)
    // The functions of a mapping depend on the functions that create them, and on the fields of the type.
    if (missing.length > 0 || needsPreparationAgain(changed)) await execute(preparationFor(changed))
    if (needsCaptureAgain(changed)) await execute(recapture)
    if (adopted !== null) await installMappings(session, adopted)
    await execute(completionOf(missing))
    await execute('commit /* migration.commit */')
    return { applied: missing.map(({ file }) => file), made: changed.map(({ file }) => file) }
  } catch (error) {
    await execute('rollback /* migration.roll_back */').catch(() => {}) // A lost connection has ended it.
    throw error
  }
}

/**
 * Prepares the session of a migration: no time limit for statements, one for locks. A commit does not wait for the disk
 * or a standby, because writers wait for its locks. The server ends a statement soon after this process has been killed
 * (not a server on Windows, which cannot see that).
 *
 * @returns the process id of its backend
 */
async function prepareSession(session: Sql): Promise<number> {
  await session.unsafe(`do /* migration.check_connection */ $$ begin
    perform set_config('client_connection_check_interval', '${times.connectionCheck}', false);
  exception when invalid_parameter_value then null; end $$`)
  const [row] = await session<[{ pid: number }]>`
    select /* migration.prepare */ pg_backend_pid() as pid, set_config('statement_timeout', '0', false),
           set_config('lock_timeout', ${String(times.lock)}, false), set_config('synchronous_commit', 'off', false)`
  return row.pid
}

/** Runs a file that cannot be in a transaction, one statement at a time, and records it. */
async function runAlone(session: Sql, migration: Migration): Promise<void> {
  for (const statement of migration.text.split(/;\n/)) if (statement.trim()) await session.unsafe(statement).simple()
  await session.unsafe(recordOf(migration)).simple()
}

/** Runs a file and records it. PostgreSQL runs the statements of one message in one transaction. */
const run = (session: Sql, migration: Migration) => session.unsafe(`${migration.text}\n${recordOf(migration)}`).simple()

/** Applies all migrations and definitions in the transaction of the caller, without mappings. The database has none. */
export async function createSchema(transaction: Sql): Promise<void> {
  for (const migration of readOwn()) await run(transaction, migration)
  await makeDefinitions(transaction, readDefinitions())
}
