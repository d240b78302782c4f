import { type Fragment, instantFromPostgres, type Sql } from './connect.ts'
import { numberOf, type RecordText, readRecordText, textOf } from './record-text.ts'

/**
 * Rows that come as bytes. What a page of rows costs a driver is mostly its cells; so Postgres writes each row as one
 * composite value, and all of a page as one text, of which a cell is understood when somebody asks for it.
 */

/** What a cell is. */
export type Kind = 'integer' | 'decimal' | 'boolean' | 'text' | 'instant' | 'date' | 'json'

/** The kinds that a property of this type may be of. */
type KindOf<Value> = [Value] extends [boolean | null]
  ? 'boolean'
  : [Value] extends [number | null]
    ? 'integer' | 'decimal'
    : [Value] extends [string | null]
      ? 'text' | 'instant' | 'date'
      : 'json'

/** For each property of a row: the SQL expression that gives it, and its kind. */
type Columns<Row> = { [Name in keyof Row]: readonly [expression: string, kind: KindOf<Row[Name]>] }

/** A row of cells; its properties are on the prototype of its class. */
export abstract class LazyRow {
  readonly all: RecordText
  /** Where in `all.cells` those of this row begin. */
  readonly first: number

  constructor(all: RecordText, first: number) {
    this.all = all
    this.first = first
  }

  /** Where the cell of each property is, and its kind. */
  abstract get layout(): Layout
}

/** For each property: how far from the row's first its cell is in `all.cells`, and its kind. */
export type Layout = ReadonlyMap<string, { offset: number; kind: Kind }>

/**
 * A kind of row: how to ask for it, and how to read it.
 *
 * `select string_agg(row, '') from (select ${kind.select(sql)} as row from … order by …) page` asks for many. They come
 * in the order of the inner query, because the outer does nothing else with them (PostgreSQL, 9.21).
 */
export interface RowCodec<Row> {
  /** The row as one text, to be selected. Many may be joined to one, with nothing in between. */
  select(sql: Sql): Fragment
  /** @param bytes of the texts of any number of rows, one after the other; nothing: of none */
  read(bytes: Buffer | null | undefined): Row[]
}

/** What Postgres writes for true. */
const letterT = 0x74

function cellValue(all: RecordText, at: number, kind: Kind): unknown {
  const { bytes, cells } = all
  const start = cells[at] ?? -1
  if (start === -1) return null
  const end = cells[at + 1] ?? start
  switch (kind) {
    case 'integer':
    case 'decimal':
      return numberOf(all, start, end)
    case 'boolean':
      return bytes[start] === letterT
    case 'instant':
      return instantFromPostgres(all.cut(start, end))
    case 'text':
    case 'date':
      return textOf(all, start, end)
    case 'json':
      return JSON.parse(textOf(all, start, end))
  }
}

/** @param columns every property of the row */
export function rowCodec<Row extends object>(columns: Columns<Row>): RowCodec<Row> {
  const entries = Object.entries<readonly [string, Kind]>(columns)
  const layout: Layout = new Map(entries.map(([name, [, kind]], index) => [name, { offset: 2 * index, kind }]))
  class Class extends LazyRow {
    override get layout() {
      return layout
    }
  }
  for (const [name, { offset, kind }] of layout) {
    Object.defineProperty(Class.prototype, name, {
      enumerable: true,
      get(this: LazyRow) {
        return cellValue(this.all, this.first + offset, kind)
      },
    })
  }
  const composite = `row(${entries.map(([, [expression]]) => expression).join(', ')})::text`
  return {
    select: sql => sql.unsafe(composite),
    read(bytes) {
      if (!bytes) return []
      const all = readRecordText(bytes, entries.length)
      const rows: Row[] = []
      for (let first = 0; first < all.cells.length; first += 2 * entries.length) {
        // The class has just been given exactly the properties of the row: what the types cannot follow.
        rows.push(new Class(all, first) as unknown as Row)
      }
      return rows
    },
  }
}
