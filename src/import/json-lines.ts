import { type FileLine, lineErrorOf, type Source, splitLines } from './source.ts'

/** A nested object or list in a line without its texts. */
const nestedValue = /.\{|\[[^[\]]*\[/s

/** Reads the rows of a file. Empty lines are skipped. */
export async function* readJsonLines({ open }: Source): AsyncGenerator<FileLine> {
  let line = 0
  for await (const bytes of splitLines(open())) {
    line += 1
    // `trim` also removes a byte order mark.
    const text = bytes.toString().trim()
    if (text === '') continue
    let row: Record<string, unknown>
    try {
      const reason = lineErrorOf(bytes)
      if (reason !== null) throw new Error(reason)
      row = parseRow(text)
    } catch (error) {
      yield { line, error: error instanceof Error ? error.message : String(error) }
      continue
    }
    yield { line, names: Object.keys(row), values: Object.values(row) }
  }
}

/**
 * Parses a line that is an object of texts, numbers, booleans, nulls and lists.
 *
 * @returns the names with their values
 * @throws Error with the reason why the line is no row
 */
function parseRow(text: string): Record<string, unknown> {
  if (!text.startsWith('{')) throw new Error('expected a JSON object')
  // This comes first, because JSON.parse takes memory for each level of nested values.
  if (/.[[{]/s.test(text) && nestedValue.test(withoutTexts(text))) {
    throw new Error('expected texts, numbers, true, false, null and lists of texts, but a value is nested')
  }
  const row: Record<string, unknown> = JSON.parse(text)
  // JSON.parse keeps the last of several values with one name. Usually the text has one colon after a quotation mark
  // for each name. It has more when a name is repeated, or when a text contains \": itself.
  if (text.match(/"\s*:/g)?.length !== Object.keys(row).length) requireDistinct(text)
  return row
}

/**
 * Returns JSON without its texts. Their escapes are removed first, because a repeated group exhausts V8's stack in a
 * long text.
 */
const withoutTexts = (text: string): string => text.replace(/\\./gs, '').replace(/"[^"]*"?/g, '')

/** @throws Error with the name that an object has twice */
function requireDistinct(text: string): void {
  const names = new Set<string>()
  for (const { 0: found, index } of text.replace(/\\./gs, '__').matchAll(/"[^"]*"(?:\s*:)?/g)) {
    const name = found.endsWith(':') && JSON.parse(text.slice(index, index + found.lastIndexOf('"') + 1))
    if (names.has(name)) throw new Error(`the name ${JSON.stringify(name)} is given twice`)
    if (name !== false) names.add(name)
  }
}
