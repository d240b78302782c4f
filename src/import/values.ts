/**
 * Reads values of files. PostgreSQL itself would accept more: `tomorrow` as a date, `IST` as the zone of Israel,
 * `infinity` as a number.
 */
import { z } from 'zod'
import type { CopiedRow } from '../db/row/copy.ts'
import { afterAll, parseInstant } from '../domain/value/instant.ts'
import type { Column } from './table.ts'

/**
 * Compiles a format of dates: yyyy, MM and dd in any order. Between separators a month or a day may have one digit.
 *
 * @returns an expression with the groups year, month, day and time, which is after a space or a T; null for other texts
 */
export function readDateFormat(format: string): RegExp | null {
  const isComplete = ['yyyy', 'MM', 'dd'].every(part => format.split(part).length === 2)
  if (!isComplete || !/^(?:yyyy|MM|dd|\W)+$/.test(format)) return null
  const two = /\w\W+\w+\W+\w/.test(format) ? '\\d\\d?' : '\\d\\d'
  const parts: Record<string, string> = { yyyy: '(?<year>\\d{4})', MM: `(?<month>${two})`, dd: `(?<day>${two})` }
  const date = format.replace(/yyyy|MM|dd|\W/g, part => parts[part] ?? `\\${part}`)
  return new RegExp(`^${date}(?:[T ](?<time>.*))?$`)
}

/** Converts a date of the given format to ISO 8601; returns any other text unchanged. */
function toIso(text: string, format: RegExp | undefined): string {
  const { year, month = '', day = '', time } = format?.exec(text)?.groups ?? {}
  if (year === undefined) return text
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}${time === undefined ? '' : `T${time}`}`
}

/** Reads a day. PostgreSQL has no year 0000. */
function readDay(text: string, format?: RegExp): string | null {
  const iso = toIso(text, format)
  return z.regexes.date.test(iso) && !iso.startsWith('0000') ? iso : null
}

/** Reads an instant (R6), which may have a space instead of its T, like in databases. */
function readInstant(text: string, format?: RegExp): string | null {
  const iso = toIso(text, format).replace(/^(.{10}) (?=\d)/, '$1T')
  const instant = parseInstant(iso)
  return instant === afterAll || iso.startsWith('0000') ? null : instant
}

const readWhole = (bits: number) => (text: string) =>
  /^[+-]?\d{1,19}$/.test(text) && BigInt.asIntN(bits, BigInt(text)) === BigInt(text) ? text : null

const readForm = (form: RegExp) => (text: string) => (form.test(text) ? text : null)

/** The elements that a list must not have: nested, escaped, empty, null, or partly quoted. */
const wrongElement = /[{}\\]|,\s*(?:null\s*)?,|"\s*[^\s,]|[^\s,]\s*"/i

/** Reads a list. One mark replaces each quoted text, because a repeated group exhausts V8's stack in a long list. */
function readList(text: string): string | null {
  const short = text.replace(/\\./gs, '\\').replace(/"[^"]*"?/g, '"')
  const [, elements] = /^\{(.*)\}$/s.exec(short) ?? []
  return elements === undefined || (elements.trim() && wrongElement.test(`,${elements},`)) ? null : text
}

/** The expectation of each type, and its reader, which returns null for a wrong value. */
const types: Record<string, [expected: string, read: (text: string, format?: RegExp) => string | null]> = {
  bigint: ['a whole number, for example 12', readWhole(64)],
  integer: ['a whole number of 32 bits, for example 12', readWhole(32)],
  numeric: ['a number, for example 12.50', readForm(/^[+-]?(?:\d{1,99}(?:\.\d{0,99})?|\.\d{1,99})(?:e[+-]?\d\d?)?$/i)],
  boolean: ['true or false', readForm(/^(?:true|false|t|f|yes|no|y|n|on|off|1|0)$/i)],
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
 * @param dates another format of dates, from `readDateFormat`
 * @returns the value for COPY
 * @throws Error with the reason why the column cannot hold it
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
  const [expected, read] = types[type] ?? ['a string or a whole number', (text: string) => text]
  const isRefused =
    type === 'text' ? typeof value !== 'string' && !Number.isSafeInteger(value) : typeof value === 'object'
  if (type === 'text[]' && Array.isArray(value) && value.every(element => typeof element === 'string')) return value
  const text = type === 'text' ? String(value) : String(value).trim()
  const found = isRefused ? null : read(text, dates)
  if (found === null) throw new Error(`${name}: expected ${expected}, not ${JSON.stringify(value).slice(0, 100)}`)
  return found
}

/**
 * Returns whether a text has U+0000 or half of a pair of surrogates. The first expression is faster, but also matches
 * whole pairs, so the second expression decides.
 */
const isUnstorable = (value: unknown): boolean =>
  typeof value === 'string' && /[\0\ud800-\udfff]/.test(value) && /\0|\p{Surrogate}/u.test(value)

/** Returns whether a double is exactly the number in its text. */
const isExact = (value: number): boolean =>
  Number.isSafeInteger(value) || (Number.isFinite(value) && Number(value.toPrecision(15)) === value)
