import { fileURLToPath } from 'node:url'
import Postgrator from 'postgrator'
import type { Pool, Sql } from './connect.ts'

const migrationPattern = fileURLToPath(new URL('../../sql/*.sql', import.meta.url))

/** Any number will do, as long as every instance that migrates takes the same one. */
const migrationLock = 7_302_155_601

const migrator = (sql: Sql) =>
  new Postgrator({
    driver: 'pg',
    migrationPattern,
    schemaTable: 'gateway.migration',
    execQuery: async query => ({ rows: await sql.unsafe(query).simple() }),
  })

/**
 * Applies the migrations of `sql/` that the database lacks, all or none of them, one migrator at a time.
 *
 * @returns the file names of those applied now, oldest first
 * @throws when a statement fails, or an applied file has been changed since; the database is then as it was
 */
export async function migrate(sql: Pool): Promise<string[]> {
  return sql.begin(async transaction => {
    await transaction`select /* migration.lock */ pg_advisory_xact_lock(${migrationLock})`
    await transaction`select /* migration.patience */ set_config('statement_timeout', '0', true)`
    const applied = await migrator(transaction).migrate()
    return applied.map(migration => migration.filename.replace(/^.*[\\/]/, ''))
  })
}

/** The versions in `sql/`, as they were when they were first asked for: a running service does not change. */
let knownVersions: Promise<number[]> | undefined

async function readVersions(sql: Sql): Promise<{ current: number; known: number[] }> {
  const migrations = migrator(sql)
  const current = await migrations.getDatabaseVersion()
  knownVersions ??= migrations.getMigrations().then(found => found.map(migration => migration.version))
  return { current, known: await knownVersions }
}

/**
 * @returns how many migrations of `sql/` the database lacks; 0 when it is up to date (or newer than this code)
 */
export async function countMissingMigrations(sql: Sql): Promise<number> {
  const { current, known } = await readVersions(sql)
  return known.filter(version => version > current).length
}

/** @returns whether the database has a migration that `sql/` lacks, as while instances of a newer version are started */
export async function isNewerThanCode(sql: Sql): Promise<boolean> {
  const { current, known } = await readVersions(sql)
  return current > Math.max(...known)
}
