// Writes tables as CSV (RFC 4180) for spreadsheets.
import { stringify } from 'csv-stringify/browser/esm/sync'

/** The value of a cell; an amount is a plain number without its currency. */
export type CsvCell = string | number | null

/**
 * Returns a table as CSV. A byte order mark lets spreadsheets detect UTF-8. An apostrophe precedes each text that a
 * spreadsheet would execute as a formula. Texts are quoted, because some programs split lines at semicolons or tabs.
 */
export const toCsv = (headings: readonly string[], rows: readonly (readonly CsvCell[])[]): string =>
  stringify([headings, ...rows], {
    bom: true,
    escape_formulas: true,
    quoted_string: true,
    record_delimiter: 'windows',
  })

/** Lets the browser save a CSV file. @param name the name of the file, without its extension */
export function downloadCsv(name: string, csv: string): void {
  const url = URL.createObjectURL(new Blob([csv], { type: 'text/csv;charset=utf-8' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `${name}.csv`
  link.click()
  // The URL is revoked later, because some browsers read the file only after the click.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
