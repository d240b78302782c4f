import { pipeline } from 'node:stream/promises'
import type { PendingQuery, Row } from '#postgres'
import type { Sql } from '../sql.ts'

/** A row for `COPY`: a value for the name of each column. */
export type CopiedRow = Record<string, string | number | boolean | null | readonly string[]>

const chunkLength = 64 * 1024

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

const escaped = (text: string) => text.replace(/[\\\t\n\r]/g, character => escapes[character]!)

function columnText(cell: CopiedRow[string]): string {
  if (cell === null) return '\\N'
  if (typeof cell === 'string') return escaped(cell)
  if (typeof cell !== 'object') return String(cell)
  return escaped(`{${cell.map(element => `"${element.replace(/["\\]/g, '\\$&')}"`).join(',')}}`)
}

/**
 * Copies rows into a table with `COPY`, and holds at most one chunk of them in memory.
 *
 * @param rows rows that all have the same columns; iterated at the speed of the server
 * @param onRow called for each row that is sent
 * @throws the server's error; then none of the rows is in the table
 */
export async function copyRows(
  sql: Sql,
  table: string,
  rows: Iterable<CopiedRow> | AsyncIterable<CopiedRow>,
  onRow = () => {},
): Promise<void> {
  const iterator = Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]()
  const first = await iterator.next()
  if (first.done) return

  /**
   * Yields chunks of many rows in COPY's text format, because one write per row would take longer than the row itself.
   */
  async function* toChunks(): AsyncGenerator<string> {
    let chunk = ''
    for (let next = first; !next.done; next = await iterator.next()) {
      chunk += `${Object.values(next.value).map(columnText).join('\t')}\n`
      onRow()
      if (chunk.length < chunkLength) continue
      yield chunk
      chunk = ''
    }
    yield chunk
  }

  const command = sql`
    copy /* copy.rows */ ${sql(table)} (${sql(Object.keys(first.value))}) from stdin`
  await sendCopy(command, toChunks())
}

/**
 * Runs a command `copy … from stdin` with its input.
 *
 * @param data the data, read at the speed of the server
 * @throws the server's error, or the error of reading
 */
export async function sendCopy(command: PendingQuery<Row[]>, data: AsyncIterable<string | Buffer>): Promise<void> {
  // When the server reports an error after the last row, postgres.js rejects the promise of the command, which is
  // resolved already, and the stream never ends. Replacing `reject` catches that error.
  const failed = new Promise<never>((_, reject) => Object.assign(command, { reject }))
  const sink = await Promise.race([command.writable(), failed])
  await Promise.race([pipeline(data, sink), failed])
}
