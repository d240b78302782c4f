/** Reads the rows of CSV files: RFC 4180, or a dialect with other separators, quotation marks or escapes. */
import { pipeline } from 'node:stream'
import { CsvError, type Options, parse } from 'csv-parse'
import { type FileLine, lineErrorOf, maxRowLength, rowTooLong, type Source, splitLines } from './source.ts'

export interface Dialect {
  delimiter: string
  quote: string
  /** The character before a quotation mark within a quoted value. */
  escape: string
  /** The unquoted text that means null. */
  null: string
}

const remedy =
  'A value with a quotation mark stands in quotation marks, and its own are doubled: "5"" pipe". For another dialect give ' +
  '--csv-escape or --csv-quote'

const escapeRule =
  'In quotation marks, the character of --csv-escape stands before a quotation mark, a delimiter, a line end or a second one'

/** The messages of errors after which the parser cannot find the end of a value. */
const errorReasons: Partial<Record<CsvError['code'], string>> = {
  CSV_INVALID_CLOSING_QUOTE: `the quotation mark that opens here closes before the end of the value. ${remedy}`,
  CSV_QUOTE_NOT_CLOSED: `the quotation mark that opens here does not close. ${remedy}`,
  INVALID_OPENING_QUOTE: `a quotation mark stands within a value that does not begin with one. ${remedy}`,
  CSV_MAX_RECORD_SIZE: `${rowTooLong}. A quotation mark that does not close merges rows`,
}

/**
 * Reads the rows of a file, after the line with the names. Empty lines are skipped. LF, CRLF and CR end a line, also
 * when one file has several of them. After an error of quotation marks, the rest of the file is not read.
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
  /** The number of CRLFs within values, because csv-parse counts such a CRLF as two lines. */
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
        yield { line, error: `the row has ${record.length} values, but the first line has ${names.length} names` }
      }
    }
    if (!names) yield { line: 1, names: [] }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    yield { line: await findLine(source, Number(error.bytes)), error: errorReasons[error.code] ?? error.message }
  }

  /**
   * Uses the raw row to distinguish a null from the same text in quotation marks. With `cast`, the parser would take
   * ten times as long.
   */
  function toValues(record: string[], raw: string): { values: (string | null)[] } | { error: string } {
    const isRawNeeded = record.includes(nullText) || (escaping !== quote && raw.includes(escaping))
    const isQuoted = isRawNeeded && raw.includes(quote) ? findQuoted(raw.replace(/^[\r\n]+/, '')) : []
    if (typeof isQuoted === 'string') return { error: isQuoted }
    return { values: record.map((value, index) => (value === nullText && !isQuoted[index] ? null : value)) }
  }

  /** Returns for each value of a row whether it is quoted, or an error when the parser would lose an escape. */
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

/**
 * Returns the first line that is too long or not UTF-8, because csv-parse would replace the invalid bytes without an
 * error.
 */
async function findUnreadable(source: Source): Promise<FileLine | null> {
  let line = 0
  for await (const bytes of splitLines(withLineFeeds(source))) {
    line += 1
    const error = lineErrorOf(bytes)
    if (error !== null) return { line, error }
  }
  return null
}

/** Returns the number of the line on which a value begins. @param position the end of the previous value, in bytes */
async function findLine(source: Source, position: number): Promise<number> {
  let [line, offset] = [0, 0]
  for await (const bytes of splitLines(withLineFeeds(source))) {
    line += 1
    offset += bytes.length + 1
    if (offset > position && bytes.some(byte => byte !== 13)) break
  }
  return line
}

/**
 * Yields the bytes of a file, and replaces each CR without an LF by an LF. Keeps a CR at the end of a chunk back,
 * because the next chunk may begin with an LF.
 */
async function* withLineFeeds({ open }: Source): AsyncGenerator<Buffer> {
  let held = ''
  for await (const chunk of open() as AsyncIterable<Buffer>) {
    const text = (held + chunk.toString('latin1')).replace(/\r(?!\n|$)/g, '\n')
    held = text.endsWith('\r') ? '\r' : ''
    yield Buffer.from(text.slice(0, text.length - held.length), 'latin1')
  }
  yield Buffer.from(held)
}
