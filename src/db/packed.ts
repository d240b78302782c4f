import type { Fragment, Sql } from './connect.ts'
import { instantFromPostgres } from './connect.ts'

/**
 * Rows that come as one text each. What a row of 27 cells costs a driver is mostly the cells; so Postgres joins them,
 * one separator between each two, and a cell is understood when somebody asks for it.
 *
 * No value is the empty cell: a text that may be null is marked, so that an empty one is not mistaken for it. A text
 * that holds the separator gives its row too many cells; those rows are then read again, as JSON (`readPacked`).
 */

/** How a cell is written, and what it is. */
type Kind = 'integer' | 'decimal' | 'boolean' | 'text' | 'optional text' | 'instant' | 'date' | 'json'

/** The kinds that a property of this type may be of. */
type KindOf<Value> = [Value] extends [boolean]
  ? 'boolean'
  : [Value] extends [number | null]
    ? 'integer' | 'decimal'
    : [Value] extends [string]
      ? 'text' | 'instant' | 'date'
      : [Value] extends [string | null]
        ? 'optional text' | 'instant' | 'date'
        : 'json'

/** For each property of a row: the SQL expression that gives it, and its kind. */
type Columns<Row> = { [Name in keyof Row]: readonly [expression: string, kind: KindOf<Row[Name]>] }

/** A row of cells; its properties are on the prototype of its class. */
export abstract class PackedRow {
  readonly cells: readonly string[]

  constructor(cells: readonly string[]) {
    this.cells = cells
  }

  /** How the cells of this class are to be read, by the names of its properties. */
  abstract get layout(): Layout
}

/** Where a property's cell is, and its kind. */
export type Layout = ReadonlyMap<string, { index: number; kind: Kind }>

/** What a class of packed rows knows: how to ask for them, and how to read them. */
export interface Packed<Row> {
  /** The row as one text, to be selected. */
  select(sql: Sql): Fragment
  /** The same as a JSON array of texts: slower, and safe for every text. */
  selectSafely(sql: Sql): Fragment
  /** @returns the row; null when its text holds a separator too many */
  read(text: string): Row | null
  readSafely(text: string): Row
}

const separator = '\x1f'
const mark = '+'

/** Marked, so that no value and an empty text are told apart. */
const cellOf = ([expression, kind]: readonly [string, Kind]) => {
  if (kind === 'optional text') return `'${mark}' || ${expression}`
  return kind === 'decimal' ? `trim_scale(${expression})` : expression
}

/** What a cell says; the inverse of `cellOf`. */
function readCell(cell: string, kind: Kind): unknown {
  if (kind === 'text') return cell
  if (cell === '') return null
  switch (kind) {
    case 'integer':
    case 'decimal':
      return Number(cell)
    case 'boolean':
      return cell === 't'
    case 'optional text':
      return cell.slice(1)
    case 'instant':
      return instantFromPostgres(cell)
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

/** @returns the cell's value as JSON text, `null` when it has none: what `JSON.stringify` makes of the property */
export function jsonOf(cell: string, kind: Kind): string {
  if (kind === 'text') return quote(cell)
  if (cell === '') return 'null'
  switch (kind) {
    case 'integer':
    case 'decimal':
    case 'json':
      return cell
    case 'boolean':
      return cell === 't' ? 'true' : 'false'
    case 'optional text':
      return quote(cell.slice(1))
    case 'instant':
      return `"${instantFromPostgres(cell)}"`
    case 'date':
      return `"${cell}"`
  }
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
        return readCell(this.cells[index] ?? '', kind)
      },
    })
  }
  // The class has just been given exactly the properties of the row: what the types cannot follow.
  const create = (cells: readonly string[]) => new Class(cells) as unknown as Row
  const cells = entries.map(([, column]) => cellOf(column))
  const joined = `concat(${cells.join(`, E'\\x1f', `)})`
  const listed = `json_build_array(${cells.map(cell => `concat(${cell})`).join(', ')})::text`
  return {
    select: sql => sql.unsafe(joined),
    selectSafely: sql => sql.unsafe(listed),
    read(text) {
      const found = text.split(separator)
      return found.length === entries.length ? create(found) : null
    },
    readSafely: text => create(JSON.parse(text)),
  }
}

/** Runs a statement with this selection for a row. */
export type Ask = (selection: Fragment) => Promise<readonly { row: string }[]>

/** @returns the rows; read again, and safely, when a text among them holds the separator */
export async function readPacked<Row>(sql: Sql, kind: Packed<Row>, ask: Ask): Promise<Row[]> {
  const rows: Row[] = []
  for (const { row: text } of await ask(kind.select(sql))) {
    const row = kind.read(text)
    if (!row) return (await ask(kind.selectSafely(sql))).map(safe => kind.readSafely(safe.row))
    rows.push(row)
  }
  return rows
}
