/** Rows of CSV: RFC 4180, or a dialect that differs in its characters. */
import { pipeline } from 'node:stream'
import { CsvError, type Options, parse } from 'csv-parse'
import { type FileLine, lineFaultOf, maxRowLength, rowTooLong, type Source, splitLines } from './source.ts'

/** A character each. */
export interface Dialect {
  delimiter: string
  quote: string
  /** Stands before a quotation mark in a value that has quotation marks around it. */
  escape: string
  /** The text that is null when no quotation marks are around it. */
  null: string
}

const remedy =
  'A value with a quotation mark stands in quotation marks, and its own are doubled: "5"" pipe". For another dialect give ' +
  '--csv-escape or --csv-quote'

const escapeRule =
  'In quotation marks, the character of --csv-escape stands before a quotation mark, a delimiter, a line end or a second one'

/** Faults after which the end of a value is unknown. */
const faults: Partial<Record<CsvError['code'], string>> = {
  CSV_INVALID_CLOSING_QUOTE: `the quotation mark that opens here closes before the end of the value. ${remedy}`,
  CSV_QUOTE_NOT_CLOSED: `the quotation mark that opens here does not close. ${remedy}`,
  INVALID_OPENING_QUOTE: `a quotation mark stands within a value that does not begin with one. ${remedy}`,
  CSV_MAX_RECORD_SIZE: `${rowTooLong}. A quotation mark that does not close merges rows`,
}

/**
 * Reads the rows of a file, after the line with the names. Empty lines are skipped. LF, CRLF and CR end a line, even
 * within one file. A fault of quotation marks ends the file.
 */
export async function* readCsv(source: Source, dialect: Dialect): AsyncGenerator<FileLine> {
  const unreadable = await findUnreadable(source)
  if (unreadable) return yield unreadable
  const { delimiter, quote, escape: escaping, null: nullText } = dialect
  const options: Options = {
    ...{ delimiter, quote, escape: escaping, record_delimiter: ['\r\n', '\n', '\r'], max_record_size: maxRowLength },
    ...{ skip_empty_lines: true, relax_column_count: true },
  }
  const parser = parse({ ...options, bom: true, info: true, raw: true })
  let names: string[] | undefined
  /** csv-parse counts a CRLF within a value as two lines. */
  let surplus = 0
  try {
    for await (const parsed of pipeline(source.open(), parser, () => {})) {
      const { record, raw, info }: { record: string[]; raw: string; info: { lines: number } } = parsed
      const inner = /[\r\n]./s.test(raw) ? (record.join(' ').match(/\r\n|\n|\r/g) ?? []) : []
      surplus += inner.filter(end => end === '\r\n').length
      const line = info.lines - surplus - inner.length
      if (!names) {
        names = record.map(name => name.trim())
        yield { line, names }
      } else if (record.length === names.length) {
        yield { line, names, ...toValues(record, raw) }
      } else {
        yield { line, fault: `the row has ${record.length} values, but the first line has ${names.length} names` }
      }
    }
    if (!names) yield { line: 1, names: [] }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    yield { line: await findLine(source, Number(error.bytes)), fault: faults[error.code] ?? error.message }
  }

  /** Tells a null from the same text in quotation marks by the raw row: with `cast`, the parser takes ten times as long. */
  function toValues(record: string[], raw: string): { values: (string | null)[] } | { fault: string } {
    const isRawNeeded = record.includes(nullText) || (escaping !== quote && raw.includes(escaping))
    const isQuoted = isRawNeeded && raw.includes(quote) ? findQuoted(raw.replace(/^[\r\n]+/, '')) : []
    if (typeof isQuoted === 'string') return { fault: isQuoted }
    return { values: record.map((value, index) => (value === nullText && !isQuoted[index] ? null : value)) }
  }

  /** Returns for each value of a row whether it has quotation marks around it, or the fault of an escape that would be lost. */
  function findQuoted(row: string): boolean[] | string {
    const isQuoted = [row.startsWith(quote)]
    let isWithin = false
    for (let at = 0; at < row.length; at++) {
      if (isWithin && row[at] === escaping && escaping !== quote) {
        at += 1
        if (![quote, escaping, delimiter, '\r', '\n'].includes(row[at]!))
          return `${escaping}${row[at]} is unknown. ${escapeRule}`
      } else if (row[at] === quote) isWithin = !isWithin
      else if (row[at] === delimiter && !isWithin) isQuoted.push(row[at + 1] === quote)
    }
    return isQuoted
  }
}

/** Returns the first line that is too long, or not UTF-8: csv-parse would replace its bytes. */
async function findUnreadable(source: Source): Promise<FileLine | null> {
  let line = 0
  for await (const bytes of splitLines(withLineFeeds(source))) {
    line += 1
    const fault = lineFaultOf(bytes)
    if (fault !== null) return { line, fault }
  }
  return null
}

/** Returns the line of a value. @param position where the value before it ends, in bytes */
async function findLine(source: Source, position: number): Promise<number> {
  let [line, offset] = [0, 0]
  for await (const bytes of splitLines(withLineFeeds(source))) {
    line += 1
    offset += bytes.length + 1
    if (offset > position && bytes.some(byte => byte !== 13)) break
  }
  return line
}

/** Yields the bytes of a file, with LF for a CR that ends a line alone. One at the end of a chunk is held: an LF may follow. */
async function* withLineFeeds({ open }: Source): AsyncGenerator<Buffer> {
  let held = ''
  for await (const chunk of open() as AsyncIterable<Buffer>) {
    const text = (held + chunk.toString('latin1')).replace(/\r(?!\n|$)/g, '\n')
    held = text.endsWith('\r') ? '\r' : ''
    yield Buffer.from(text.slice(0, text.length - held.length), 'latin1')
  }
  yield Buffer.from(held)
}
