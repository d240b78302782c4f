import type { ListIdentity } from '../domain/cursor.ts'
import { beforeAll, type Instant } from '../domain/instant.ts'
import { defaultPageSize, type Page, type PageArguments, type Range, readRange } from '../domain/page.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import type { Reading } from './loaders.ts'

type Listed = { id: number; updatedAt: Instant | null }

/** How a list's page and its length are read. */
interface Source<Row> {
  page: (range: Range) => Promise<Reading<Row>>
  count: (updatedSince: Instant | null) => Promise<number>
}

/** Reads a page of a list as a Relay connection (R10, R15). */
export async function readConnection<Row extends Listed>(
  { clock, cursors, faults }: Context,
  list: ListIdentity,
  args: PageArguments,
  source: Source<Row>,
) {
  const range = readRange(cursors, list, args, faults)
  clock.requireSteady()
  const { page, serverTime } = await source.page(range)
  const cursorOf = (row: Row) =>
    cursors.seal(list, { id: row.id, updatedAt: row.updatedAt ?? beforeAll, updatedSince: range.updatedSince })
  return connectionOf(page, serverTime, cursorOf, () => source.count(range.updatedSince))
}

/** A class, because an object literal with a getter makes that getter anew for each record. */
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

/** Getters: cursors are sealed, and edges made, only for those who ask for them. */
function connectionOf<Row>(
  { rows, hasNextPage, hasPreviousPage }: Page<Row>,
  serverTime: Instant,
  cursorOf: (row: Row) => string,
  totalCount: () => Promise<number>,
) {
  const cursorAt = (index: number) => {
    const row = rows.at(index)
    return row === undefined ? null : cursorOf(row)
  }
  return {
    serverTime,
    totalCount,
    get edges() {
      return rows.map(node => new Edge(node, cursorOf))
    },
    get pageInfo() {
      return {
        hasNextPage,
        hasPreviousPage,
        get startCursor() {
          return cursorAt(0)
        },
        get endCursor() {
          return cursorAt(-1)
        },
      }
    },
    get nextCursor() {
      return hasNextPage ? cursorAt(-1) : null
    },
  }
}

builder.globalConnectionFields(t => ({
  nextCursor: t.exposeString('nextCursor', {
    nullable: true,
    description: 'What to pass as `after` for the next page; null when there is none.',
  }),
  serverTime: t.expose('serverTime', {
    type: 'DateTime',
    description:
      'Until when this page knows of all changes: the clock, less what is being committed. Resume with it as `updatedSince`.',
  }),
  totalCount: t.int({
    description: 'How many records the whole list holds, whatever the page. Counted only when asked for.',
    resolve: connection => connection.totalCount(),
  }),
}))

/** A page costs as many times its fields as it has records. */
export const pageComplexity = ({ first, last }: Pick<PageArguments, 'first' | 'last'>) => ({
  field: 10,
  multiplier: Math.max(1, first ?? last ?? defaultPageSize),
})

export const updatedSinceDescription =
  'Only records updated at or after this instant. A record without an update time is never among them.'
