/**
 * Creates rows that decode a column only when a caller reads the column. A page is selected as one text, because the
 * driver takes time for each column. The single text halves Node's time for the statement of a page of vouchers
 * (docs/performance.md, "Measures and results").
 */
import type { Fragment, RecordSql } from '../sql.ts'
import type { Column, Columns } from './column.ts'
import { type RecordText, readRecordText } from './record-text.ts'

/** The position of a column in a row, and the codec of the column. */
interface PlacedColumn extends Pick<Column, 'kind' | 'codec'> {
  /** The offset in `RecordText.bounds`, relative to the first bound of the row. */
  readonly offset: number
}

/** The columns of a row, by property. */
export type ColumnLayout = ReadonlyMap<string, PlacedColumn>

/** A row whose properties are getters on the prototype of its class; each read decodes the column. */
export abstract class LazyRow {
  constructor(
    readonly records: RecordText,
    /** The index at which the bounds of this row begin in `records.bounds`. */
    readonly first: number,
  ) {}

  /** The layout of the columns, the same for all rows of a codec. */
  abstract get layout(): ColumnLayout
}

/** Selects rows of one type as text, and reads them. */
export interface RowCodec<Row> {
  /**
   * Returns the expression that selects a row as text. To select many rows, join the texts without a separator: `select
   * string_agg(row, '') from (select ${codec.select(sql)} as row from … order by …) page`. The texts keep the order of
   * the inner query, because the outer query only aggregates (PostgreSQL, 9.21).
   */
  select(sql: RecordSql): Fragment
  /** Reads rows. @param bytes the joined texts of any number of rows; null or undefined when there are none */
  read(bytes: Buffer | null | undefined): Row[]
  /** Reads rows like `read`, but in steps. Each step of the generator reads at most `size` rows. */
  readInSteps(bytes: Buffer | null | undefined, size: number): Generator<Row[], void>
}

/** Creates the codec of a row type. */
export function createRowCodec<Row extends object>(columns: Columns<Row>): RowCodec<Row> {
  const entries = Object.entries<Column>(columns)
  const layout: ColumnLayout = new Map(
    entries.map(([name, { kind, codec }], index) => [name, { offset: 2 * index, kind, codec }]),
  )
  class Class extends LazyRow {
    override get layout() {
      return layout
    }
  }
  for (const [name, { offset, codec }] of layout) {
    Object.defineProperty(Class.prototype, name, {
      enumerable: true,
      get(this: LazyRow) {
        const { bytes, bounds } = this.records
        const first = this.first + offset
        const start = bounds[first]!
        return start === -1 ? null : codec.decode(bytes, start, bounds[first + 1]!)
      },
    })
  }
  const record = `row(${entries.map(([, { expression }]) => expression).join(', ')})::text`
  function toRows(records: RecordText): Row[] {
    const rows: Row[] = []
    for (let first = 0; first < records.bounds.length; first += 2 * entries.length) {
      // The class has exactly the properties of the row, but TypeScript cannot derive this.
      rows.push(new Class(records, first) as unknown as Row)
    }
    return rows
  }
  return {
    select: sql => sql.unsafe(record),
    read: bytes => (bytes ? toRows(readRecordText(bytes, entries.length)) : []),
    *readInSteps(bytes, size) {
      for (let at = 0; bytes && at < bytes.length; ) {
        const records = readRecordText(bytes, entries.length, at, size)
        at = records.end
        yield toRows(records)
      }
    },
  }
}
