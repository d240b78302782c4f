import { badInput } from '../domain/errors.ts'
import type { Cursor, ListIdentity } from '../domain/paging/cursor.ts'
import { type PageArguments, type PageWindow, type RecordPage, readWindow } from '../domain/paging/page.ts'
import { type Count, type KeyedPage, mostCandidates } from '../domain/search/search-table.ts'
import { beforeAll, type Instant } from '../domain/value/instant.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'

const CountPrecision = builder.enumType('CountPrecision', {
  description: 'The precision of a count.',
  values: {
    EXACT: { description: 'There are this many.' },
    AT_LEAST: { description: 'There are this many or more: counting ended at its bound.' },
  },
})

const CountType = builder.objectRef<Count>('Count').implement({
  description: `How many records a list has. Counting reads at most ${mostCandidates.toLocaleString('en')} records.`,
  fields: t => ({
    count: t.exposeInt('count', { description: 'The number, or its lower bound.' }),
    precision: t.expose('precision', { type: CountPrecision, description: 'The precision of the number.' }),
  }),
})

type ListedRecord = { id: number; updatedAt: Instant }

type SourcePage<Row> = RecordPage<Row> & Partial<KeyedPage<Row>>

interface Source<Row> {
  page: (window: PageWindow) => Promise<SourcePage<Row>>
  /** Counts the whole list exactly; null when the list has a filter or the records of several tenants. */
  total: ((updatedSince: Instant | null) => Promise<number>) | null
  /** Counts the whole list, but at most up to a limit; default: the exact `total`. */
  count?: (updatedSince: Instant | null) => Promise<Count>
  /** Finds the fields of each row in which the words of the filter occur. */
  matchedFields?: (rows: readonly Row[]) => Promise<ReadonlyMap<Row, readonly string[]>>
}

/** The error when the exact count is selected for a list that can only be counted up to a limit. */
const noExactCountError = () =>
  badInput({
    totalCount: ['A list with a filter, or with the tenants below, has no exact count. Select count instead.'],
  })

/**
 * Reads a page of a list as a Relay connection (R10, R15). When a page has keys, it is ordered by these keys and not by
 * `updated_at`, and its cursors contain the keys.
 *
 * @param list the list to which the cursors belong
 * @throws `BAD_USER_INPUT` with the errors of the arguments; `UNAVAILABLE` during the first fill
 */
export async function readConnection<Row extends ListedRecord>(
  { cursors, fieldErrors }: Context,
  list: ListIdentity,
  args: PageArguments,
  source: Source<Row>,
) {
  const window = readWindow(cursors, list, args, fieldErrors)
  const { updatedSince } = window
  const encrypt = (cursor: Omit<Cursor, 'updatedSince'>) => cursors.encrypt(list, { ...cursor, updatedSince })
  return new Connection(await source.page(window), source, window, encrypt)
}

// Classes, because an object literal creates its getters again for each object. Cursors are encrypted, and edges are
// created, only when a field reads them.

/** A page of a list, which is also its own page info. */
class Connection<Row extends ListedRecord> {
  #totalCount?: Promise<number>
  #count?: Promise<Count>
  #matchedFields?: Promise<ReadonlyMap<Row, readonly string[]>>

  constructor(
    readonly page: SourcePage<Row>,
    readonly source: Source<Row>,
    readonly window: PageWindow,
    readonly encrypt: (cursor: Omit<Cursor, 'updatedSince'>) => string,
  ) {}

  get serverTime(): Instant {
    return this.page.serverTime
  }

  get edges(): Edge<Row>[] {
    return this.page.rows.map(node => new Edge(this, node))
  }

  get pageInfo(): this {
    return this
  }

  get hasNextPage(): boolean {
    return this.page.hasNextPage
  }

  get hasPreviousPage(): boolean {
    return this.page.hasPreviousPage
  }

  get startCursor(): string | null {
    return this.#cursorAt(0, this.window.backward)
  }

  get endCursor(): string | null {
    return this.#cursorAt(-1, !this.window.backward)
  }

  get nextCursor(): string | null {
    return this.hasNextPage ? this.endCursor : null
  }

  cursorOf(row: Row): string {
    const { keys } = this.page
    return keys
      ? this.encrypt({ id: row.id, updatedAt: beforeAll, key: keys.get(row) ?? null })
      : this.encrypt({ id: row.id, updatedAt: row.updatedAt })
  }

  /**
   * Returns the cursor of the first or the last row of the page.
   *
   * @param isReached whether the list was read in the direction of this row
   */
  #cursorAt(index: number, isReached: boolean): string | null {
    const { rows, end } = this.page
    if (isReached && end) return this.encrypt({ ...end, updatedAt: beforeAll })
    const row = rows.at(index)
    return row === undefined ? null : this.cursorOf(row)
  }

  /** Finds the matched fields of all rows in one call. */
  async matchedFieldsOf(row: Row): Promise<readonly string[]> {
    this.#matchedFields ??= this.source.matchedFields?.(this.page.rows) ?? Promise.resolve(new Map())
    return (await this.#matchedFields).get(row) ?? []
  }

  /** Counts the list once for all aliases of the field. */
  totalCount(): Promise<number> {
    const { total } = this.source
    this.#totalCount ??= total ? total(this.window.updatedSince) : Promise.reject(noExactCountError())
    return this.#totalCount
  }

  /** Counts like `totalCount`, but at most up to a limit. */
  count(): Promise<Count> {
    const { count } = this.source
    this.#count ??= count
      ? count(this.window.updatedSince)
      : this.totalCount().then(exact => ({ count: exact, precision: 'EXACT' }))
    return this.#count
  }
}

class Edge<Row extends ListedRecord> {
  constructor(
    readonly connection: Connection<Row>,
    readonly node: Row,
  ) {}

  get cursor(): string {
    return this.connection.cursorOf(this.node)
  }
}

/** Returns the fields of the edge's record that contain words of the filter. */
export const matchedFieldsOf = async (edge: object): Promise<readonly string[]> =>
  edge instanceof Edge ? edge.connection.matchedFieldsOf(edge.node) : []

/** The quota units that a count adds to its page, as `npm run bench -- searches` measures. */
const costOfCount = 2

builder.globalConnectionFields(t => ({
  nextCursor: t.exposeString('nextCursor', {
    nullable: true,
    description: 'The value of `after` for the next page; null when there is none.',
  }),
  serverTime: t.expose('serverTime', {
    type: 'DateTime',
    description: 'This page has all changes that were published up to this instant. Resume with it as `updatedSince`.',
  }),
  totalCount: t.int({
    description:
      'The exact number of records in the whole list. Counted only when it is selected. With a filter or ' +
      '`withDescendants` it is an error: select `count` instead.',
    resolve: connection => connection.totalCount(),
  }),
  count: t.field({
    type: CountType,
    description: 'The number of records in the whole list, exact up to a bound. Counted only when it is selected.',
    policy: { cost: costOfCount },
    resolve: connection => connection.count(),
  }),
}))

export const updatedSinceDescription = 'Only records updated at or after this instant.'
