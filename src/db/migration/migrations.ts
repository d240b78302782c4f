/** Reads the migrations of `sql/`, and compares the migrations and definitions of a database with the files. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { type Reason, ReasonError, reason } from '../../reasons.ts'
import { version } from '../../version.ts'
import { readKindOfTables } from '../mapping/mappings.ts'
import type { Sql } from '../sql.ts'
import { type Definition, readDefinitions } from './definitions.ts'
import { readDrift } from './drift.ts'
import { releasesBetween } from './releases.ts'

/**
 * The error of a database whose migrations differ from the files in `sql/`, because an unreleased version applied them.
 */
export class UnreleasedDatabaseError extends Error {}

/**
 * A file of `sql/`, named `<version>.do.<name>.sql`, or with `.alone.` when it cannot run in a transaction; a file with
 * `.alone.` can be repeated.
 */
export interface Migration {
  version: number
  file: string
  md5: string
  text: string
}

/** Read once: the files of a running service do not change. */
let own: Migration[] | undefined

/** Returns the migrations of this version of the service, in ascending order. */
export function readMigrationFiles(): Migration[] {
  const directory = new URL('../../../sql/', import.meta.url)
  own ??= readdirSync(directory)
    .filter(file => /\.(do|alone)\./.test(file))
    .sort()
    .map(file => {
      const text = readFileSync(new URL(file, directory), 'utf8')
      return { version: Number(file.split('.')[0]), file, text, md5: createHash('md5').update(text).digest('hex') }
    })
  return own
}

/** Returns whether a migration cannot run in a transaction. */
export const isAlone = ({ file }: Migration) => file.includes('.alone.')

/**
 * Returns the files to run before the transaction of the upgrade: all files up to the last that cannot run in a
 * transaction.
 */
export const filesBeforeTransaction = (missing: Migration[]) => missing.slice(0, missing.findLastIndex(isAlone) + 1)

/** Returns whether the database has any migration. */
export async function hasSchema(sql: Sql): Promise<boolean> {
  const [table] = await sql<[{ exists: boolean }]>`
    select /* migration.table_exists */ to_regclass('gateway.migration') is not null as exists`
  return table.exists
}

/** The migrations of a database, compared with the files. */
export interface MigrationState {
  /** The ISO-8601 time at which each file of `sql/` was applied; null for a file that was not applied. */
  files: { file: string; appliedAt: string | null }[]
  missing: Migration[]
  /**
   * The files of `sql/functions` that differ from the definitions of the database; none when a newer release wrote the
   * definitions.
   */
  changed: Definition[]
  /**
   * The migrations of a newer version: the database has them, `sql/` does not. Includes `release 1.4.0` when a newer
   * release wrote definitions.
   */
  newer: string[]
  /** The version of the last migration of the database (`from`) and of this service (`to`). */
  from: number
  to: number
}

/** Reads the migrations of a database. @throws `UnreleasedDatabaseError` */
export async function readMigrations(sql: Sql): Promise<MigrationState> {
  const own = readMigrationFiles()
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
  const made = new Map<string, string>()
  let newerRelease: string | undefined
  if (rows.length > 0) {
    for (const { file, md5, release, isNewer } of await readDefinitionState(sql)) {
      made.set(file, md5)
      if (isNewer) newerRelease = release
    }
  }
  return {
    files: own.map(({ version, file }) => ({ file, appliedAt: applied.get(version)?.applied_at ?? null })),
    missing: own.filter(({ version }) => !applied.has(version)),
    changed: newerRelease === undefined ? readDefinitions().filter(({ file, md5 }) => made.get(file) !== md5) : [],
    newer: [
      ...rows.filter(({ version }) => version > to).map(({ name }) => name),
      ...(newerRelease === undefined ? [] : [`release ${newerRelease}`]),
    ],
    from: rows.at(-1)?.version ?? 0,
    to,
  }
}

const readDefinitionState = (sql: Sql) =>
  sql<{ file: string; md5: string; release: string; isNewer: boolean }[]>`
    select /* definition.read */ file, md5, release,
           string_to_array(split_part(release, '-', 1), '.')::integer[] > string_to_array(split_part(${version}, '-', 1), '.')::integer[]
             as "isNewer"
    from gateway.definition`

/**
 * Returns the reason why this version must not upgrade a database: another release has to upgrade it first, or the
 * database is newer. Null when there is no such reason.
 */
export async function refuseUpgrade(sql: Sql, { newer, from, to }: MigrationState): Promise<Reason | null> {
  if (newer.length > 0) return reason('DATABASE_NEWER', { files: newer.join(', ') })
  const [next] = releasesBetween(from, to).stops
  // After an interrupted first installation there are no records that the skipped release would have to change.
  if (next === undefined || (await readKindOfTables(sql)) === null) return null
  return reason('RELEASE_SKIPPED', { release: next })
}

/**
 * Reads the missing migrations and the changed or drifted definitions.
 *
 * @throws `UnreleasedDatabaseError`, and a ReasonError of `refuseUpgrade`
 */
export async function readUpgrade(sql: Sql): Promise<Pick<MigrationState, 'missing' | 'changed'>> {
  const { missing, changed, ...state } = await readMigrations(sql)
  const refused = await refuseUpgrade(sql, { missing, changed, ...state })
  if (refused) throw new ReasonError(refused)
  const different =
    missing.length === 0 && changed.length === 0 ? new Set((await readDrift(sql)).map(nameOf)) : new Set()
  if (different.size === 0) return { missing, changed }
  return { missing, changed: readDefinitions().filter(({ file }) => different.has(basename(file, '.sql'))) }
}

/** Returns the name of an object without schema and arguments. */
const nameOf = ({ object }: { object: string }) => object.replace(/^gateway\./, '').replace(/\(.*/, '')

/** Returns true when no file is missing and no definition differs. */
export const isUpToDate = ({ missing, changed }: Pick<MigrationState, 'missing' | 'changed'>) =>
  missing.length === 0 && changed.length === 0

/** Returns the texts of all migrations and definitions. */
export const schemaTexts = (): string[] => [...readMigrationFiles(), ...readDefinitions()].map(({ text }) => text)

/** Returns the number of files that an upgrade of the database would run. @throws `UnreleasedDatabaseError` */
export async function countPendingMigrations(sql: Sql): Promise<number> {
  const { missing, changed } = await readMigrations(sql)
  return missing.length + changed.length
}
