/** The fields of filters: the value that a caller gives, and the resulting condition. */
import { z } from 'zod'
import type { Fragment, RecordSql } from '../../db/sql.ts'
import type { Permission } from '../token/permission.ts'
import { trimInvisible } from '../trimmed.ts'
import { dateMessage, parseDate } from '../value/date.ts'
import { instantMessage, parseInstant } from '../value/instant.ts'
import type { SearchedWords, TextField } from './matched-fields.ts'
import type { Order } from './order.ts'

/** A condition on the rows of a table. `owner.today` is the calendar day at the row's tenant. */
export type Condition = (sql: RecordSql) => Fragment

/** A record that a filter names. The `id` is numeric; null when it can name no such record. */
export interface RecordReference {
  id: number | null
}

/** Reports an error of a field. @param part the field inside it: `from` */
export type ReportError = (message: string, part?: string) => void

/** A range of an index that has every row that matches a filter. It bounds the rows that a search reads. */
export interface IndexRange {
  /** The columns of the index after the tenant. Ranges of the same index become one. */
  key: string
  /** The condition that the index serves completely, so that no row is read and then discarded. */
  where: Condition
}

/** The conditions that a value of a filter adds to a search. */
export interface FilterConditions {
  where: Condition
  /** True when the condition equals the condition of its only range. */
  isRange?: boolean
  ranges?: readonly IndexRange[]
  /** Conditions that all matching rows meet. The index of texts serves each of them completely. */
  textConditions?: readonly Condition[]
  /** True when names or addresses of persons are searched. */
  searchesPersonalData?: boolean
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

export interface FilterField {
  readonly kind: FilterKind
  readonly description: string
  /** The fields of records whose text it searches, by name. A text search costs more than a comparison. */
  readonly textFields?: Readonly<Record<string, TextField>>
  /** The key of the order whose index has its rows as one range: a list in that order then reads only matching rows. */
  readonly servedBy?: string
  /** The name of another field that must be given with it, and the message without it. */
  readonly needs?: { field: string; message: string }
  /**
   * Returns the conditions of a value for a token; null for a value without conditions, or one that was reported as
   * wrong.
   */
  read(given: unknown, report: ReportError, permissions: readonly Permission[]): FilterConditions | null
}

/** The kinds of ranges: the type and the operator of SQL, the part of the input that ends it, and its parser. */
const rangeKinds = {
  dates: { type: 'date', end: 'to', operator: '<=', parse: parseDate, message: dateMessage },
  instants: { type: 'timestamptz', end: 'before', operator: '<', parse: parseInstant, message: instantMessage },
  amounts: { type: 'numeric', end: 'to', operator: '<=', parse: (amount: string) => amount, message: '' },
} as const

const rangeInput = z.record(z.string(), z.union([z.string(), z.number()]).nullish())

/** Parses the bounds of a range, and reports invalid bounds. A null bound is open. */
export function readBounds(kind: keyof typeof rangeKinds, given: unknown, report: ReportError) {
  const { end, parse, message } = rangeKinds[kind]
  const range = rangeInput.parse(given)
  const read = (part: string): string | null => {
    const bound = range[part] ?? null
    const parsed = bound === null ? null : parse(String(bound))
    if (bound !== null && parsed === null) report(message, part)
    return parsed
  }
  return { from: read('from'), to: read(end) }
}

/** Returns a value of a condition, as a subquery: otherwise PostgreSQL would parse the text for each row. */
export const parsedOnce = (sql: RecordSql, text: string | null, type: string): Fragment =>
  sql`(select ${text}::text::${sql.unsafe(type)})`

/**
 * Returns a field that selects the rows with a value in a range, and no rows without a value.
 *
 * @param order the order by that value, whose index serves the field
 */
export const inRange = (kind: keyof typeof rangeKinds, order: Order, description: string): FilterField => ({
  kind,
  description,
  servedBy: order.key,
  ...(kind === 'amounts' && {
    needs: { field: 'currency', message: 'Also give a currency: amounts of different currencies are not compared.' },
  }),
  read(given, report) {
    const { from, to } = readBounds(kind, given, report)
    const { type, operator } = rangeKinds[kind]
    return within(order.key, sql => {
      const key = sql.unsafe(order.key)
      const bound = (comparison: string, text: string | null) =>
        text === null ? sql`` : sql`and ${key} ${sql.unsafe(comparison)} ${parsedOnce(sql, text, type)}`
      return sql`${key} is not null ${bound('>=', from)} ${bound(operator, to)}`
    })
  },
})

/** A condition that no row meets. */
export const nothing: Condition = sql => sql`false`

/** Returns the conditions of a filter that an index serves. */
const within = (key: string, where: Condition): FilterConditions => ({
  where,
  isRange: true,
  ranges: [{ key, where }],
})

/** Returns the condition that an expression equals a text. PostgreSQL stores no text with U+0000. */
const equals = (expression: string, text: string): Condition =>
  text.includes('\0') ? nothing : sql => sql`${sql.unsafe(expression)} = ${text}`

/**
 * Returns a field that selects the rows with the same text. The index has the first 100 characters of the text, because
 * it cannot store a long one.
 */
export const sameText = (expression: string, description: string): FilterField => ({
  kind: 'text',
  description,
  read(given) {
    const text = z.string().parse(given)
    const [begins, is] = [
      equals(`left(${expression}, 100)`, [...text].slice(0, 100).join('')),
      equals(expression, text),
    ]
    return { where: sql => sql`${begins(sql)} and ${is(sql)}`, ranges: [{ key: expression, where: begins }] }
  },
})

export const currencyMessage = 'Give the ISO 4217 code of a currency, for example GBP.'

/** Returns the ISO 4217 code that was typed, in upper case; null when the text does not have the format of a code. */
export function parseCurrency(text: string): string | null {
  const code = trimInvisible(text).toUpperCase()
  return /^[A-Z]{3}$/.test(code) ? code : null
}

/**
 * Returns a field that selects the rows with amounts in one currency.
 *
 * @param order an order by an amount, whose index begins with the currency
 */
export const ofCurrency = (order: Order, description: string): FilterField => ({
  kind: 'text',
  description,
  servedBy: order.key,
  read(given, report) {
    const code = parseCurrency(z.string().parse(given))
    if (code === null) {
      report(currencyMessage)
      return null
    }
    return within(order.key, equals('currency', code))
  },
})

/** Returns a field that selects the rows by a boolean column. An index has the rows in which it is true. */
export const isTrue = (column: string, description: string): FilterField => ({
  kind: 'boolean',
  description,
  read(given) {
    const value = z.boolean().parse(given)
    const where: Condition = sql => sql.unsafe(value ? column : `not ${column}`)
    return value ? within(column, where) : { where }
  },
})

const recordReference: z.ZodType<RecordReference> = z.object({ id: z.number().nullable() })

/**
 * Returns a field that selects the rows that belong to a record.
 *
 * @param noun the noun of the record's resource: `catalog voucher`
 * @param key the column by which the index finds the rows
 * @param where returns the condition for a numeric id
 */
export const ofRecord = (
  noun: string,
  key: string,
  description: string,
  where: (sql: RecordSql, id: number) => Fragment,
): FilterField => ({
  kind: { recordOf: noun },
  description,
  read(given) {
    const { id } = recordReference.parse(given)
    return within(key, id === null ? nothing : sql => where(sql, id))
  },
})
