/** Builds the statements of an upgrade. `migrate` runs the statements, or prints them for a database administrator. */

import { captureSources, describePlainMappings, hasMappings } from '../mapping/mappings.ts'
import type { Sql } from '../sql.ts'
import { type Definition, describeDefinitions, readDefinitions } from './definitions.ts'
import {
  filesBeforeTransaction,
  hasSchema,
  isAlone,
  isUpToDate,
  type Migration,
  readMigrationFiles,
  readUpgrade,
} from './migrations.ts'

/** Returns the statement that records a migration. */
export const recordStatement = ({ version, file, md5 }: Migration) =>
  `insert /* migration.record */ into gateway.migration (version, name, md5) values (${version}, '${file}', '${md5}')`

/** Returns whether a change of these definitions also changes the functions of mappings. */
export const needsPreparationAgain = (changed: readonly Definition[]) =>
  changed.some(({ file }) => file.startsWith('mapping/'))

/** Returns whether a change of these definitions also changes the triggers on the tables of the platform. */
export const needsCaptureAgain = (changed: readonly Definition[]): boolean =>
  changed.some(({ file }) => file.startsWith('capture/capture'))

/**
 * Returns the statement that makes the functions of mappings again, because a migration may have changed the columns of
 * a type.
 */
export const preparationStatement = (changed: readonly Definition[]) =>
  `call /* mapping.prepare_again */ gateway.prepare_mappings(${needsPreparationAgain(changed)});`

/** Marks all sources, so that their triggers are created again. */
export const recaptureStatement = 'update /* mapping.capture_again */ gateway.rule set is_captured = false;'

/**
 * Returns the SQL that ends an upgrade: it revokes the default privileges that the owner gives to others, and records
 * the state of each object. A table is recorded only after migrations, because other statements may have changed it.
 */
export function completionStatements(missing: readonly Migration[]): string {
  const views = `select oid::regclass::text from pg_class where relnamespace = 'gateway'::regnamespace and relkind = 'v'`
  const noted = missing.length > 0 ? 'true' : `name like '%(%' or name in (${views})`
  return `call /* migration.revoke */ gateway.revoke_from_others();
delete /* drift.forget */ from gateway.made_object where ${noted};
insert /* drift.note */ into gateway.made_object select name, md5, server from gateway.present_object where ${noted};`
}

const describeMigration = (migration: Migration) =>
  `-- ${migration.file}\n${migration.text}\n${recordStatement(migration)};`

/** Returns the SQL of an upgrade, followed by the statements of `more`. */
const listStatements = (missing: Migration[], changed: Definition[], more: string[]): string[] => [
  ...filesBeforeTransaction(missing).map(migration =>
    isAlone(migration) ? describeMigration(migration) : `begin;\n${describeMigration(migration)}\ncommit;`,
  ),
  'begin;',
  ...missing.slice(filesBeforeTransaction(missing).length).map(describeMigration),
  ...describeDefinitions(changed),
  ...more,
  completionStatements(missing),
  'commit;',
]

/**
 * Returns the SQL that creates the whole schema and installs mappings.
 *
 * @param more the statements that install the mappings
 */
export const describeSchema = (more: string[]): string[] =>
  listStatements(readMigrationFiles(), readDefinitions(), more)

/** Returns the SQL that `migrate` would run. @throws as `migrate` */
export async function describeUpgrade(sql: Sql): Promise<string[]> {
  const { missing, changed } = await readUpgrade(sql)
  if (isUpToDate({ missing, changed }) && (await hasMappings(sql))) return []
  const again = (await hasSchema(sql))
    ? [
        ...(missing.length > 0 || needsPreparationAgain(changed) ? [preparationStatement(changed)] : []),
        ...(needsCaptureAgain(changed) ? [recaptureStatement] : []),
      ]
    : []
  return [...listStatements(missing, changed, [...again, ...(await describePlainMappings(sql))]), captureSources]
}
