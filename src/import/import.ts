import postgres from '#postgres'
import { timeFormat } from '../db/connection/session.ts'
import { requirePlainTables } from '../db/mapping/mappings.ts'
import type { Pool, Transaction } from '../db/sql.ts'
import { findBrokenConstraints } from './broken-constraints.ts'
import { ImportErrors, ImportRefusedError } from './import-errors.ts'
import type { Source } from './source.ts'
import { type Formats, type StagedFile, stageFile } from './stage.ts'
import { columnList, stagingTable } from './table.ts'

/** The effect of an import on a table. */
export interface ImportReport {
  table: string
  /** The number of rows in the file. */
  rows: number
  /** The number of rows that were inserted or updated. */
  written: number
  deleted: number
}

/**
 * Imports files into the plain tables, in one transaction. Inserts rows with new keys, and updates rows that differ.
 *
 * @param sql connections of a login that may write the tables
 * @param sources the files, in the order of `tableNames`
 * @param options.formats the formats of the files' values
 * @param options.replace true to delete from each table the rows whose keys are not in the table's file
 * @param options.onProgress called at the start of each part of the work with a phrase, such as `reading tenant.csv`
 * @throws ImportRefusedError, or the error of the database; then no row is imported
 */
export async function importSources(
  sql: Pool,
  sources: Source[],
  { formats, replace, onProgress }: { formats: Formats; replace: boolean; onProgress: (phrase: string) => void },
): Promise<ImportReport[]> {
  return await sql.begin(async transaction => {
    // Sets the settings again, because a pooler may drop the settings of the connection's start. With them, times
    // without a zone are in UTC.
    await transaction`
      select /* import.prepare */ set_config('statement_timeout', '0', true),
             set_config('TimeZone', ${timeFormat.TimeZone}, true), set_config('DateStyle', ${timeFormat.DateStyle}, true)`
    await requirePlainTables(transaction)
    const errors = new ImportErrors()
    const files: StagedFile[] = []
    for (const source of sources) {
      onProgress(`reading ${source.name}`)
      const staged = await stageFile(transaction, source, formats, errors)
      if (staged) files.push(staged)
    }
    if (errors.count > 0) throw new ImportRefusedError(errors)
    try {
      return await transaction.savepoint(savepoint => writeFiles(savepoint, files, replace, onProgress))
    } catch (error) {
      throw await explainError(transaction, files, replace, error)
    }
  })
}

/**
 * Writes all rows, deletes the other rows when `replace` is true, and then checks unique values. The check comes last,
 * because two rows may exchange their unique values.
 */
async function writeFiles(
  sql: Transaction,
  files: StagedFile[],
  replace: boolean,
  onProgress: (phrase: string) => void,
): Promise<ImportReport[]> {
  const imported: ImportReport[] = []
  for (const staged of files) {
    onProgress(`writing ${staged.table.name}`)
    imported.push(await writeRows(sql, staged))
  }
  if (replace) {
    for (const [index, staged] of [...files.entries()].reverse()) {
      onProgress(`deleting from ${staged.table.name}`)
      imported[index]!.deleted = await deleteOthers(sql, staged, imported[index]!.rows)
    }
  }
  await sql`set constraints all /* import.check_constraints */ immediate`
  return imported
}

/** Inserts the new rows of a file, and updates the rows that differ. */
async function writeRows(sql: Transaction, { table, columns }: StagedFile): Promise<ImportReport> {
  const list = (names: string[], relation?: string) => columnList(sql, names, relation)
  const all = columns.map(({ name }) => name)
  const keys = columns.filter(({ isKey }) => isKey).map(({ name }) => name)
  const others = columns.filter(({ isKey }) => !isKey).map(({ name }) => name)
  const { count } = await sql`
    merge /* import.write */ into ${sql(`public.${table.name}`)} kept
    using ${sql(stagingTable(table.name))} given on (${list(keys, 'kept')}) = (${list(keys, 'given')})
    when not matched then insert (${list(all)}) values (${list(all, 'given')})
    ${
      others.length > 0
        ? sql`when matched and (${list(others, 'kept')}) is distinct from (${list(others, 'given')}) then
                update set (${list(others)}) = row (${list(others, 'given')})`
        : sql``
    }`
  const [staged] = await sql<{ rows: number }[]>`
    select /* import.count */ count(*) as rows from ${sql(stagingTable(table.name))}`
  for (const { name } of columns.filter(({ isIdentity }) => isIdentity)) {
    // Moves the sequence, so that the ids that the database later assigns are above the ids of the file.
    await sql`
      select /* import.move_sequence */ setval(sequence, largest)
      from (select pg_get_serial_sequence(${`public.${table.name}`}, ${name})::regclass as sequence,
                   (select max(${sql(name)}) from ${sql(`public.${table.name}`)}) as largest) ids
      where largest > coalesce(pg_sequence_last_value(sequence), 0)`
  }
  return { table: table.name, rows: staged?.rows ?? 0, written: count, deleted: 0 }
}

/** Returns an error that names the lines that break a constraint, after PostgreSQL has rejected all rows. */
async function explainError(sql: Transaction, files: StagedFile[], replace: boolean, error: unknown): Promise<unknown> {
  // SQLSTATE 23…: a broken constraint; 21000: two rows have the same key.
  if (!(error instanceof postgres.PostgresError && /^(23|21000$)/.test(error.code))) return error
  const errors = new ImportErrors()
  for (const staged of files) await findBrokenConstraints(sql, staged, files, replace, errors)
  if (errors.count > 0) return new ImportRefusedError(errors)
  const name = files.find(({ table }) => table.name === error.table_name)?.source.name
  return new Error(`${name ?? 'The files'}: ${error.message}. ${error.detail ?? ''}`, { cause: error })
}

/** Deletes the rows of a table whose keys are not in the table's file. @returns the number of deleted rows */
async function deleteOthers(sql: Transaction, { source, table, columns }: StagedFile, rows: number): Promise<number> {
  const keys = columns.filter(({ isKey }) => isKey).map(({ name }) => name)
  try {
    const { count } = await sql`
      delete /* import.delete_others */ from ${sql(`public.${table.name}`)} kept
      where not exists (
        select from ${sql(stagingTable(table.name))} given
        where (${columnList(sql, keys, 'given')}) = (${columnList(sql, keys, 'kept')}))`
    if (rows === 0 && count > 0)
      throw new Error(`${source.name} has no rows: --replace would delete all ${count} of ${table.name}.`)
    return count
  } catch (error) {
    // SQLSTATE 23503: a row of another table refers to the row.
    if (!(error instanceof postgres.PostgresError && error.code === '23503')) throw error
    throw new Error(`--replace cannot delete rows that ${source.name} lacks: ${error.detail}`, { cause: error })
  }
}
