import { fileURLToPath } from 'node:url'
import Postgrator from 'postgrator'
import type { Pool, Sql } from './connect.ts'

const migrationPattern = fileURLToPath(new URL('../../sql/*.sql', import.meta.url))

/** The key of the advisory lock of a migration: any number, the same for all instances. */
const migrationLock = 7_302_155_601

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

/**
 * Applies the migrations of `sql/` that the database lacks, all or none of them, one process at a time.
 *
 * @returns the file names of the applied migrations, oldest first
 * @throws `UnreleasedDatabaseError`; an error of the database when a statement fails. The database is then unchanged.
 */
export async function migrate(sql: Pool): Promise<string[]> {
  return sql.begin(async transaction => {
    await transaction`select /* migration.lock */ pg_advisory_xact_lock(${migrationLock})`
    await transaction`select /* migration.timeout */ set_config('statement_timeout', '0', true)`
    await readVersions(transaction)
    const applied = await createPostgrator(transaction).migrate()
    return applied.map(migration => migration.filename.replace(/^.*[\\/]/, ''))
  })
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
