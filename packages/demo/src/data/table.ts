/**
 * Reads a table of texts.
 *
 * @param table a row a line, with bars between its cells; a line that begins with a bar goes on with the row above it
 */
export const rowsOf = (table: string): string[][] =>
  table
    .trim()
    .split(/\n(?! *\|)/)
    .map(row => row.split('|').map(cell => cell.trim()))
