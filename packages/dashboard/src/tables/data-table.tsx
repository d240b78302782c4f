// A table whose headings are buttons that sort the rows.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type CsvCell, toCsv } from '../csv.ts'

export interface Column<Row> {
  heading: string
  cell: (row: Row) => ComponentChildren
  /** Returns the value by which the browser sorts the column. */
  sortBy?: (row: Row) => string | number | null
  /**
   * For rows that the API sorts: the name of the API's sort order for this column. A column without `order` and
   * `sortBy` cannot be sorted.
   */
  order?: string
  /** True when the first click sorts in descending order. Default: `numeric`. */
  latestFirst?: boolean
  /** The heading of the column in a CSV file, whose cells contain the values of `sortBy`. Default: `heading`. */
  csvHeading?: string
  /** Aligns the cells to the right. */
  numeric?: boolean
}

/** Returns a column of numbers. A row without a number shows a dash. */
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

/** The index of the column that sorts the rows, and whether the order is descending. */
export interface Sort {
  column: number
  descending: boolean
}

/** Parses the sort order in the URL, in the format of `formatSort`; null when the URL has no valid sort order. */
export function readSort(text: string | undefined): Sort | null {
  const match = text?.match(/^(-?)(\d\d?)$/)
  return match ? { column: Number(match[2]), descending: match[1] === '-' } : null
}

/** Returns the index of the column as text, with a leading `-` for a descending order. */
export const formatSort = ({ column, descending }: Sort): string => `${descending ? '-' : ''}${column}`

/** Rows whose amounts have one currency. */
interface CsvPart<Row> {
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  currency: string | null
}

/**
 * Returns rows as CSV, with one column per sortable column of the table, and one column with the currency of all
 * amounts.
 */
export function tableCsv<Row>(...parts: readonly [CsvPart<Row>, ...CsvPart<Row>[]]): string {
  const [{ columns }] = parts
  const headings = columns.flatMap(({ heading, csvHeading = heading, sortBy }) => (sortBy ? [csvHeading] : []))
  const cellsOf = ({ columns, rows, currency }: CsvPart<Row>) =>
    rows.map(row => columns.flatMap(({ sortBy }): CsvCell[] => (sortBy ? [sortBy(row)] : [])).toSpliced(1, 0, currency))
  return toCsv(headings.toSpliced(1, 0, 'Currency'), parts.flatMap(cellsOf))
}

export interface DataTableProps<Row> {
  /** The name of the table for screen readers. */
  label: string
  class?: string
  /** The cells of the first column are the headings of the rows. */
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  /** Returns the key of a row, so that the row keeps the focus when other rows are added or removed. */
  keyOf?: (row: Row) => string
  /** The initial sort. The current sort order. Default: the order of `rows`. */
  sort?: Sort | null
  /** Called when the viewer changes the sort order. Default: the table keeps the sort order in its own state. */
  onSort?: (sort: Sort) => void
  /** True while other rows are being loaded. */
  busy?: boolean
  /** A row that always stays below all other rows, such as their total. */
  foot?: Row | null
}

const collator = new Intl.Collator(undefined, { numeric: true })

/** Returns the rows sorted by a column. Rows without a value are last in both directions. */
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

/** The ARIA roles of the elements of a table. Some browsers drop these roles when CSS shows the rows as cards. */
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
