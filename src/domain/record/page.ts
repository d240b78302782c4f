import type { Fragment, Sql } from '../../db/connect.ts'
import { type FieldErrors, throwIfErrors } from '../errors.ts'
import type { Cursor, CursorCipher, ListIdentity, Position } from './cursor.ts'
import { afterAll, beforeAll, type Instant, parseInstant } from './instant.ts'

/** The arguments of a list, as the caller sent them. */
export interface PageArguments {
  first?: number | null | undefined
  last?: number | null | undefined
  after?: string | null | undefined
  before?: string | null | undefined
  updatedSince?: string | null | undefined
}

/** The number of records to read, and the end of the list to read them from. */
interface PageShape {
  limit: number
  backward: boolean
  updatedSince: Instant | null
  /** True when the caller gave `after` or `before`: then there is a record beyond it. */
  afterGiven: boolean
  beforeGiven: boolean
}

/** The records of a list strictly between two positions: `limit` of them, from one end. */
export interface Range extends PageShape {
  lower: Position
  upper: Position
}

/** The records of a list strictly between two cursors, in whatever order the list has. */
export interface PageWindow extends PageShape {
  after: Cursor | null
  before: Cursor | null
}

/** A page of a list. The rows are in the list's order, from whichever end the page was read. */
export interface Page<Row> {
  rows: Row[]
  hasPreviousPage: boolean
  hasNextPage: boolean
}

/** The records on a page when neither `first` nor `last` is given (contract, Limits). */
export const defaultPageSize = 50
const maxPageSize = 100

/**
 * Parses the arguments of a list (R4, R6, R10). Reports all errors at once.
 *
 * @param list the list that the cursors must belong to
 * @param transportErrors errors that the transport found
 * @throws `BAD_USER_INPUT` with the errors of `first`, `last`, `after`, `before`, `updatedSince`
 */
export function readWindow(
  cipher: CursorCipher,
  list: ListIdentity,
  args: PageArguments,
  transportErrors: FieldErrors = {},
): PageWindow {
  const fieldErrors: FieldErrors = { ...transportErrors }
  const size = (name: 'first' | 'last') => {
    const count = args[name] ?? null
    if (count !== null && (count < 0 || count > maxPageSize))
      fieldErrors[name] = [`Must be 0 to ${maxPageSize}, for example 50.`]
    return count
  }
  const first = size('first')
  const last = size('last')
  if (first !== null && last !== null) fieldErrors.last = ['Give either first or last, not both.']

  const decrypt = (name: 'after' | 'before') => {
    const text = args[name]
    if (!text) return null
    const cursor = cipher.decrypt(list, text)
    if (!cursor) fieldErrors[name] = ['This is no cursor of this list. Pass one on exactly as this list returned it.']
    return cursor
  }
  const after = decrypt('after')
  const before = decrypt('before')

  const given = args.updatedSince ? parseInstant(args.updatedSince) : null
  if (args.updatedSince && !given) {
    fieldErrors.updatedSince = ['Give an ISO-8601 date and time, such as 2026-01-31T09:30:00Z.']
  }
  throwIfErrors(fieldErrors)

  return {
    after,
    before,
    limit: last ?? first ?? defaultPageSize,
    backward: last !== null,
    updatedSince: latest(given, after?.updatedSince, before?.updatedSince),
    afterGiven: after !== null,
    beforeGiven: before !== null,
  }
}

/** Parses the arguments of a list that is ordered by `updated_at`, then `id` (R15), as `readWindow` does. */
export function readRange(
  cipher: CursorCipher,
  list: ListIdentity,
  args: PageArguments,
  transportErrors: FieldErrors = {},
): Range {
  const { after, before, ...shape } = readWindow(cipher, list, args, transportErrors)
  const since: Position = { updatedAt: shape.updatedSince ?? beforeAll, id: 0 }
  return {
    ...shape,
    lower: after && comesAfter(after, since) ? after : since,
    upper: before ?? { updatedAt: afterAll, id: 0 },
  }
}

const comesAfter = (a: Position, b: Position) =>
  a.updatedAt > b.updatedAt || (a.updatedAt === b.updatedAt && a.id > b.id)

const latest = (...instants: (Instant | null | undefined)[]) =>
  instants.reduce<Instant | null>((found, instant) => (instant && (!found || instant > found) ? instant : found), null)

/** Limits a range to the records stamped before the watermark: not all later ones can be seen yet. */
export const upTo = (watermark: Instant, range: Range): Range => {
  const end: Position = { updatedAt: watermark, id: 0 }
  return comesAfter(range.upper, end) ? { ...range, upper: end } : range
}

/**
 * Returns the end of a list's statement: rows strictly between the bounds, from one end, one more than the page has.
 *
 * @param stamp what the list is ordered by before `id`, as its index has it
 * @param direction `desc` when rows are read from the end of the list
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

/**
 * Makes a page of the rows that a list's statement found.
 *
 * @param more whether the list goes on; by default, whether there is one more row than the page has
 */
export function toPage<Row>(range: PageShape, found: Row[], more = found.length > range.limit): Page<Row> {
  const rows = found.slice(0, range.limit)
  return {
    rows: range.backward ? rows.reverse() : rows,
    hasPreviousPage: range.backward ? more : range.afterGiven,
    hasNextPage: range.backward ? range.beforeGiven : more,
  }
}
