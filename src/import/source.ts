/** Opens the sources of rows: files that are named after their tables, or the standard input. */
import { isUtf8 } from 'node:buffer'
import { createReadStream, readdirSync } from 'node:fs'
import { join, parse } from 'node:path'
import type { Readable } from 'node:stream'
import { tableNames } from './table.ts'

export interface Source {
  /** The name of the file in messages. */
  name: string
  table: string
  format: 'csv' | 'ndjson'
  /** Opens a stream of the data, which must be UTF-8. */
  open(): Readable
}

/**
 * A line of a file: a row with names and values, only names (the first line of CSV), or the reason why the line is not
 * a row.
 */
export type FileLine = { line: number } & ({ names: string[]; values?: unknown[] } | { error: string })

/**
 * Returns the files of a folder in the order of `tableNames`. Leaves out files whose names begin with a dot.
 *
 * @throws Error that names each file that is not `<table>.csv` or `<table>.ndjson`, or a table with two files
 */
export function readFolder(folder: string): Source[] {
  const sources = readdirSync(folder)
    .filter(name => !name.startsWith('.'))
    .map(name => ({ name, path: parse(name) }))
  const rule = `A file is named <table>.csv or <table>.ndjson; the tables are ${tableNames.join(', ')}.`
  if (sources.length === 0) throw new Error(`${folder} has no files. ${rule}`)
  const unknown = sources.filter(({ path }) => !tableNames.includes(path.name) || !/^\.(csv|ndjson)$/.test(path.ext))
  if (unknown.length > 0) {
    throw new Error(`${folder} has ${unknown.map(({ name }) => name).join(', ')}. ${rule}`)
  }
  return tableNames.flatMap((table): Source[] => {
    const [file, second] = sources.filter(({ path }) => path.name === table)
    if (!file) return []
    if (second) throw new Error(`${folder} has ${file.name} and ${second.name}: leave one of them.`)
    const open = () => createReadStream(join(folder, file.name), { highWaterMark: 256 * 1024 })
    return [{ name: file.name, table, format: file.path.ext === '.csv' ? 'csv' : 'ndjson', open }]
  })
}

/** Returns the standard input as a source of JSON lines for a table. */
export const standardInput = (table: string): Source => ({
  ...{ name: 'standard input', table, format: 'ndjson' },
  open: () => process.stdin,
})

/** The maximum size of a row of a file, in bytes. */
export const maxRowLength = 16 * 2 ** 20

/** The error message for a row above `maxRowLength`. */
export const rowTooLong = 'the row has more than 16 MiB'

/** Returns the reason why a line cannot be read; null when it can be read. */
export const lineErrorOf = (line: Buffer): string | null =>
  line.length > maxRowLength ? rowTooLong : isUtf8(line) ? null : 'the line is not UTF-8'

/**
 * Yields the lines of data, without the line ends. Cuts a line above the maximum length of a row, but keeps enough of
 * the line that it still counts as too long.
 */
export async function* splitLines(data: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun: Buffer[] = []
  let length = 0
  for await (const chunk of data) {
    let start = 0
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', start)) {
      const last = chunk.subarray(start, end)
      yield begun.length > 0 ? Buffer.concat([...begun, last]) : last
      begun = []
      length = 0
      start = end + 1
    }
    if (start < chunk.length && length <= maxRowLength) {
      begun.push(chunk.subarray(start))
      length += chunk.length - start
    }
  }
  if (begun.length > 0) yield Buffer.concat(begun)
}
