import type { ListIdentity } from '../domain/cursor.ts'
import { beforeAll, type Instant } from '../domain/instant.ts'
import { type Page, type PageArguments, type PageWindow, type Range, readRange, readWindow } from '../domain/page.ts'
import type { KeyedPage } from '../domain/search/search-table.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import type { Reading } from './loaders.ts'

type Listed = { id: number; updatedAt: Instant | null }

/** Reads a page of a list, and its length. */
interface Source<Row> {
  page: (range: Range) => Promise<Reading<Row>>
  count: (updatedSince: Instant | null) => Promise<number>
}

/**
 * Reads a page of a list as a Relay connection (R10, R15).
 *
 * @param list the list that cursors belong to
 * @throws `BAD_USER_INPUT` with the errors of the arguments; `UNAVAILABLE` while the database's clock is behind
 */
export async function readConnection<Row extends Listed>(
  { clock, cursors, fieldErrors }: Context,
  list: ListIdentity,
  args: PageArguments,
  source: Source<Row>,
) {
  const range = readRange(cursors, list, args, fieldErrors)
  clock.requireSteady()
  const { page, serverTime } = await source.page(range)
  const cursorOf = (row: Row) =>
    cursors.encrypt(list, { id: row.id, updatedAt: row.updatedAt ?? beforeAll, updatedSince: range.updatedSince })
  return new Connection(page, serverTime, cursorOf, () => source.count(range.updatedSince))
}

/** Reads a page of a filtered or ordered list, and its length. */
interface SearchSource<Row> {
  page: (window: PageWindow) => Promise<{ page: KeyedPage<Row>; serverTime: Instant }>
  count: (updatedSince: Instant | null) => Promise<number>
}

/** Reads a page of a filtered or ordered list, as `readConnection` does: its cursors have the keys of its order. */
export async function readSearchConnection<Row extends Listed>(
  { clock, cursors }: Context,
  list: ListIdentity,
  args: PageArguments,
  source: SearchSource<Row>,
) {
  const window = readWindow(cursors, list, args)
  clock.requireSteady()
  const { page, serverTime } = await source.page(window)
  const { updatedSince } = window
  const cursorOf = (row: Row) =>
    cursors.encrypt(list, { id: row.id, updatedAt: beforeAll, updatedSince, key: page.keys.get(row) ?? null })
  return new Connection(page, serverTime, cursorOf, () => source.count(updatedSince))
}

// Classes, because an object literal creates its getters again for each object. Cursors are encrypted and edges created
// only when a field reads them.

class Edge<Row> {
  readonly node: Row
  readonly #cursorOf: (row: Row) => string

  constructor(node: Row, cursorOf: (row: Row) => string) {
    this.node = node
    this.#cursorOf = cursorOf
  }

  get cursor(): string {
    return this.#cursorOf(this.node)
  }
}

class PageInfo<Row> {
  readonly hasNextPage: boolean
  readonly hasPreviousPage: boolean
  readonly #rows: readonly Row[]
  readonly #cursorOf: (row: Row) => string

  constructor({ rows, hasNextPage, hasPreviousPage }: Page<Row>, cursorOf: (row: Row) => string) {
    this.hasNextPage = hasNextPage
    this.hasPreviousPage = hasPreviousPage
    this.#rows = rows
    this.#cursorOf = cursorOf
  }

  get startCursor(): string | null {
    return this.#cursorAt(0)
  }

  get endCursor(): string | null {
    return this.#cursorAt(-1)
  }

  #cursorAt(index: number): string | null {
    const row = this.#rows.at(index)
    return row === undefined ? null : this.#cursorOf(row)
  }
}

class Connection<Row> {
  readonly serverTime: Instant
  readonly pageInfo: PageInfo<Row>
  readonly #rows: readonly Row[]
  readonly #cursorOf: (row: Row) => string
  readonly #count: () => Promise<number>
  #totalCount?: Promise<number>

  constructor(page: Page<Row>, serverTime: Instant, cursorOf: (row: Row) => string, count: () => Promise<number>) {
    this.serverTime = serverTime
    this.#count = count
    this.pageInfo = new PageInfo(page, cursorOf)
    this.#rows = page.rows
    this.#cursorOf = cursorOf
  }

  get edges(): Edge<Row>[] {
    return this.#rows.map(node => new Edge(node, this.#cursorOf))
  }

  /** Counts the list once, however many aliases select the count. */
  totalCount(): Promise<number> {
    this.#totalCount ??= this.#count()
    return this.#totalCount
  }

  get nextCursor(): string | null {
    return this.pageInfo.hasNextPage ? this.pageInfo.endCursor : null
  }
}

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
    description: 'The number of records in the whole list. Counted only when it is selected.',
    resolve: connection => connection.totalCount(),
  }),
}))

/** The description of the argument `updatedSince`. */
export const updatedSinceDescription =
  'Only records updated at or after this instant. A record without an update time is not included.'
