import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { type Reason, ReasonError, reason } from '../reasons.ts'
import { retryLocks } from './lock-retries.ts'
import { describePlainMappings, hasMappings, installMappings, type Mapping, readKindOfTables } from './mappings.ts'
import { releasesBetween } from './releases.ts'
import type { Pool, Sql } from './sql.ts'

/** The key of the advisory lock of a migration: any number, the same for all instances. */
const migrationLock = 7_302_155_601

/**
 * Times in milliseconds. Statements that need a lock queue behind a migration that waits for it, so a migration waits
 * for a short time, lets the others run first, and tries again.
 */
const times = { lock: 100, connectionCheck: 500 }

/** The time for which a migration tries to get its locks by default, in seconds. */
export const defaultLockWait = 300

/** The migrations of a database differ from the files in `sql/`: an unreleased version of the service made them. */
export class UnreleasedDatabaseError extends Error {}

/** A file of `sql/`, which is named `<version>.do.<name>.sql`, and is one transaction. */
interface Migration {
  version: number
  file: string
  md5: string
  text: string
}

/** Read once: the files of a running service do not change. */
let own: Migration[] | undefined

function readOwn(): Migration[] {
  const directory = new URL('../../sql/', import.meta.url)
  own ??= readdirSync(directory)
    .filter(file => file.includes('.do.'))
    .sort()
    .map(file => {
      const text = readFileSync(new URL(file, directory), 'utf8')
      return { version: Number(file.split('.')[0]), file, text, md5: createHash('md5').update(text).digest('hex') }
    })
  return own
}

interface MigrationOptions {
  /** The time for which each file tries to get its locks, in seconds. */
  lockWait?: number
  /** The version of the last file to apply; default: the newest. */
  last?: number
  /** The mappings of a platform whose tables are not the plain ones; null: those that the database has stay. */
  adopted?: Mapping[] | null
  /** Called after each attempt that failed, with the transactions that hold the locks. */
  onBlocked?: (holders: string) => void
}

/**
 * Applies the migrations of `sql/` that the database lacks, and the mappings, one process at a time. After an error, or when
 * this process is killed, the next call goes on with the file that was not applied.
 *
 * @returns the file names of the applied migrations, oldest first
 * @throws `UnreleasedDatabaseError`; a ReasonError for a database that another release has to upgrade; an error of the database when a statement fails; an Error that names the transactions
 *   that hold a lock for longer than `lockWait`
 */
export async function migrate(
  sql: Pool,
  { lockWait = defaultLockWait, last = Infinity, adopted, onBlocked }: MigrationOptions = {},
): Promise<string[]> {
  const session = sql.openSession()
  try {
    // Behind a pooler, the settings of a session would stay for its next client.
    const lacksNone = (await readMissing(session)).length === 0
    if (lacksNone && (adopted === null || (await hasMappings(session, adopted)))) return []
    const pid = await prepareSession(session)
    const attempt = retryLocks(sql, pid, {
      ...{ lockWait, onBlocked, subject: 'The migration' },
      remedy: 'The files that were applied so far stay: end that transaction, and run the migration again.',
    })
    await attempt(() => session`select /* migration.lock */ pg_advisory_lock(${migrationLock})`)
    const applied: string[] = []
    for (const migration of await readMissing(session)) {
      if (migration.version > last) break
      await attempt(() => run(session, migration))
      applied.push(migration.file)
    }
    if (last === Infinity && adopted !== null) await attempt(() => installMappings(session, adopted))
    return applied
  } finally {
    await session.end({ timeout: 1 })
  }
}

/**
 * Prepares the session of a migration: no time limit for statements, one for locks. A commit does not wait for the disk or
 * a standby, because writers wait for the locks until its end. The server ends a statement soon after this process has
 * been killed (not a server on Windows, which cannot see that).
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

/** Runs a file and records it. PostgreSQL runs the statements of one message in one transaction. */
const run = (session: Sql, { version, file, md5, text }: Migration) =>
  session.unsafe(`${text}\n${recordOf(version, file, md5)}`).simple()

const recordOf = (version: number, file: string, md5: string) =>
  `insert /* migration.record */ into gateway.migration (version, name, md5) values (${version}, '${file}', '${md5}')`

/** Returns whether the database has any migration. */
export async function hasSchema(sql: Sql): Promise<boolean> {
  const [table] = await sql<[{ exists: boolean }]>`
    select /* migration.table_exists */ to_regclass('gateway.migration') is not null as exists`
  return table.exists
}

/** Applies all migrations in the transaction of the caller, without mappings. The database has none. */
export async function createSchema(transaction: Sql): Promise<void> {
  for (const migration of readOwn()) await run(transaction, migration)
}

/** The migrations of a database. */
export interface MigrationState {
  /** When each file of `sql/` was applied, as an ISO-8601 time; null for those that the database lacks. */
  files: { file: string; appliedAt: string | null }[]
  missing: Migration[]
  /** The files that `sql/` does not have, because a newer version of the service applied them. */
  newer: string[]
  /** The last migration of the database, and that of this version. */
  from: number
  to: number
}

/** Reads the migrations of a database. @throws `UnreleasedDatabaseError` */
export async function readMigrations(sql: Sql): Promise<MigrationState> {
  const own = readOwn()
  const rows = (await hasSchema(sql))
    ? await sql<{ version: number; name: string; md5: string | null; applied_at: string }[]>`
        select /* migration.read */ version, name, md5, to_json(run_at) #>> '{}' as applied_at
        from gateway.migration order by version`
    : []
  const applied = new Map(rows.map(row => [row.version, row]))
  const different = own.find(({ version, md5 }) => applied.has(version) && applied.get(version)?.md5 !== md5)
  if (different) {
    const problem = `migration ${different.version} is not the one in sql/`
    throw new UnreleasedDatabaseError(`The database cannot be upgraded: ${problem}.`)
  }
  const to = own.at(-1)?.version ?? 0
  return {
    files: own.map(({ version, file }) => ({ file, appliedAt: applied.get(version)?.applied_at ?? null })),
    missing: own.filter(({ version }) => !applied.has(version)),
    newer: rows.filter(({ version }) => version > to).map(({ name }) => name),
    from: rows.at(-1)?.version ?? 0,
    to,
  }
}

/** Returns the reason why this version does not upgrade a database: it skips a stop, or the database is newer. */
export async function refuseUpgrade(sql: Sql, { newer, from, to }: MigrationState): Promise<Reason | null> {
  if (newer.length > 0) return reason('DATABASE_NEWER', { files: newer.join(', ') })
  const [next] = releasesBetween(from, to).stops
  // A first installation that was interrupted has no records that a release in between would have to change.
  if (next === undefined || (await readKindOfTables(sql)) === null) return null
  return reason('RELEASE_SKIPPED', { release: next })
}

/** Reads the migrations that a database lacks. @throws `UnreleasedDatabaseError`, and a ReasonError of `refuseUpgrade` */
async function readMissing(sql: Sql): Promise<Migration[]> {
  const state = await readMigrations(sql)
  const refused = await refuseUpgrade(sql, state)
  if (refused) throw new ReasonError(refused)
  return state.missing
}

const describeMigration = ({ version, file, md5, text }: Migration) =>
  `-- ${file}\nbegin;\n${text}\n${recordOf(version, file, md5)};\ncommit;`

/** Returns the SQL of all migrations, each with the statement that records it. */
export const describeMigrations = (): string[] => readOwn().map(describeMigration)

/** Returns the SQL that `migrate` would run. @throws as `migrate` */
export async function describeUpgrade(sql: Sql): Promise<string[]> {
  const missing = await readMissing(sql)
  if (missing.length === 0 && (await hasMappings(sql))) return []
  return [...missing.map(describeMigration), ...(await describePlainMappings(sql))]
}

/** Returns the number of migrations of `sql/` that the database lacks. @throws `UnreleasedDatabaseError` */
export const countMissingMigrations = async (sql: Sql): Promise<number> => (await readMigrations(sql)).missing.length
