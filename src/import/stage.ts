import { type CopiedRow, copyRows } from '../db/row/copy.ts'
import type { Transaction } from '../db/sql.ts'
import { type Dialect, readCsv } from './csv.ts'
import { type ImportErrors, maxListedErrors } from './import-errors.ts'
import { readJsonLines } from './json-lines.ts'
import type { Source } from './source.ts'
import { type Column, joinFragments, type PlainTable, readTable, stagingTable } from './table.ts'
import { readValue } from './values.ts'

export interface Formats {
  csv: Dialect
  /** A format of dates, from `readDateFormat`, in addition to ISO 8601; undefined for ISO 8601 only. */
  date?: RegExp | undefined
}

export interface StagedFile {
  source: Source
  table: PlainTable
  /** The columns of the table that are in the file. */
  columns: Column[]
}

/**
 * Reads a file into a staging table, which PostgreSQL drops at the end of the transaction.
 *
 * @param errors receives an error for each line that is not a row, and for each value that the column cannot store
 * @returns the staged file; null when the columns of the file are wrong
 */
export async function stageFile(
  transaction: Transaction,
  source: Source,
  formats: Formats,
  errors: ImportErrors,
): Promise<StagedFile | null> {
  const table = await readTable(transaction, source.table)
  const typed = table.columns.map(({ name, type }) => transaction`, ${transaction(name)} ${transaction.unsafe(type)}`)
  const staging = transaction(stagingTable(table.name))
  await transaction`
    create temporary table /* import.stage */ ${staging} (line bigint ${joinFragments(transaction, typed, transaction``)}) on commit drop`
  const isCsv = source.format === 'csv'
  const byName = new Map(table.columns.map(column => [column.name, column]))
  const empty: CopiedRow = Object.fromEntries(table.columns.map(({ name }) => [name, null]))
  const needed = findRequiredColumns(table)
  const given = new Set<string>()
  const addError = (line: number, reason: string) => errors.add([{ file: source.name, line, reason }])

  /** Returns the row of a line; null when the line has errors. */
  function toRow(line: number, names: string[], values: unknown[]): CopiedRow | null {
    const row: CopiedRow = { line, ...empty }
    const before = errors.count
    for (const [index, name] of names.entries()) {
      const column = byName.get(name)
      const value = values[index]
      given.add(name)
      try {
        if (!column) throw new Error(`${table.name} has no column ${name}`)
        // In CSV, an empty value is an empty text in a text column, and null in all other columns.
        row[name] = readValue(column, isCsv && value === '' && column.type !== 'text' ? null : value, formats.date)
      } catch (error) {
        addError(line, error instanceof Error ? error.message : String(error))
      }
    }
    for (const { name } of needed) {
      if (!names.includes(name)) addError(line, `${name}: a value is required`)
    }
    return errors.count === before ? row : null
  }

  async function* toRows(): AsyncGenerator<CopiedRow> {
    for await (const found of isCsv ? readCsv(source, formats.csv) : readJsonLines(source)) {
      if ('error' in found) addError(found.line, found.error)
      else if (found.values) {
        const row = toRow(found.line, found.names, found.values)
        if (row) yield row
      } else {
        const problems = findColumnProblems(found.names, table)
        for (const problem of problems) addError(found.line, problem)
        if (problems.length > 0) return
        for (const name of found.names) given.add(name)
      }
    }
  }

  await copyRows(transaction, stagingTable(table.name), toRows())
  const columns = table.columns.filter(({ name }) => given.has(name))
  if (isCsv) return columns.length > 0 ? { source, table, columns } : null
  // An empty file needs no columns.
  if (given.size === 0) return { source, table, columns: table.columns }
  for (const { name } of columns.filter(({ isRequired }) => isRequired)) {
    const rows = await transaction<{ line: number; total: number }[]>`
      select /* import.find_missing */ line, count(*) over () as total from ${staging}
      where ${transaction(name)} is null order by line limit ${maxListedErrors}`
    const missing = rows.map(({ line }) => ({ file: source.name, line, reason: `${name}: a value is required` }))
    errors.add(missing, rows[0]?.total)
  }
  return { source, table, columns }
}

/** Returns the columns for which each row must have a value. */
const findRequiredColumns = ({ columns }: PlainTable): Column[] =>
  columns.filter(({ isKey, isRequired, hasDefault }) => isKey || (isRequired && !hasDefault))

/** Returns an error message for each kind of problem with the columns. @param names the names of the file's columns */
function findColumnProblems(names: string[], table: PlainTable): string[] {
  const known = table.columns.map(({ name }) => name)
  const unknown = names.filter(name => !known.includes(name))
  const distinct = new Set<string>()
  const repeated = names.filter(name => distinct.size === distinct.add(name).size)
  const missing = findRequiredColumns(table).filter(({ name }) => !names.includes(name))
  return [
    ...(unknown.length > 0 ? [`${table.name} has no column ${unknown.join(', ')}. It has ${known.join(', ')}`] : []),
    ...(repeated.length > 0 ? [`there is more than one column ${repeated.join(', ')}`] : []),
    ...(missing.length > 0 ? [`required columns are missing: ${missing.map(({ name }) => name).join(', ')}`] : []),
  ]
}
