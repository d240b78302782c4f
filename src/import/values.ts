/**
 * Reads values of files. Reads the values of files more strictly than PostgreSQL, which also accepts `tomorrow` as a
 * date, `IST` as the time zone of Israel, and `infinity` as a number.
 */
import { z } from 'zod'
import type { CopiedRow } from '../db/row/copy.ts'
import { afterAll, parseInstant } from '../domain/value/instant.ts'
import type { Column } from './table.ts'

/**
 * Compiles a format of dates with yyyy, MM and dd in any order. When the parts have separators, a month or a day may
 * have one digit.
 *
 * @returns a regular expression with the groups year, month, day and time (the text after a space or a T); null for an
 * invalid format
 */
export function readDateFormat(format: string): RegExp | null {
  const isComplete = ['yyyy', 'MM', 'dd'].every(part => format.split(part).length === 2)
  if (!isComplete || !/^(?:yyyy|MM|dd|\W)+$/.test(format)) return null
  const two = /\w\W+\w+\W+\w/.test(format) ? '\\d\\d?' : '\\d\\d'
  const parts: Record<string, string> = { yyyy: '(?<year>\\d{4})', MM: `(?<month>${two})`, dd: `(?<day>${two})` }
  const date = format.replace(/yyyy|MM|dd|\W/g, part => parts[part] ?? `\\${part}`)
  return new RegExp(`^${date}(?:[T ](?<time>.*))?$`)
}

/** Converts a date of the given format to ISO 8601. Returns any other text unchanged. */
function toIso(text: string, format: RegExp | undefined): string {
  const { year, month = '', day = '', time } = format?.exec(text)?.groups ?? {}
  if (year === undefined) return text
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}${time === undefined ? '' : `T${time}`}`
}

/** Returns a day in ISO 8601, or null. PostgreSQL has no year 0000. */
function readDay(text: string, format?: RegExp): string | null {
  const iso = toIso(text, format)
  return z.regexes.date.test(iso) && !iso.startsWith('0000') ? iso : null
}

/** Reads an instant (R6). In place of the T it may have a space, as databases write it. */
function readInstant(text: string, format?: RegExp): string | null {
  const iso = toIso(text, format).replace(/^(.{10}) (?=\d)/, '$1T')
  const instant = parseInstant(iso)
  return instant === afterAll || iso.startsWith('0000') ? null : instant
}

const createWholeNumberReader = (bits: number) => (text: string) =>
  /^[+-]?\d{1,19}$/.test(text) && BigInt.asIntN(bits, BigInt(text)) === BigInt(text) ? text : null

const createPatternReader = (form: RegExp) => (text: string) => (form.test(text) ? text : null)

/** Matches elements that a list must not have: nested, escaped, empty, null, or partly quoted. */
const wrongElement = /[{}\\]|,\s*(?:null\s*)?,|"\s*[^\s,]|[^\s,]\s*"/i

/**
 * Returns the text of a valid list, or null. Replaces each quoted text by one mark first, because for a long list a
 * regular expression with a repeated group exhausts V8's stack.
 */
function readList(text: string): string | null {
  const short = text.replace(/\\./gs, '\\').replace(/"[^"]*"?/g, '"')
  const [, elements] = /^\{(.*)\}$/s.exec(short) ?? []
  return elements === undefined || (elements.trim() && wrongElement.test(`,${elements},`)) ? null : text
}

/**
 * For each type: the values that it expects, for error messages, and its reader, which returns null for a wrong value.
 */
const valueTypes: Record<string, [expected: string, read: (text: string, format?: RegExp) => string | null]> = {
  bigint: ['a whole number, for example 12', createWholeNumberReader(64)],
  integer: ['a whole number of 32 bits, for example 12', createWholeNumberReader(32)],
  numeric: [
    'a number, for example 12.50',
    createPatternReader(/^[+-]?(?:\d{1,99}(?:\.\d{0,99})?|\.\d{1,99})(?:e[+-]?\d\d?)?$/i),
  ],
  boolean: ['true or false', createPatternReader(/^(?:true|false|t|f|yes|no|y|n|on|off|1|0)$/i)],
  date: ['a date, for example 2026-01-31 (--date-format reads others)', readDay],
  'timestamp with time zone': [
    'a date and time, for example 2026-01-31T09:30:00Z (--date-format reads other dates)',
    readInstant,
  ],
  'text[]': ['a list of texts, for example {"a","b"}', readList],
}

/**
 * Reads a value of CSV or JSON.
 *
 * @param dates an additional format of dates, from `readDateFormat`
 * @returns the value for COPY
 * @throws Error with the reason why the column cannot store the value
 */
export function readValue({ name, type, isRequired }: Column, value: unknown, dates?: RegExp): CopiedRow[string] {
  if (value === null && isRequired) throw new Error(`${name}: a value is required`)
  if (value === null) return null
  if (typeof value === 'number' && !isExact(value)) {
    throw new Error(`${name}: a JSON number with more than 15 digits is not exact. Write it as a string`)
  }
  if (Array.isArray(value) ? value.some(isUnstorable) : isUnstorable(value)) {
    throw new Error(`${name}: PostgreSQL cannot store U+0000 and unpaired surrogates`)
  }
  const [expected, read] = valueTypes[type] ?? ['a string or a whole number', (text: string) => text]
  const isRefused =
    type === 'text' ? typeof value !== 'string' && !Number.isSafeInteger(value) : typeof value === 'object'
  if (type === 'text[]' && Array.isArray(value) && value.every(element => typeof element === 'string')) return value
  const text = type === 'text' ? String(value) : String(value).trim()
  const found = isRefused ? null : read(text, dates)
  if (found === null) throw new Error(`${name}: expected ${expected}, not ${JSON.stringify(value).slice(0, 100)}`)
  return found
}

/**
 * Returns whether a text has U+0000 or an unpaired surrogate. The first regular expression is fast, but also matches
 * surrogate pairs, so the second one decides.
 */
const isUnstorable = (value: unknown): boolean =>
  typeof value === 'string' && /[\0\ud800-\udfff]/.test(value) && /\0|\p{Surrogate}/u.test(value)

/** Returns whether a double is exactly the number in its text. */
const isExact = (value: number): boolean =>
  Number.isSafeInteger(value) || (Number.isFinite(value) && Number(value.toPrecision(15)) === value)
