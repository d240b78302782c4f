import type { ComponentChildren } from 'preact'
import { ScrollRegion } from './scroll-region.tsx'

/** A column of a table. */
export interface Column<Row> {
  heading: string
  cell: (row: Row) => ComponentChildren
  /** Whether the cell names its row. Default: the first column does. */
  rowHeader?: boolean
  /** Aligns the cells to the right. */
  numeric?: boolean
  /** The label of the cell where rows are cards. Default: the heading; `''`: the cell needs none. */
  cardLabel?: string
}

interface TableProps<Row> {
  /** The name of the table for screen readers. */
  label: string
  columns: Column<Row>[]
  rows: readonly Row[]
  rowKey: (row: Row) => string | number
  /** CSS classes. `cards`: on a narrow screen each row becomes a card. */
  class?: string
  caption?: string
}

/** A table that scrolls sideways when it is wider than the screen. */
export function Table<Row>({ label, columns, rows, rowKey, class: className, caption }: TableProps<Row>) {
  const hasRowHeader = columns.some(({ rowHeader }) => rowHeader)
  return (
    <ScrollRegion label={label}>
      <table class={className} aria-label={caption ? undefined : label}>
        {caption && <caption>{caption}</caption>}
        <thead>
          <tr>
            {columns.map(({ heading, numeric }) => (
              <th key={heading} scope="col" class={numeric ? 'number' : undefined}>
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={rowKey(row)}>
              {columns.map(({ heading, cell, rowHeader, numeric, cardLabel = heading }, index) =>
                (hasRowHeader ? rowHeader : index === 0) ? (
                  <th key={heading} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td
                    key={heading}
                    class={numeric ? 'number' : undefined}
                    data-label={(className && cardLabel) || undefined}
                  >
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  )
}
