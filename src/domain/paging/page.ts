import type { Fragment, RecordSql } from '../../db/sql.ts'
import { type FieldErrors, throwIfErrors } from '../errors.ts'
import { afterAll, beforeAll, type Instant, instantMessage, parseInstant } from '../value/instant.ts'
import type { Cursor, CursorCipher, ListIdentity, Position } from './cursor.ts'

/** The arguments of a list, as the caller sent them. */
export interface PageArguments {
  first?: number | null | undefined
  last?: number | null | undefined
  after?: string | null | undefined
  before?: string | null | undefined
  updatedSince?: string | null | undefined
}

/** A position in a list; with the record's key when the list is not in the default order. */
type ListPosition = Position & Pick<Cursor, 'key'>

/**
 * A window of a list: at most `limit` rows after the row `after` and before the row `before`; with `backward`, the last
 * such rows. A null is no bound.
 */
export interface RowWindow {
  limit: number
  backward?: boolean
  after?: { id: number } | null
  before?: { id: number } | null
}

/** A window between two positions. No row has to exist at these positions. */
export interface PageWindow extends RowWindow {
  backward: boolean
  after: ListPosition | null
  before: ListPosition | null
  /** The earliest stamp of the records in the list; null for no bound. */
  updatedSince: Instant | null
  /** The latest stamp of the records in the list; null for no bound. */
  until: Instant | null
}

/**
 * The rows of a page, and whether the list has rows before and after them. The rows are always in the order of the
 * list, also when the page was read from the end of the list.
 */
export interface Page<Row> {
  rows: Row[]
  hasPreviousPage: boolean
  hasNextPage: boolean
}

/** A page of records, with the stamp of the last step whose changes the page shows (R34). */
export interface RecordPage<Row> extends Page<Row> {
  serverTime: Instant
}

/** The number of records on a page when neither `first` nor `last` is given (contract, Limits). */
export const defaultPageSize = 50
const maxPageSize = 100

/**
 * Parses the arguments of a list (R4, R6, R10). Reports all errors together.
 *
 * @param list the list to which the cursors must belong
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
    fieldErrors.updatedSince = [instantMessage]
  }
  throwIfErrors(fieldErrors)

  return {
    after,
    before,
    limit: last ?? first ?? defaultPageSize,
    backward: last !== null,
    updatedSince: latestInstant(given, after?.updatedSince, before?.updatedSince),
    until: null,
  }
}

const comesAfter = (a: Position, b: Position) =>
  a.updatedAt > b.updatedAt || (a.updatedAt === b.updatedAt && a.id > b.id)

const latestInstant = (...instants: (Instant | null | undefined)[]) =>
  instants.reduce<Instant | null>((found, instant) => (instant && (!found || instant > found) ? instant : found), null)

/** Returns the positions between which the records of a window lie, in a list by `updated_at`, then `id` (R15). */
export function boundsOf({ after, before, updatedSince, until }: PageWindow): { lower: Position; upper: Position } {
  const since: Position = { updatedAt: updatedSince ?? beforeAll, id: 0 }
  const end: Position = { updatedAt: until ?? afterAll, id: Number.MAX_SAFE_INTEGER }
  return {
    lower: after && comesAfter(after, since) ? after : since,
    upper: before && comesAfter(end, before) ? before : end,
  }
}

/**
 * Returns the SQL that ends the statement of a list. The statement then selects the rows of the window, and one
 * additional row, which shows that the list continues.
 */
export function withinWindow(sql: RecordSql, window: PageWindow): Fragment {
  const { lower, upper } = boundsOf(window)
  const direction = sql.unsafe(window.backward ? 'desc' : '')
  return sql`
    (updated_at, id) > (${lower.updatedAt}::text::timestamptz, ${lower.id}::bigint)
    and (updated_at, id) < (${upper.updatedAt}::text::timestamptz, ${upper.id}::bigint)
    order by updated_at ${direction}, id ${direction} limit ${window.limit + 1}`
}

/**
 * The order of a list: by a key that is never null, then by `id`. All texts are SQL of this service, and contain no
 * input of a caller.
 */
export interface RowOrder {
  table: string
  key: string
  descending?: boolean
}

/**
 * Returns the condition that a row is after, or before, the row with an id. The condition is null when no row has the
 * id.
 */
export function rowOrderCondition(
  sql: RecordSql,
  { table, key, descending = false }: RowOrder,
  side: 'after' | 'before',
  id: Fragment | number,
): Fragment {
  const operator = sql.unsafe(descending === (side === 'before') ? '>' : '<')
  const place = sql.unsafe(`${key}, id`)
  return sql`(${place}) ${operator} (select ${place} from ${sql.unsafe(table)} where id = ${id})`
}

/**
 * Returns the SQL that ends the statement of a list. The statement then selects the rows of the window, and one
 * additional row. The window is between the current positions of the rows `after` and `before`; the page is empty when
 * one of these rows does not exist.
 */
export function betweenRows(sql: RecordSql, order: RowOrder, window: RowWindow): Fragment {
  const { key, descending = false } = order
  const { limit, backward = false, after, before } = window
  const direction = sql.unsafe(descending === backward ? '' : 'desc')
  return sql`
    ${after ? rowOrderCondition(sql, order, 'after', after.id) : sql`true`}
    and ${before ? rowOrderCondition(sql, order, 'before', before.id) : sql`true`}
    order by ${sql.unsafe(key)} ${direction}, id ${direction} limit ${limit + 1}`
}

/**
 * Converts the rows of a list's statement to a page.
 *
 * @param more true when the list continues; default: true when there are more than `limit` rows
 */
export function toPage<Row>(
  { limit, backward = false, after, before }: RowWindow,
  found: Row[],
  more = found.length > limit,
): Page<Row> {
  const rows = found.slice(0, limit)
  return {
    rows: backward ? rows.reverse() : rows,
    hasPreviousPage: backward ? more : !!after,
    hasNextPage: backward ? !!before : more,
  }
}

/**
 * Reads pages of several lists in at most two calls of `read`: one for pages from the starts of lists, one for pages
 * from the ends.
 *
 * @returns the pages, in the order of the requests
 */
export async function readFromBothEnds<Request extends { window: PageWindow }, Row>(
  requests: readonly Request[],
  read: (requests: readonly Request[], backward: boolean) => Promise<RecordPage<Row>[]>,
): Promise<RecordPage<Row>[]> {
  const ends = [false, true].map(end => requests.filter(({ window: { backward } }) => backward === end))
  const [forward = [], backward = []] = await Promise.all(
    ends.map((asked, end) => (asked.length > 0 ? read(asked, end === 1) : [])),
  )
  const pages = { forward: forward.values(), backward: backward.values() }
  return requests.flatMap(({ window }) => (window.backward ? pages.backward : pages.forward).next().value ?? [])
}
