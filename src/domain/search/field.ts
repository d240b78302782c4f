/** The fields of filters: what a caller gives, and the condition that it becomes. */
import { z } from 'zod'
import type { Fragment, Sql } from '../../db/connect.ts'
import { dateMessage, parseDate } from '../record/date.ts'
import { parseInstant } from '../record/instant.ts'
import type { Permission } from '../token/permission.ts'
import type { SearchedWords, TextField } from './matched-fields.ts'
import type { ColumnValues, IndexOrder } from './order.ts'

/** A condition on the rows of a table. `owner.today` is the calendar day at the row's tenant. */
export type Condition = (sql: Sql) => Fragment

/** A record that a filter names. The `id` is numeric; null when it can name no such record. */
export interface RecordReference {
  id: number | null
}

/** Reports what is wrong with a field. @param part the field inside it: `from` */
export type Report = (message: string, part?: string) => void

/**
 * A range of an index that has every row that matches a filter. Reading it instead of the list bounds what is read when few
 * rows match.
 */
export interface IndexRange {
  /** The order of the index, which is read in it: no other index serves that. Null: none (`FilterEffect.indexConditions`). */
  order: IndexOrder | null
  /** The condition that the index serves alone, so that no row is read and left out. */
  where: Condition
}

/** The effect of a field on a list. */
export interface FilterEffect {
  where: Condition
  /** The values of a column with few values that the rows can have. */
  columnValues?: ColumnValues
  range?: IndexRange
  /** Conditions that all matching rows meet, each of which an index without an order serves alone. */
  indexConditions?: readonly Condition[]
  /** True when names or addresses of persons are searched. */
  searchesPersonalData?: boolean
  /** The words that are searched. */
  words?: SearchedWords
}

/** The kind of values that a caller gives. A record is given by its id, and arrives as a `RecordReference`. */
export type FilterKind =
  | 'dates'
  | 'instants'
  | 'amounts'
  | 'text'
  | 'boolean'
  | 'voucherStatuses'
  | { recordOf: string }

/** A field of a resource's filter. */
export interface FilterField {
  readonly kind: FilterKind
  readonly description: string
  /** True when it searches a text: that costs more than a comparison. */
  readonly searches?: boolean
  /** The fields of records whose text it searches, by their names. */
  readonly textFields?: Readonly<Record<string, TextField>>
  /** The key of the order whose index has its rows as one range: a list in that order reads no row and leaves it out. */
  readonly servedBy?: string
  /** The name of another field that must be given together with it, and why. */
  readonly needs?: { field: string; message: string }
  /** Returns the effect of a value for a token; null when it has none, or is wrong and was reported. */
  read(given: unknown, report: Report, permissions: readonly Permission[]): FilterEffect | null
}

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
export const dateRange = (order: IndexOrder, description: string): FilterField => ({
  kind: 'dates',
  description,
  servedBy: order.key,
  read(given, report) {
    const { from, to } = readDates(given, report)
    return within(order, between(order.key, 'date', from, '<=', to))
  },
})

/** A field of instants from one on and before another. Rows without an instant do not match. */
export const instantRange = (order: IndexOrder, description: string): FilterField => ({
  kind: 'instants',
  description,
  servedBy: order.key,
  read(given, report) {
    const range = instants.parse(given)
    const from = readBound(range.from, 'from', parseInstant, instantMessage, report)
    const before = readBound(range.before, 'before', parseInstant, instantMessage, report)
    return within(order, between(order.key, 'timestamptz', from, '<', before))
  },
})

/** A field of amounts that lie in a range, both ends included. Rows without an amount do not match. */
export const moneyRange = (order: IndexOrder, description: string): FilterField => ({
  kind: 'amounts',
  description,
  servedBy: order.key,
  needs: { field: 'currency', message: 'Give a currency, too: amounts of different currencies are not compared.' },
  read(given) {
    const { from, to } = money.parse(given)
    const text = (amount: number | null | undefined) =>
      amount === null || amount === undefined ? null : String(amount)
    return within(order, between(order.key, 'numeric', text(from), '<=', text(to)))
  },
})

const nothing: Condition = sql => sql`false`

/** Returns the effect of a condition that an index serves. */
const within = (order: IndexOrder, where: Condition): FilterEffect => ({ where, range: { order, where } })

/** Returns the condition that an expression equals a text. PostgreSQL stores no text with U+0000. */
const equals = (expression: string, text: string): Condition =>
  text.includes('\0') ? nothing : sql => sql`${sql.unsafe(expression)} = ${text}`

/** A field of rows whose text is the same. The index has its first 100 characters, because it stores no long text. */
export const sameText = (expression: string, order: IndexOrder, description: string): FilterField => ({
  kind: 'text',
  description,
  read(given) {
    const text = z.string().parse(given)
    const [begins, is] = [
      equals(`left(${expression}, 100)`, [...text].slice(0, 100).join('')),
      equals(expression, text),
    ]
    return { where: sql => sql`${begins(sql)} and ${is(sql)}`, range: { order, where: begins } }
  },
})

/** The message for a text that is no code of a currency. */
export const currencyMessage = 'Give the ISO 4217 code of a currency, for example GBP.'

/** Returns the ISO 4217 code that was typed, in upper case; null when the text has not the form of one. */
export function parseCurrency(text: string): string | null {
  const code = text.trim().toUpperCase()
  return /^[A-Z]{3}$/.test(code) ? code : null
}

/** A field of rows whose amounts are of a currency. @param order an order by an amount: its index begins with the currency */
export const ofCurrency = (order: IndexOrder, description: string): FilterField => ({
  kind: 'text',
  description,
  servedBy: order.key,
  read(given, report) {
    const code = parseCurrency(z.string().parse(given))
    if (code === null) {
      report(currencyMessage)
      return null
    }
    return within(order, equals('currency', code))
  },
})

/** A field of rows in which a boolean column has a value. @param order one whose index begins with the column */
export const isTrue = (column: string, order: IndexOrder, description: string): FilterField => ({
  kind: 'boolean',
  description,
  read(given) {
    const value = String(z.boolean().parse(given))
    const columnValues = { column, values: [value] }
    const all: Condition = sql => sql`true`
    return {
      where: sql => sql.unsafe(`${column} = ${value}`),
      columnValues,
      range: { order: { ...order, columnValues }, where: all },
    }
  },
})

const recordReference: z.ZodType<RecordReference> = z.object({ id: z.number().nullable() })

/**
 * A field of rows that belong to a record.
 *
 * @param noun the name of such a record: `catalog voucher`
 * @param order the order of the index that has the record's rows; null: the condition finds them by their ids
 * @param where returns the condition for the numeric id
 */
export const ofRecord = (
  noun: string,
  description: string,
  order: IndexOrder | null,
  where: (sql: Sql, id: number) => Fragment,
): FilterField => ({
  kind: { recordOf: noun },
  description,
  read(given) {
    const { id } = recordReference.parse(given)
    const belongs: Condition = id === null ? nothing : sql => where(sql, id)
    return { where: belongs, ...(order ? { range: { order, where: belongs } } : { indexConditions: [belongs] }) }
  },
})

/** A field of rows that have one of several values. An empty list matches nothing. */
export const oneOf = <Value extends string>(
  kind: FilterKind,
  values: readonly Value[],
  description: string,
  effect: (wanted: readonly Value[]) => FilterEffect,
): FilterField => ({
  kind,
  description,
  read(given) {
    const wanted = z.array(z.string()).parse(given)
    const known = values.filter(value => wanted.includes(value))
    return known.length === 0 ? { where: nothing } : effect(known)
  },
})
