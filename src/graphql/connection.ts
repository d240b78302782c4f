import { badInput } from '../domain/errors.ts'
import type { ListIdentity } from '../domain/record/cursor.ts'
import { beforeAll, type Instant } from '../domain/record/instant.ts'
import { type Page, type PageArguments, type PageWindow, readWindow } from '../domain/record/page.ts'
import type { Count, KeyedPage } from '../domain/search/search-table.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { CountType } from './count.ts'

type Listed = { id: number; updatedAt: Instant | null }

/** Reads a page of a list, and its length. */
interface Source<Row> {
  page: (window: PageWindow) => Promise<{ page: Page<Row> & Partial<KeyedPage<Row>>; serverTime: Instant }>
  /** Counts the whole list exactly; null: it has a filter or the records of several tenants. */
  total: ((updatedSince: Instant | null) => Promise<number>) | null
  /** Counts the whole list up to a bound; left out: exactly. */
  count?: (updatedSince: Instant | null) => Promise<Count>
  /** Finds the fields of each row in which the words of the filter occur. */
  matchedFields?: FindMatchedFields<Row>
}

/** Returns the names of fields. */
type FindMatchedFields<Row> = (rows: readonly Row[]) => Promise<ReadonlyMap<Row, readonly string[]>>

/** The error of an exact count that would have to read more than the bound. */
const noTotal = () =>
  badInput({
    totalCount: ['A list with a filter, or with the tenants below, has no exact count. Select count instead.'],
  })

/**
 * Reads a page of a list as a Relay connection (R10, R15). A page with keys is in another order than by `updated_at`: its
 * cursors have the keys.
 *
 * @param list the list that cursors belong to
 * @throws `BAD_USER_INPUT` with the errors of the arguments; `UNAVAILABLE` while the database's clock is behind
 */
export async function readConnection<Row extends Listed>(
  { clock, cursors, fieldErrors }: Context,
  list: ListIdentity,
  args: PageArguments,
  { page: readPage, total: countAll, count, matchedFields }: Source<Row>,
) {
  const window = readWindow(cursors, list, args, fieldErrors)
  clock.requireSteady()
  const { page, serverTime } = await readPage(window)
  const { updatedSince, backward } = window
  const { keys, end } = page
  const cursorAt = (id: number, key: string | null) =>
    cursors.encrypt(list, { id, updatedAt: beforeAll, updatedSince, key })
  const cursorOf = (row: Row) =>
    keys
      ? cursorAt(row.id, keys.get(row) ?? null)
      : cursors.encrypt(list, { id: row.id, updatedAt: row.updatedAt ?? beforeAll, updatedSince })
  const cursorOfEnd = end ? cursorAt(end.id, end.key) : null
  const total = async () => {
    if (!countAll) throw noTotal()
    return countAll(updatedSince)
  }
  const counting: Counting = {
    total,
    count: async () => (count ? count(updatedSince) : { count: await total(), precision: 'EXACT' }),
  }
  const pageInfo = new PageInfo(page, cursorOf, backward ? { start: cursorOfEnd } : { end: cursorOfEnd })
  return new Connection(pageInfo, page.rows, serverTime, cursorOf, counting, matchedFields)
}

// Classes, because an object literal creates its getters again for each object. Cursors are encrypted and edges created
// only when a field reads them.

class Edge<Row> {
  readonly node: Row
  readonly #cursorOf: (row: Row) => string
  readonly #matchedFieldsOf: (row: Row) => Promise<readonly string[]>

  constructor(node: Row, cursorOf: (row: Row) => string, matchedFieldsOf: (row: Row) => Promise<readonly string[]>) {
    this.node = node
    this.#cursorOf = cursorOf
    this.#matchedFieldsOf = matchedFieldsOf
  }

  matchedFields(): Promise<readonly string[]> {
    return this.#matchedFieldsOf(this.node)
  }

  get cursor(): string {
    return this.#cursorOf(this.node)
  }
}

/** Returns the fields of the edge's record that contain words of the filter. */
export const matchedFieldsOf = async (edge: object): Promise<readonly string[]> =>
  edge instanceof Edge ? edge.matchedFields() : []

class PageInfo<Row> {
  readonly hasNextPage: boolean
  readonly hasPreviousPage: boolean
  readonly #rows: readonly Row[]
  readonly #cursorOf: (row: Row) => string
  readonly #ends: Ends

  /** @param ends the cursors of the page's ends where they are not those of its records */
  constructor({ rows, hasNextPage, hasPreviousPage }: Page<Row>, cursorOf: (row: Row) => string, ends: Ends) {
    this.hasNextPage = hasNextPage
    this.hasPreviousPage = hasPreviousPage
    this.#rows = rows
    this.#cursorOf = cursorOf
    this.#ends = ends
  }

  get startCursor(): string | null {
    return this.#ends.start ?? this.#cursorAt(0)
  }

  get endCursor(): string | null {
    return this.#ends.end ?? this.#cursorAt(-1)
  }

  #cursorAt(index: number): string | null {
    const row = this.#rows.at(index)
    return row === undefined ? null : this.#cursorOf(row)
  }
}

interface Ends {
  start?: string | null
  end?: string | null
}

/** Counts a list. */
interface Counting {
  total: () => Promise<number>
  count: () => Promise<Count>
}

class Connection<Row> {
  readonly serverTime: Instant
  readonly pageInfo: PageInfo<Row>
  readonly #rows: readonly Row[]
  readonly #cursorOf: (row: Row) => string
  readonly #counting: Counting
  readonly #findMatchedFields: FindMatchedFields<Row>
  #totalCount?: Promise<number>
  #count?: Promise<Count>
  #matchedFields?: ReturnType<FindMatchedFields<Row>>

  constructor(
    pageInfo: PageInfo<Row>,
    rows: readonly Row[],
    serverTime: Instant,
    cursorOf: (row: Row) => string,
    counting: Counting,
    findMatchedFields: FindMatchedFields<Row> = async () => new Map(),
  ) {
    this.serverTime = serverTime
    this.#counting = counting
    this.#findMatchedFields = findMatchedFields
    this.pageInfo = pageInfo
    this.#rows = rows
    this.#cursorOf = cursorOf
  }

  get edges(): Edge<Row>[] {
    const matchedFieldsOf = (row: Row) => this.#matchedFieldsOf(row)
    return this.#rows.map(node => new Edge(node, this.#cursorOf, matchedFieldsOf))
  }

  /** Finds the fields of all rows at once. */
  async #matchedFieldsOf(row: Row): Promise<readonly string[]> {
    this.#matchedFields ??= this.#findMatchedFields(this.#rows)
    return (await this.#matchedFields).get(row) ?? []
  }

  /** Counts the list once, however many aliases select the count. */
  totalCount(): Promise<number> {
    this.#totalCount ??= this.#counting.total()
    return this.#totalCount
  }

  /** As `totalCount`, up to a bound. */
  count(): Promise<Count> {
    this.#count ??= this.#counting.count()
    return this.#count
  }

  get nextCursor(): string | null {
    return this.pageInfo.hasNextPage ? this.pageInfo.endCursor : null
  }
}

/** The quota units that a count adds to its page, as `npm run bench -- searches` measures. */
const costOfCount = 2

builder.globalConnectionFields(t => ({
  nextCursor: t.exposeString('nextCursor', {
    nullable: true,
    description: 'The value of `after` for the next page; null when there is none.',
  }),
  serverTime: t.expose('serverTime', {
    type: 'DateTime',
    description: 'The watermark: this page reflects all changes before this instant. Resume with it as `updatedSince`.',
  }),
  totalCount: t.int({
    description:
      'The exact number of records in the whole list. Counted only when it is selected. An error when the list has a ' +
      'filter or the records of the tenants below: select `count`.',
    resolve: connection => connection.totalCount(),
  }),
  count: t.field({
    type: CountType,
    description: 'The number of records in the whole list, exact up to a bound. Counted only when it is selected.',
    policy: { cost: costOfCount },
    resolve: connection => connection.count(),
  }),
}))

/** The description of the argument `updatedSince`. */
export const updatedSinceDescription =
  'Only records updated at or after this instant. A record without an update time is not included.'
