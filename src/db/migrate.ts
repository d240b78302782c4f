import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Postgrator from 'postgrator'
import { type Blocker, describeBlocker, watchBlockers } from './blockers.ts'
import type { Pool, Sql } from './connect.ts'

const migrationPattern = fileURLToPath(new URL('../../sql/*.sql', import.meta.url))

/** The key of the advisory lock of a migration: any number, the same for all instances. */
const migrationLock = 7_302_155_601

/**
 * Times in milliseconds. Statements that need a lock queue behind one that waits for it, so a migration waits for a short
 * time, lets the others go first, and tries again. `lock` is below `deadlock_timeout`, which would end a writer.
 */
const times = { lock: 500, retry: 1_500, connectionCheck: 500 }

/** How long a migration tries to get its locks, by default, in seconds. */
export const defaultLockWait = 300

/** The SQLSTATEs of a lock that another transaction holds: `lock_timeout`, and a deadlock. */
const lockConflict = /^(55P03|40P01)$/

/** The migrations of a database differ from the files in `sql/`, as those of unreleased versions of the service do. */
export class UnreleasedDatabaseError extends Error {}

const createPostgrator = (sql: Sql) =>
  new Postgrator({
    driver: 'pg',
    migrationPattern,
    schemaTable: 'gateway.migration',
    // Compared below, for all commands and for versions that are newer, too.
    validateChecksums: false,
    execQuery: async query => ({ rows: await sql.unsafe(query).simple() }),
  })

/** What `migrate` may be told. */
interface MigrationOptions {
  /** How long each file tries to get its locks, in seconds. */
  lockWait?: number
  /** Called after each attempt that failed, with the transactions that hold the locks. */
  onBlocked?: (blockers: Blocker[]) => void
}

/**
 * Applies the migrations of `sql/` that the database lacks, each in a transaction of its own, one process at a time. After
 * an error, or when this process is killed, the next call goes on with the file that was not applied.
 *
 * @returns the file names of the applied migrations, oldest first
 * @throws `UnreleasedDatabaseError`; an error of the database when a statement fails; an Error that names the transactions
 *   that hold a lock for longer than `lockWait`
 */
export async function migrate(
  sql: Pool,
  { lockWait = defaultLockWait, onBlocked }: MigrationOptions = {},
): Promise<string[]> {
  const applied: string[] = []
  for (;;) {
    const file = await applyNext(sql, performance.now() + lockWait * 1000, onBlocked)
    if (file === null) return applied
    applied.push(file)
  }
}

/** Applies the first migration that the database lacks, in as many attempts as its locks take; null when it lacks none. */
async function applyNext(
  sql: Pool,
  deadline: number,
  onBlocked: MigrationOptions['onBlocked'],
): Promise<string | null> {
  for (;;) {
    const done = new AbortController()
    let blockers: Promise<Blocker[]> = Promise.resolve([])
    try {
      return await sql.begin(async transaction => {
        const pid = await prepareSession(transaction)
        blockers = watchBlockers(sql, pid, done.signal).catch(() => [])
        await transaction`select /* migration.lock */ pg_advisory_xact_lock(${migrationLock})`
        const { applied, own } = await readVersions(transaction)
        const next = own.find(version => !applied.includes(version))
        if (next === undefined) return null
        const [migration] = await createPostgrator(transaction).migrate(String(next))
        return migration?.filename.replace(/^.*[\\/]/, '') ?? null
      })
    } catch (error) {
      done.abort()
      if (!(error instanceof Error && 'code' in error && lockConflict.test(String(error.code)))) throw error
      const found = await blockers
      if (performance.now() > deadline) throw blockedError(found, error)
      onBlocked?.(found)
    } finally {
      done.abort()
    }
    await pause(times.retry)
  }
}

function blockedError(blockers: readonly Blocker[], cause: Error): Error {
  const holders = blockers.map(describeBlocker).join('; ') || 'another transaction'
  return new Error(
    `The migration did not get a lock that it needs. It is held by ${holders}. The files that were applied so far stay: ` +
      'end that transaction, and run the migration again.',
    { cause },
  )
}

/**
 * Prepares the session of a migration: no time limit for statements, one for locks, and the server ends the transaction
 * soon after this process has been killed (not a server on Windows, which cannot see that).
 *
 * @returns the process id of its backend
 */
async function prepareSession(transaction: Sql): Promise<number> {
  await transaction.unsafe(`do /* migration.check_connection */ $$ begin
    set local client_connection_check_interval = ${times.connectionCheck};
  exception when invalid_parameter_value then null; end $$`)
  const [session] = await transaction<{ pid: number }[]>`
    select /* migration.prepare */ pg_backend_pid() as pid, set_config('statement_timeout', '0', true),
           set_config('lock_timeout', ${String(times.lock)}, true)`
  return session?.pid ?? 0
}

/** The checksums of the files in `sql/` by version. Read once: the files of a running service do not change. */
let ownChecksums: Promise<Map<number, string>> | undefined

async function readVersions(sql: Sql): Promise<{ applied: number[]; own: number[] }> {
  ownChecksums ??= createPostgrator(sql)
    .getMigrations()
    .then(migrations => new Map(migrations.map(({ version, md5 }) => [version, md5])))
  const own = await ownChecksums
  const [table] = await sql<{ exists: boolean }[]>`
    select /* migration.table_exists */ to_regclass('gateway.migration') is not null as exists`
  if (!table?.exists) return { applied: [], own: [...own.keys()] }
  const applied = await sql<{ version: number; md5: string | null }[]>`
    select /* migration.read */ version, md5 from gateway.migration where version > 0 order by version`
  const different = applied.find(({ version, md5 }) => own.has(version) && own.get(version) !== md5)
  if (different) {
    const problem = `migration ${different.version} is not the one in sql/`
    throw new UnreleasedDatabaseError(`The database cannot be upgraded: ${problem}.`)
  }
  return { applied: applied.map(({ version }) => version), own: [...own.keys()] }
}

/** Returns how many migrations of `sql/` the database lacks. @throws `UnreleasedDatabaseError` */
export async function countMissingMigrations(sql: Sql): Promise<number> {
  const { applied, own } = await readVersions(sql)
  return own.filter(version => !applied.includes(version)).length
}

/**
 * Returns whether the database has a migration that `sql/` lacks, as while instances of a newer version are started.
 *
 * @throws `UnreleasedDatabaseError`
 */
export async function isNewerThanCode(sql: Sql): Promise<boolean> {
  const { applied, own } = await readVersions(sql)
  return applied.some(version => !own.includes(version))
}
