import { pipeline } from 'node:stream/promises'
import type { Row } from '#demo'
import type { Sql } from '../db/sql.ts'

const chunkLength = 64 * 1024

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

const escaped = (text: string) =>
  /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, character => escapes[character]!) : text

function columnText(cell: Row[string]): string {
  if (cell === null) return '\\N'
  if (typeof cell === 'string') return escaped(cell)
  if (typeof cell !== 'object') return String(cell)
  return escaped(`{${cell.map(element => `"${element.replace(/["\\]/g, '\\$&')}"`).join(',')}}`)
}

/** Yields the rows in COPY's text format, in chunks: one write per row would cost more than the row. */
function* toChunks(first: Row, rest: Iterable<Row>, onRow: () => void): Generator<string> {
  let chunk = ''
  const add = (row: Row) => {
    chunk += `${Object.values(row).map(columnText).join('\t')}\n`
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
 * Copies rows into a table with `COPY`, and holds at most one chunk of them in memory.
 *
 * @param rows iterated as the server accepts them
 * @param onRow called for each row that is sent
 * @throws the server's error; the table then has none of the rows
 */
export async function copyRows(sql: Sql, table: string, rows: Iterable<Row>, onRow = () => {}): Promise<void> {
  const iterator = rows[Symbol.iterator]()
  const first = iterator.next()
  if (first.done) return
  const command = sql`
    copy /* demo.copy */ ${sql(table)} (${sql(Object.keys(first.value))}) from stdin`
  // When the server reports an error after the last row, postgres.js rejects the command, which is resolved already, and
  // the stream never ends. Replacing `reject` catches that error.
  const failed = new Promise<never>((_, reject) => Object.assign(command, { reject }))
  const sink = await Promise.race([command.writable(), failed])
  const chunks = toChunks(first.value, { [Symbol.iterator]: () => iterator }, onRow)
  await Promise.race([pipeline(chunks, sink), failed])
}
