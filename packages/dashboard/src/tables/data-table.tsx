// A table that its headings sort.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type CsvCell, toCsv } from '../csv.ts'

/** A column of a table. */
export interface Column<Row> {
  heading: string
  cell: (row: Row) => ComponentChildren
  /** Returns the value by which the browser sorts the column. */
  sortBy?: (row: Row) => string | number | null
  /** The name of the order of the API that sorts the column. A column without `order` and `sortBy` cannot be sorted. */
  order?: string
  /** True when the first click sorts from the largest or the latest. Default: `numeric`. */
  latestFirst?: boolean
  /**
   * The heading of the column in a CSV file, whose cells have the values of `sortBy`. A column without this heading is
   * left out.
   */
  csvHeading?: string
  /** Aligns the cells to the right. */
  numeric?: boolean
}

/** Returns a column of numbers. A row without a number has a dash. */
export const numberColumn = <Row,>(
  heading: string,
  number: (row: Row) => number | null,
  format: (number: number, row: Row) => ComponentChildren,
): Column<Row> => ({
  heading,
  cell: row => {
    const value = number(row)
    return value === null ? '–' : format(value, row)
  },
  sortBy: number,
  numeric: true,
})

/** A sorted column: its index, and whether its order is descending. */
export interface Sort {
  column: number
  descending: boolean
}

/** Parses the sort order in the address, as `formatSort` writes it; null: the rows keep their order. */
export function readSort(text: string | undefined): Sort | null {
  const match = text?.match(/^(-?)(\d\d?)$/)
  return match ? { column: Number(match[2]), descending: match[1] === '-' } : null
}

/** Returns the index of the column, with `-` when it descends. */
export const formatSort = ({ column, descending }: Sort): string => `${descending ? '-' : ''}${column}`

/** Rows, and the currency of their amounts. */
interface CsvPart<Row> {
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  currency: string | null
}

/** Returns rows as CSV: a column for each of the table that can be sorted, and one for the currency of all amounts. */
export function tableCsv<Row>(...parts: readonly [CsvPart<Row>, ...CsvPart<Row>[]]): string {
  const [{ columns }] = parts
  const headings = columns.flatMap(({ heading, csvHeading = heading, sortBy }) => (sortBy ? [csvHeading] : []))
  const cellsOf = ({ columns, rows, currency }: CsvPart<Row>) =>
    rows.map(row => columns.flatMap(({ sortBy }): CsvCell[] => (sortBy ? [sortBy(row)] : [])).toSpliced(1, 0, currency))
  return toCsv(headings.toSpliced(1, 0, 'Currency'), parts.flatMap(cellsOf))
}

/** A table and its rows. */
export interface DataTableProps<Row> {
  /** The name of the table for screen readers. */
  label: string
  /** A CSS class of the table. */
  class?: string
  /** The first column names the row. */
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  /** Returns the key of a row, so that it keeps the focus when other rows come or go. */
  keyOf?: (row: Row) => string
  /** The initial sort. Default: the order of `rows`. */
  sort?: Sort | null
  /** Called when the viewer sorts. Default: the table keeps the order in its own state. */
  onSort?: (sort: Sort) => void
  /** True while other rows are being loaded. */
  busy?: boolean
  /** The row below all others, such as their total: it is not sorted. */
  foot?: Row | null
}

const collator = new Intl.Collator(undefined, { numeric: true })

/** Sorts rows by a column; rows without a value come last in both directions. */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: Sort | null,
): readonly Row[] {
  const sortBy = sort && columns[sort.column]?.sortBy
  if (!sortBy) return rows
  const sign = sort.descending ? -1 : 1
  return rows.toSorted((one, other) => {
    const [a, b] = [sortBy(one), sortBy(other)]
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    return sign * (typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b)))
  })
}

/** The roles of the elements of a table, which some browsers drop where a style shows its rows as cards. */
const roles = {
  table: 'table',
  group: 'rowgroup',
  row: 'row',
  columnHeading: 'columnheader',
  rowHeading: 'rowheader',
  cell: 'cell',
} as const

/** A table that the viewer can sort by its headings. On a narrow screen each row is a card with labelled cells. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, class: name = '', columns, rows, keyOf, sort: given = null, onSort, busy, foot = null } = props
  const [own, setOwn] = useState(given)
  const sort = onSort ? given : own
  const change = (column: number) => {
    const { numeric = false, latestFirst = numeric } = columns[column] ?? {}
    ;(onSort ?? setOwn)({ column, descending: sort?.column === column ? !sort.descending : latestFirst })
  }
  const toHeading = ({ heading, numeric, sortBy, order }: Column<Row>, index: number) => {
    const direction = sort?.column === index ? (sort.descending ? 'descending' : 'ascending') : undefined
    return (
      <th scope="col" role={roles.columnHeading} class={numeric ? 'number' : undefined} aria-sort={direction}>
        {sortBy || order ? (
          <button type="button" class="sort" onClick={() => change(index)}>
            {heading}
            <svg class="sort-mark" viewBox="0 0 8 12" aria-hidden="true">
              {direction !== 'descending' && <path d="M4 0 8 5H0Z" class={direction && 'on'} />}
              {direction !== 'ascending' && <path d="M4 12 0 7h8Z" class={direction && 'on'} />}
            </svg>
          </button>
        ) : (
          heading
        )}
      </th>
    )
  }
  const toRow = (row: Row) => (
    <tr key={keyOf?.(row)} role={roles.row}>
      {columns.map(({ heading, cell, numeric }, index) =>
        index === 0 ? (
          <th scope="row" role={roles.rowHeading}>
            {cell(row)}
          </th>
        ) : (
          <td role={roles.cell} class={numeric ? 'number' : undefined} data-label={heading}>
            {cell(row)}
          </td>
        ),
      )}
    </tr>
  )
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: browsers scroll only a focused element with the keys
    <section class="scroll" tabIndex={0} aria-label={label} aria-busy={busy}>
      <table class={`data ${name}`} role={roles.table} aria-label={label}>
        <thead role={roles.group}>
          <tr role={roles.row}>{columns.map(toHeading)}</tr>
        </thead>
        <tbody role={roles.group}>{sortRows(rows, columns, sort).map(toRow)}</tbody>
        {foot !== null && <tfoot role={roles.group}>{toRow(foot)}</tfoot>}
      </table>
    </section>
  )
}
