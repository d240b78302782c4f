/** The migrations of `sql/`, and the state of a database: its migrations and definitions. */
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

/** The migrations of a database differ from the files in `sql/`: an unreleased version of the service made them. */
export class UnreleasedDatabaseError extends Error {}

/** A file of `sql/`, which is named `<version>.do.<name>.sql`; `.alone.` when it cannot be in a transaction, and can be repeated. */
export interface Migration {
  version: number
  file: string
  md5: string
  text: string
}

/** Read once: the files of a running service do not change. */
let own: Migration[] | undefined

/** Returns the migrations of this version, in their order. */
export function readOwn(): Migration[] {
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

/** Returns whether a migration cannot be in a transaction. */
export const isAlone = ({ file }: Migration) => file.includes('.alone.')

/** Returns the files up to the last that cannot be in a transaction: they come before the transaction of the upgrade. */
export const filesBeforeTransaction = (missing: Migration[]) => missing.slice(0, missing.findLastIndex(isAlone) + 1)

/** Returns whether the database has any migration. */
export async function hasSchema(sql: Sql): Promise<boolean> {
  const [table] = await sql<[{ exists: boolean }]>`
    select /* migration.table_exists */ to_regclass('gateway.migration') is not null as exists`
  return table.exists
}

/** The migrations of a database. */
export interface MigrationState {
  /** When each file of `sql/` was applied, as an ISO-8601 time; null for files that the database lacks. */
  files: { file: string; appliedAt: string | null }[]
  missing: Migration[]
  /**
   * The files of `sql/functions` whose text has changed since the database was made; none when a newer release made it.
   */
  changed: Definition[]
  /** The migrations that a newer version applied and `sql/` lacks. Includes `release 1.4.0` when a newer release wrote definitions. */
  newer: string[]
  /** The last migration of the database, and of this version. */
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
 * Returns the reason why this version does not upgrade a database: another release has to run first, or the database is
 * newer.
 */
export async function refuseUpgrade(sql: Sql, { newer, from, to }: MigrationState): Promise<Reason | null> {
  if (newer.length > 0) return reason('DATABASE_NEWER', { files: newer.join(', ') })
  const [next] = releasesBetween(from, to).stops
  // An interrupted first installation has no records that a release in between would change.
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

/** Returns whether a database is up to date. */
export const isUpToDate = ({ missing, changed }: Pick<MigrationState, 'missing' | 'changed'>) =>
  missing.length === 0 && changed.length === 0

/** Returns the texts of all migrations and definitions. */
export const schemaTexts = (): string[] => [...readOwn(), ...readDefinitions()].map(({ text }) => text)

/** Returns the number of files that are missing or differ in the database. @throws `UnreleasedDatabaseError` */
export async function countMissingMigrations(sql: Sql): Promise<number> {
  const { missing, changed } = await readMigrations(sql)
  return missing.length + changed.length
}
