import { pipeline } from 'node:stream/promises'
import type { Sql } from '../db/connect.ts'

/** A value as it goes into a column; an array becomes an array of text. */
export type Cell = string | number | boolean | readonly string[] | null

/** A row by the names of its columns. All rows of a table have the same columns in the same order. */
export type Row = Readonly<Record<string, Cell>>

const chunkLength = 64 * 1024

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

const escaped = (text: string) => (/[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, sign => escapes[sign]!) : text)

function cellText(cell: Cell): string {
  if (cell === null) return '\\N'
  if (typeof cell === 'string') return escaped(cell)
  if (typeof cell !== 'object') return String(cell)
  return escaped(`{${cell.map(element => `"${element.replace(/["\\]/g, '\\$&')}"`).join(',')}}`)
}

/** The rows in COPY's text format, in chunks: a write for each row would cost more than the row. */
function* toChunks(first: Row, rest: Iterable<Row>, onRow: () => void): Generator<string> {
  let chunk = ''
  const add = (row: Row) => {
    chunk += `${Object.values(row).map(cellText).join('\t')}\n`
    onRow()
  }
  add(first)
  for (const row of rest) {
    add(row)
    if (chunk.length >= chunkLength) {
      yield chunk
      chunk = ''
    }
  }
  yield chunk
}

/**
 * Copies rows into a table as fast as the server takes them; never more than a chunk of them is held.
 *
 * @param rows made as they are needed
 * @param onRow called for each row when it is handed over
 * @returns how many there were
 * @throws the server's error; none of the rows is then in the table
 */
export async function copy(sql: Sql, table: string, rows: Iterable<Row>, onRow = () => {}): Promise<number> {
  const iterator = rows[Symbol.iterator]()
  const first = iterator.next()
  if (first.done) return 0
  let count = 0
  const counted = () => {
    count++
    onRow()
  }
  const command = sql`
    copy /* demo.copy */ ${sql(table)} (${sql(Object.keys(first.value))}) from stdin`
  // When the server objects only after the last row was sent, postgres.js rejects the command, which has long been
  // resolved with the stream, and the stream never ends. So the rejection is caught where it is made.
  const refused = new Promise<never>((_, reject) => Object.assign(command, { reject }))
  const sink = await Promise.race([command.writable(), refused])
  const chunks = toChunks(first.value, { [Symbol.iterator]: () => iterator }, counted)
  await Promise.race([pipeline(chunks, sink), refused])
  return count
}
