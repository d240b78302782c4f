import { instantFromPostgres, type Sql } from '../db/connect.ts'
import { type Ask, type Packed, readPacked } from '../db/packed.ts'
import type { CursorSeal, ListIdentity, Position } from './cursor.ts'
import { badInput, type Faults } from './errors.ts'
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
  /** The horizon: the page holds all that is stamped before it, and resuming from it misses nothing. */
  serverTime: Instant
}

export const defaultPageSize = 50
const maxPageSize = 100

/**
 * Understands what is wanted of a list (R4, R6, R10, R15). All faults are told at once.
 *
 * @param known faults that the door found before it came here
 * @throws `BAD_USER_INPUT` with the faults of `first`, `last`, `after`, `before`, `updatedSince`
 */
export function readRange(seal: CursorSeal, list: ListIdentity, wanted: PageArguments, known: Faults = {}): Range {
  const faults: Faults = { ...known }
  const size = (name: 'first' | 'last') => {
    const count = wanted[name] ?? null
    if (count !== null && (count < 0 || count > maxPageSize)) faults[name] = [`Ask for 0 to ${maxPageSize} records.`]
    return count
  }
  const first = size('first')
  const last = size('last')
  if (first !== null && last !== null) faults.last = ['Ask for the first or the last records, not for both.']

  const open = (name: 'after' | 'before') => {
    const text = wanted[name]
    if (!text) return null
    const cursor = seal.open(list, text)
    if (!cursor) faults[name] = ['This is no cursor of this list. Pass one on exactly as this list returned it.']
    return cursor
  }
  const after = open('after')
  const before = open('before')

  const asked = wanted.updatedSince ? parseInstant(wanted.updatedSince) : null
  if (wanted.updatedSince && !asked) {
    faults.updatedSince = ['Give an ISO-8601 date and time, such as 2026-01-31T09:30:00Z.']
  }
  if (Object.keys(faults).length > 0) throw badInput(faults)

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

/** The range as a page function of `sql/` takes it: its bounds, its direction, and one record more than asked for. */
export const rangeArguments = (sql: Sql, { lower, upper, backward, limit }: Range) => sql`
  ${lower.updatedAt}::text::timestamptz, ${lower.id}::bigint, ${upper.updatedAt}::text::timestamptz,
  ${upper.id}::bigint, ${backward}::boolean, ${limit + 1}::integer`

/**
 * Reads a page of packed rows.
 *
 * @param ask runs the list's statement with this selection for a row; the last row is the horizon they were read at
 */
export async function readPage<Row>(sql: Sql, range: Range, kind: Packed<Row>, ask: Ask): Promise<Page<Row>> {
  let horizon = ''
  const found = await readPacked(sql, kind, async selection => {
    const rows = await ask(selection)
    horizon = rows.at(-1)?.row ?? ''
    return rows.slice(0, -1)
  })
  const more = found.length > range.limit
  const rows = more ? found.slice(0, range.limit) : found
  if (range.backward) rows.reverse()
  return {
    rows,
    hasPreviousPage: range.backward ? more : range.afterGiven,
    hasNextPage: range.backward ? range.beforeGiven : more,
    serverTime: instantFromPostgres(horizon),
  }
}
