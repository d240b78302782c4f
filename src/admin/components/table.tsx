import type { ComponentChildren } from 'preact'

export interface Column<Row> {
  heading: string
  cell: (row: Row) => ComponentChildren
  /** True when the cells of this column name their rows, as row headings. Default: true for the first column. */
  rowHeader?: boolean
  /** Aligns the cells to the right. */
  numeric?: boolean
  /** The label of a cell when its row is shown as a card. Default: the heading; `''` for no label. */
  cardLabel?: string
  /** The link that orders the rows by this column, and the present direction of this order. */
  sort?: { href: string; direction: 'ascending' | 'descending' | undefined }
}

interface TableProps<Row> {
  /** The name of the table for screen readers. */
  label: string
  columns: Column<Row>[]
  rows: readonly Row[]
  /** CSS classes. Default: `cards`, which shows each row as a card on a narrow screen. */
  class?: string
  caption?: string
  /** The text that replaces the table when there are no rows. */
  empty?: string
}

/**
 * A table that scrolls sideways when it is wider than the screen; keyboard users scroll the region that has the focus.
 */
export function Table<Row>({ label, columns, rows, class: className = 'cards', caption, empty }: TableProps<Row>) {
  if (empty !== undefined && rows.length === 0) return <p class="empty">{empty}</p>
  const hasRowHeader = columns.some(({ rowHeader }) => rowHeader)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: browsers scroll only a focused element with the keys
    <section class="scroll" tabIndex={0} aria-label={label}>
      <table class={className} aria-label={caption ? undefined : label}>
        {caption && <caption>{caption}</caption>}
        <thead>
          <tr>
            {columns.map(({ heading, numeric, sort }) => (
              <th scope="col" class={numeric ? 'number' : undefined} aria-sort={sort?.direction}>
                {sort ? <a href={sort.href}>{heading}</a> : heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr>
              {columns.map(({ heading, cell, rowHeader, numeric, cardLabel = heading }, index) =>
                (hasRowHeader ? rowHeader : index === 0) ? (
                  <th scope="row">{cell(row)}</th>
                ) : (
                  <td class={numeric ? 'number' : undefined} data-label={cardLabel || undefined}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
