/**
 * Writes JSON as one line, also for readers that split lines at U+0085, U+2028 and U+2029, which JSON allows inside of
 * texts.
 */
import { isAscii } from 'node:buffer'

const lineEnds = /[\u0085\u2028\u2029]/g
const encodedLineEnds = ['\u0085', '\u2028', '\u2029'].map(character => Buffer.from(character))

const escapeLineEnds = (json: string): string =>
  json.replace(lineEnds, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Returns a value as one line of JSON, without a line feed. */
export const toJsonLine = (value: unknown): string => escapeLineEnds(JSON.stringify(value))

/** Returns lines of JSON in UTF-8, each with its line feed, with the other line ends escaped. */
export const escapeLines = (lines: Buffer): Buffer =>
  !isAscii(lines) && encodedLineEnds.some(lineEnd => lines.includes(lineEnd))
    ? Buffer.from(escapeLineEnds(lines.toString()))
    : lines
