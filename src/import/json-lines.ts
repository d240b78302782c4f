import { type FileLine, lineErrorOf, type Source, splitLines } from './source.ts'

/** Matches a nested object or a nested list in a line from which the texts were removed. */
const nestedValue = /.\{|\[[^[\]]*\[/s

/** Reads the rows of a file with one JSON object per line. Skips empty lines. */
export async function* readJsonLines({ open }: Source): AsyncGenerator<FileLine> {
  let line = 0
  for await (const bytes of splitLines(open())) {
    line += 1
    // `trim` also removes a byte order mark at the start of the file.
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
 * Parses a line: an object whose values are texts, numbers, booleans, nulls and lists of texts.
 *
 * @returns the values by name
 * @throws Error with the reason why the line is not a row
 */
function parseRow(text: string): Record<string, unknown> {
  if (!text.startsWith('{')) throw new Error('expected a JSON object')
  // Checks this before JSON.parse, which takes memory for each level of nested values.
  if (/.[[{]/s.test(text) && nestedValue.test(withoutTexts(text))) {
    throw new Error('expected texts, numbers, true, false, null and lists of texts, but a value is nested')
  }
  const row: Record<string, unknown> = JSON.parse(text)
  // When a name is repeated, JSON.parse keeps only the last value. Usually the number of colons after a quotation mark
  // equals the number of names. There are more such colons when a name is repeated, or when a text contains \": itself.
  if (text.match(/"\s*:/g)?.length !== Object.keys(row).length) requireDistinct(text)
  return row
}

/**
 * Returns JSON without its texts. Removes the escapes first, because for a long text a regular expression with a
 * repeated group exhausts V8's stack.
 */
const withoutTexts = (text: string): string => text.replace(/\\./gs, '').replace(/"[^"]*"?/g, '')

/** @throws Error with the first name that an object has twice */
function requireDistinct(text: string): void {
  const names = new Set<string>()
  for (const { 0: found, index } of text.replace(/\\./gs, '__').matchAll(/"[^"]*"(?:\s*:)?/g)) {
    const name = found.endsWith(':') && JSON.parse(text.slice(index, index + found.lastIndexOf('"') + 1))
    if (names.has(name)) throw new Error(`the name ${JSON.stringify(name)} is given twice`)
    if (name !== false) names.add(name)
  }
}
