/** The fields of filters: what a caller gives, and the condition that it becomes. */
import { z } from 'zod'
import type { Fragment, Sql } from '../../db/connect.ts'
import { dateMessage, parseDate } from '../date.ts'
import { parseInstant } from '../instant.ts'
import type { Among } from './order.ts'

/** A condition on the rows of a table. `owner.today` is the calendar day at the row's tenant. */
export type Condition = (sql: Sql) => Fragment

/** A record that a filter names. The `id` is numeric; null when it can name no such record. */
export interface RecordReference {
  id: number | null
}

/** Reports what is wrong with a field. @param part the field inside it: `from` */
export type Report = (message: string, part?: string) => void

/** What a field does to a list. */
export interface FilterEffect {
  where: Condition
  /** The values of a column with few values that the rows can have. */
  among?: Among
}

/** The GraphQL input type of a field. A record is given by its id, and arrives as a `RecordReference`. */
export type FilterInput =
  | 'DateRange'
  | 'InstantRange'
  | 'MoneyRange'
  | 'String'
  | 'Boolean'
  | { record: string }
  | { enumOf: string }

/** A field of a resource's filter. */
export interface FilterField {
  readonly input: FilterInput
  readonly description: string
  /** Whether it searches a text: that costs more than a comparison. */
  readonly searches?: boolean
  /** The name of another field that must be given together with it, and why. */
  readonly needs?: { field: string; message: string }
  /** Returns the effect of a value; null when it has none, or is wrong and was reported. */
  read(given: unknown, report: Report): FilterEffect | null
}

type Options = Pick<FilterField, 'needs'>

const money = z.object({ from: z.number().nullish(), to: z.number().nullish() })
const dates = z.object({ from: z.string().nullish(), to: z.string().nullish() })
const instants = z.object({ from: z.string().nullish(), before: z.string().nullish() })

/** Returns the condition that an expression lies between bounds, of which null is none. */
function between(expression: string, type: string, from: string | null, upper: string, to: string | null): Condition {
  return sql => sql`${sql.unsafe(expression)} is not null
    ${from === null ? sql`` : sql`and ${sql.unsafe(expression)} >= ${from}::text::${sql.unsafe(type)}`}
    ${to === null ? sql`` : sql`and ${sql.unsafe(expression)} ${sql.unsafe(upper)} ${to}::text::${sql.unsafe(type)}`}`
}

/** Parses a bound of a range, and reports one that is wrong. */
function readBound(
  given: string | null | undefined,
  part: string,
  parse: (text: string) => string | null,
  message: string,
  report: Report,
): string | null {
  if (given === undefined || given === null) return null
  const parsed = parse(given)
  if (parsed === null) report(message, part)
  return parsed
}

const instantMessage = 'Give an ISO-8601 date and time, such as 2026-01-31T09:30:00Z.'

/** Reads the bounds of a range of dates; both days are in it. */
export function readDates(given: unknown, report: Report): { from: string | null; to: string | null } {
  const range = dates.parse(given)
  return {
    from: readBound(range.from, 'from', parseDate, dateMessage, report),
    to: readBound(range.to, 'to', parseDate, dateMessage, report),
  }
}

/** A field of dates that lie in a range, both ends included. Rows without a date do not match. */
export const dateRange = (expression: string, description: string): FilterField => ({
  input: 'DateRange',
  description,
  read(given, report) {
    const { from, to } = readDates(given, report)
    return { where: between(expression, 'date', from, '<=', to) }
  },
})

/** A field of instants from one on and before another. Rows without an instant do not match. */
export const instantRange = (expression: string, description: string): FilterField => ({
  input: 'InstantRange',
  description,
  read(given, report) {
    const range = instants.parse(given)
    const from = readBound(range.from, 'from', parseInstant, instantMessage, report)
    const before = readBound(range.before, 'before', parseInstant, instantMessage, report)
    return { where: between(expression, 'timestamptz', from, '<', before) }
  },
})

/** A field of amounts that lie in a range, both ends included. Rows without an amount do not match. */
export const moneyRange = (expression: string, description: string): FilterField => ({
  input: 'MoneyRange',
  description,
  needs: { field: 'currency', message: 'Give a currency, too: amounts of different currencies are not compared.' },
  read(given) {
    const { from, to } = money.parse(given)
    const text = (amount: number | null | undefined) =>
      amount === null || amount === undefined ? null : String(amount)
    return { where: between(expression, 'numeric', text(from), '<=', text(to)) }
  },
})

const nothing: Condition = sql => sql`false`

/** Returns the condition that an expression equals a text. PostgreSQL stores no text with U+0000. */
const equals = (expression: string, text: string): Condition =>
  text.includes('\0') ? nothing : sql => sql`${sql.unsafe(expression)} = ${text}`

/** A field of rows whose text is the same. The index has its first 100 characters, because it stores no long text. */
export const sameText = (expression: string, description: string): FilterField => ({
  input: 'String',
  description,
  read(given) {
    const text = z.string().parse(given)
    const [begins, is] = [
      equals(`left(${expression}, 100)`, [...text].slice(0, 100).join('')),
      equals(expression, text),
    ]
    return { where: sql => sql`${begins(sql)} and ${is(sql)}` }
  },
})

/** The message for a text that is no code of a currency. */
export const currencyMessage = 'Give the ISO 4217 code of a currency, for example GBP.'

/** Returns the ISO 4217 code that was typed, in upper case; null when the text has not the form of one. */
export function parseCurrency(text: string): string | null {
  const code = text.trim().toUpperCase()
  return /^[A-Z]{3}$/.test(code) ? code : null
}

/** A field of rows whose amounts are of a currency. */
export const ofCurrency = (description: string): FilterField => ({
  input: 'String',
  description,
  read(given, report) {
    const code = parseCurrency(z.string().parse(given))
    if (code === null) {
      report(currencyMessage)
      return null
    }
    return { where: equals('currency', code) }
  },
})

/** A field of rows in which a boolean column has a value. */
export const isTrue = (column: string, description: string): FilterField => ({
  input: 'Boolean',
  description,
  read(given) {
    const value = String(z.boolean().parse(given))
    return { where: sql => sql.unsafe(`${column} = ${value}`), among: { column, values: [value] } }
  },
})

const recordReference: z.ZodType<RecordReference> = z.object({ id: z.number().nullable() })

/**
 * A field of rows that belong to a record.
 *
 * @param type the GraphQL type of the record
 * @param where returns the condition for the numeric id
 */
export const ofRecord = (
  type: string,
  description: string,
  where: (sql: Sql, id: number) => Fragment,
  options: Options = {},
): FilterField => ({
  ...options,
  input: { record: type },
  description,
  read(given) {
    const { id } = recordReference.parse(given)
    return { where: id === null ? nothing : sql => where(sql, id) }
  },
})

/** A field of rows that have one of several values. An empty list matches nothing. */
export const oneOf = <Value extends string>(
  enumName: string,
  values: readonly Value[],
  description: string,
  effect: (wanted: readonly Value[]) => FilterEffect,
): FilterField => ({
  input: { enumOf: enumName },
  description,
  read(given) {
    const wanted = z.array(z.string()).parse(given)
    const known = values.filter(value => wanted.includes(value))
    return known.length === 0 ? { where: nothing } : effect(known)
  },
})

/** The longest text that is searched, in characters, and the most words of it. */
const longest = { characters: 200, words: 10 }

/**
 * A field of rows in which all words of a text occur, without regard to case. A word of one or two characters has no
 * trigram inside it, so it must be the beginning of a word.
 *
 * @param expression a text in lower case in which each word has a space before it, as its trigram index has it
 */
export const searchedText = (expression: string, description: string): FilterField => ({
  input: 'String',
  description:
    `${description} Without regard to case. Several words must all occur; a word of one or two characters must be the ` +
    'beginning of a word.',
  searches: true,
  read(given, report) {
    const text = z.string().parse(given)
    const words = text.split(/[\s\0]+/).filter(word => word !== '')
    if ([...text].length > longest.characters) report(`Give at most ${longest.characters} characters.`)
    if (words.length > longest.words) report(`Give at most ${longest.words} words.`)
    if (words.length === 0) return null
    const patterns = words.map(patternOf)
    return {
      where: sql =>
        patterns.reduce(
          (others, pattern) => sql`${others} and ${sql.unsafe(expression)} like lower(${pattern}::text)`,
          sql`true`,
        ),
    }
  },
})

/** Returns the pattern of `like` that finds a word; its wildcards are literal. */
function patternOf(word: string): string {
  const literal = word.replaceAll(/[\\%_]/g, '\\$&')
  return [...word].length < 3 ? `% ${literal}%` : `%${literal}%`
}
