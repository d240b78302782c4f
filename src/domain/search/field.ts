/** Creates the fields of filters. A field converts the value that a caller gives to SQL conditions. */
import { z } from 'zod'
import type { Fragment, RecordSql } from '../../db/sql.ts'
import type { Permission } from '../token/permission.ts'
import { trimInvisible } from '../trimmed.ts'
import { dateMessage, parseDate } from '../value/date.ts'
import { instantMessage, parseInstant } from '../value/instant.ts'
import type { SearchedWords, TextField } from './matched-fields.ts'
import type { Order } from './order.ts'

/**
 * Returns the SQL of a condition on the rows of a table. The SQL can use `owner.today`, the current calendar day at the
 * row's tenant.
 */
export type Condition = (sql: RecordSql) => Fragment

/** A record that a filter refers to. `id` is null when the text of the caller cannot be the id of such a record. */
export interface RecordReference {
  id: number | null
}

/** Reports an error of a filter field. @param part the field of its input that has the error, for example `from` */
export type ReportError = (message: string, part?: string) => void

/** A range of an index with all rows that match a filter. A search need not read rows outside the range. */
export interface IndexRange {
  /** The columns of the index after the tenant. A search combines ranges with the same key. */
  key: string
  /**
   * The condition of the range. The index serves it completely, so that PostgreSQL reads no row that it then discards.
   */
  where: Condition
}

/** The conditions that a filter field with a value adds to a search. */
export interface FilterConditions {
  where: Condition
  /** True when `where` equals the condition of the only range. */
  isRange?: boolean
  ranges?: readonly IndexRange[]
  /**
   * Necessary conditions: all matching rows meet them. The trigram index serves each of these conditions completely.
   */
  textConditions?: readonly Condition[]
  /** True when the filter searches names or addresses of persons. */
  searchesPersonalData?: boolean
  words?: SearchedWords
}

/** The kind of the values. A caller gives a record by its id; `read` gets it as a `RecordReference`. */
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
  /**
   * The fields of records whose text the filter searches, by name. With such fields, the search costs more quota units.
   */
  readonly textFields?: Readonly<Record<string, TextField>>
  /**
   * The key of the order whose index has the matching rows as one range. A list in that order reads only matching rows.
   */
  readonly servedBy?: string
  /** Another filter field that a caller must also give, and the error message without that field. */
  readonly needs?: { field: string; message: string }
  /**
   * Returns the conditions of a value for a token with these permissions; null when the value adds no condition, or
   * after the report of an error.
   */
  read(given: unknown, report: ReportError, permissions: readonly Permission[]): FilterConditions | null
}

/**
 * The kinds of ranges: the SQL type, the field of the input with the upper bound, the SQL operator of this bound, and
 * the parser of bounds.
 */
const rangeKinds = {
  dates: { type: 'date', end: 'to', operator: '<=', parse: parseDate, message: dateMessage },
  instants: { type: 'timestamptz', end: 'before', operator: '<', parse: parseInstant, message: instantMessage },
  amounts: { type: 'numeric', end: 'to', operator: '<=', parse: (amount: string) => amount, message: '' },
} as const

const rangeInput = z.record(z.string(), z.union([z.string(), z.number()]).nullish())

/** Parses the bounds of a range, and reports invalid bounds. A null means no bound. */
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

/** Returns a value of a condition as a subquery, because PostgreSQL would otherwise parse the text for each row. */
export const parseOnce = (sql: RecordSql, text: string | null, type: string): Fragment =>
  sql`(select ${text}::text::${sql.unsafe(type)})`

/**
 * Returns a filter field for the rows with a value in a range. Rows without a value do not match.
 *
 * @param order the order by this value, whose index serves the filter
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
    return rangeConditions(order.key, sql => {
      const key = sql.unsafe(order.key)
      const bound = (comparison: string, text: string | null) =>
        text === null ? sql`` : sql`and ${key} ${sql.unsafe(comparison)} ${parseOnce(sql, text, type)}`
      return sql`${key} is not null ${bound('>=', from)} ${bound(operator, to)}`
    })
  },
})

/** Returns a condition that no row meets. */
export const matchNothing: Condition = sql => sql`false`

/** Returns the conditions of a filter that is one range of an index. */
const rangeConditions = (key: string, where: Condition): FilterConditions => ({
  where,
  isRange: true,
  ranges: [{ key, where }],
})

/**
 * Returns the condition that an expression equals a text. A text with U+0000 equals nothing, because PostgreSQL cannot
 * store it.
 */
const equals = (expression: string, text: string): Condition =>
  text.includes('\0') ? matchNothing : sql => sql`${sql.unsafe(expression)} = ${text}`

/**
 * Returns a filter field for the rows with the same text. The index has the first 100 characters of a text, because an
 * index cannot store a long text.
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

/** Returns the ISO 4217 code in a text, in upper case; null when the text does not have the format of a code. */
export function parseCurrency(text: string): string | null {
  const code = trimInvisible(text).toUpperCase()
  return /^[A-Z]{3}$/.test(code) ? code : null
}

/**
 * Returns a filter field for the rows with amounts in one currency.
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
    return rangeConditions(order.key, equals('currency', code))
  },
})

/** Returns a filter field for the rows by a boolean column. The index has only the rows in which the column is true. */
export const isTrue = (column: string, description: string): FilterField => ({
  kind: 'boolean',
  description,
  read(given) {
    const value = z.boolean().parse(given)
    const where: Condition = sql => sql.unsafe(value ? column : `not ${column}`)
    return value ? rangeConditions(column, where) : { where }
  },
})

const recordReference: z.ZodType<RecordReference> = z.object({ id: z.number().nullable() })

/**
 * Returns a filter field for the rows that belong to a record.
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
    return rangeConditions(key, id === null ? matchNothing : sql => where(sql, id))
  },
})
