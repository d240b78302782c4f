import { type Fragment, instantFromPostgres, type Sql } from './connect.ts'

/**
 * Rows that come as one text each. What a row of 27 cells costs a driver is mostly the cells; so Postgres writes it as
 * one composite value, and a cell is understood when somebody asks for it.
 */

/** What a cell is. */
type Kind = 'integer' | 'decimal' | 'boolean' | 'text' | 'instant' | 'date' | 'json'

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

/** A cell's text as Postgres writes it; null: no value. */
type Cell = string | null

/** A row of cells; its properties are on the prototype of its class. */
export abstract class PackedRow {
  readonly cells: readonly Cell[]

  constructor(cells: readonly Cell[]) {
    this.cells = cells
  }

  /** Where the cell of each property is, and its kind. */
  abstract get layout(): Layout
}

export type Layout = ReadonlyMap<string, { index: number; kind: Kind }>

/** A kind of row: how to ask for it, and how to read it. */
export interface Packed<Row> {
  /** The row as one value, to be selected. */
  select(sql: Sql): Fragment
  read(text: string): Row
}

function valueOfCell(cell: Cell, kind: Kind): unknown {
  if (cell === null) return null
  switch (kind) {
    case 'integer':
    case 'decimal':
      return Number(cell)
    case 'boolean':
      return cell === 't'
    case 'instant':
      return instantFromPostgres(cell)
    case 'text':
    case 'date':
      return cell
    case 'json':
      return JSON.parse(cell)
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them, so they are looked for
const escaped = /[\0-\x1f"\\\ud800-\udfff]/

/** @returns the text as JSON has it */
export const quote = (text: string): string => (escaped.test(text) ? JSON.stringify(text) : `"${text}"`)

/** @returns the cell's value as JSON text: what `JSON.stringify` makes of the property */
export function jsonOfCell(cell: Cell, kind: Kind): string {
  if (cell === null) return 'null'
  switch (kind) {
    case 'integer':
    case 'decimal':
    case 'json':
      return cell
    case 'boolean':
      return cell === 't' ? 'true' : 'false'
    case 'text':
      return quote(cell)
    case 'instant':
      return `"${instantFromPostgres(cell)}"`
    case 'date':
      return `"${cell}"`
  }
}

const comma = 44
const quotationMark = 34

/**
 * Reads a composite value (PostgreSQL, 8.16.6): cells between commas, in quotation marks where they need them, with
 * quotation marks and backslashes doubled; nothing at all where there is no value.
 */
function cellsOf(composite: string, count: number): Cell[] {
  const cells = new Array<Cell>(count)
  let at = 1
  for (let index = 0; index < count; index++) {
    const first = composite.charCodeAt(at)
    if (first === quotationMark) {
      let end = composite.indexOf('"', at + 1)
      let doubled = false
      while (composite.charCodeAt(end + 1) === quotationMark) {
        doubled = true
        end = composite.indexOf('"', end + 2)
      }
      const text = composite.slice(at + 1, end)
      cells[index] = doubled || text.includes('\\') ? text.replace(/""|\\\\/g, pair => pair.charAt(0)) : text
      at = end + 2
    } else if (first === comma || at === composite.length - 1) {
      cells[index] = null
      at += 1
    } else {
      const next = composite.indexOf(',', at)
      const end = next === -1 ? composite.length - 1 : next
      cells[index] = composite.slice(at, end)
      at = end + 1
    }
  }
  return cells
}

/** @param columns every property of the row */
export function packed<Row extends object>(columns: Columns<Row>): Packed<Row> {
  const entries = Object.entries<readonly [string, Kind]>(columns)
  const layout: Layout = new Map(entries.map(([name, [, kind]], index) => [name, { index, kind }]))
  class Class extends PackedRow {
    override get layout() {
      return layout
    }
  }
  for (const [name, { index, kind }] of layout) {
    Object.defineProperty(Class.prototype, name, {
      enumerable: true,
      get(this: PackedRow) {
        return valueOfCell(this.cells[index] ?? null, kind)
      },
    })
  }
  const expressions = entries.map(([, [expression, kind]]) =>
    kind === 'decimal' ? `trim_scale(${expression})` : expression,
  )
  const composite = `row(${expressions.join(', ')})`
  return {
    select: sql => sql.unsafe(composite),
    // The class has just been given exactly the properties of the row: what the types cannot follow.
    read: text => new Class(cellsOf(text, entries.length)) as unknown as Row,
  }
}
