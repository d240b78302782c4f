import type { Fragment, Sql } from '../db/connect.ts'
import type { CursorCipher, ListIdentity, Position } from './cursor.ts'
import { badInput, type FieldErrors } from './errors.ts'
import { afterAll, beforeAll, type Instant, parseInstant } from './instant.ts'

/** How much of a list is wanted, as the caller said it. */
export interface PageArguments {
  first?: number | null | undefined
  last?: number | null | undefined
  after?: string | null | undefined
  before?: string | null | undefined
  updatedSince?: string | null | undefined
}

/** The same, understood: the records strictly between two positions, `limit` of them, from one end. */
export interface Range {
  lower: Position
  upper: Position
  limit: number
  backward: boolean
  updatedSince: Instant | null
  /** Whether the caller named a bound: then there is a record beyond it. */
  afterGiven: boolean
  beforeGiven: boolean
}

/** A page of a list, in the list's order whichever way it was asked for. */
export interface Page<Row> {
  rows: Row[]
  hasPreviousPage: boolean
  hasNextPage: boolean
}

export const defaultPageSize = 50
const maxPageSize = 100

/**
 * Understands what is wanted of a list (R4, R6, R10, R15). All errors are told at once.
 *
 * @param known errors that the door found before it came here
 * @throws `BAD_USER_INPUT` with the errors of `first`, `last`, `after`, `before`, `updatedSince`
 */
export function readRange(
  cipher: CursorCipher,
  list: ListIdentity,
  wanted: PageArguments,
  known: FieldErrors = {},
): Range {
  const fieldErrors: FieldErrors = { ...known }
  const size = (name: 'first' | 'last') => {
    const count = wanted[name] ?? null
    if (count !== null && (count < 0 || count > maxPageSize))
      fieldErrors[name] = [`Ask for 0 to ${maxPageSize} records.`]
    return count
  }
  const first = size('first')
  const last = size('last')
  if (first !== null && last !== null) fieldErrors.last = ['Ask for the first or the last records, not for both.']

  const open = (name: 'after' | 'before') => {
    const text = wanted[name]
    if (!text) return null
    const cursor = cipher.decrypt(list, text)
    if (!cursor) fieldErrors[name] = ['This is no cursor of this list. Pass one on exactly as this list returned it.']
    return cursor
  }
  const after = open('after')
  const before = open('before')

  const asked = wanted.updatedSince ? parseInstant(wanted.updatedSince) : null
  if (wanted.updatedSince && !asked) {
    fieldErrors.updatedSince = ['Give an ISO-8601 date and time, such as 2026-01-31T09:30:00Z.']
  }
  if (Object.keys(fieldErrors).length > 0) throw badInput(fieldErrors)

  const updatedSince = latest(asked, after?.updatedSince, before?.updatedSince)
  const since: Position = { updatedAt: updatedSince ?? beforeAll, id: 0 }
  return {
    lower: after && comesAfter(after, since) ? after : since,
    upper: before ?? { updatedAt: afterAll, id: 0 },
    limit: last ?? first ?? defaultPageSize,
    backward: last !== null,
    updatedSince,
    afterGiven: after !== null,
    beforeGiven: before !== null,
  }
}

const comesAfter = (a: Position, b: Position) =>
  a.updatedAt > b.updatedAt || (a.updatedAt === b.updatedAt && a.id > b.id)

const latest = (...instants: (Instant | null | undefined)[]) =>
  instants.reduce<Instant | null>((found, instant) => (instant && (!found || instant > found) ? instant : found), null)

/** The range as far as the watermark: what is stamped from there on may not all be seen yet. */
export const upTo = (watermark: Instant, range: Range): Range => {
  const end: Position = { updatedAt: watermark, id: 0 }
  return comesAfter(range.upper, end) ? { ...range, upper: end } : range
}

/**
 * The end of a list's statement: its rows strictly between the bounds, from one end, and one more than asked for.
 *
 * @param stamp what the list is ordered by before `id`, as its index has it
 * @param direction in which the rows are read: `desc` from the list's other end
 */
export function within(
  sql: Sql,
  { lower, upper, backward, limit }: Range,
  stamp: Fragment = sql`updated_at`,
  direction: Fragment = backward ? sql`desc` : sql``,
): Fragment {
  return sql`
    (${stamp}, id) > (${lower.updatedAt}::text::timestamptz, ${lower.id}::bigint)
    and (${stamp}, id) < (${upper.updatedAt}::text::timestamptz, ${upper.id}::bigint)
    order by ${stamp} ${direction}, id ${direction} limit ${limit + 1}`
}

/** @param found the rows of a list's statement */
export function toPage<Row>(range: Range, found: Row[]): Page<Row> {
  const more = found.length > range.limit
  const rows = more ? found.slice(0, range.limit) : found
  return {
    rows: range.backward ? rows.reverse() : rows,
    hasPreviousPage: range.backward ? more : range.afterGiven,
    hasNextPage: range.backward ? range.beforeGiven : more,
  }
}
