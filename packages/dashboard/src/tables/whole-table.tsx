import type { ComponentChildren } from 'preact'
import { downloadCsv } from '../csv.ts'
import { Empty } from '../placeholders.tsx'
import { SearchInput } from '../search-input.tsx'
import { foldCase, searchWords } from '../search-words.ts'
import { useView } from '../use-view.ts'
import type { Params, View } from '../view.ts'
import { type Column, DataTable, formatSort, readSort, sortRows } from './data-table.tsx'

interface WholeTableProps<Row> {
  label: string
  /** A note that says what the table shows and in which currency. */
  note: ComponentChildren
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  /** The row with the total of all rows. */
  foot?: Row | null
  /** The sentence that replaces a table without rows. */
  empty: string
  /** Returns rows as the text of a CSV file. */
  toCsv: (rows: readonly Row[]) => string
  /** The first part of the name of the CSV file. */
  file: string
}

/** Returns the name of the CSV file of a table, without its extension. */
export const fileOf = (name: string, { tenant, from, to }: View): string => `${name}-${tenant}-${from}-${to}`

/**
 * A table that the viewer can search and download, because all its rows are loaded. The URL contains the search text
 * and the sort order.
 */
export function WholeTable<Row>(props: WholeTableProps<Row>) {
  const { label, note, columns, rows, foot = null, empty, toCsv, file } = props
  const { view, go } = useView()
  const onParams = (params: Params) => go({ params }, 'replace')
  const { text = '', sort: order } = view.params
  const sort = readSort(order)
  const words = searchWords(text)
  const [first] = columns
  const nameOf = (row: Row) => {
    const cell = first?.cell(row)
    return foldCase(String(typeof cell === 'string' ? cell : first?.sortBy?.(row)))
  }
  const hasWords = (row: Row) => words.every(word => nameOf(row).includes(word))
  const shown = words.length === 0 ? rows : rows.filter(hasWords)
  const download = () => downloadCsv(fileOf(file, view), toCsv(sortRows(shown, columns, sort)))
  if (rows.length === 0) return <Empty text={empty} />
  return (
    <>
      <div class="table-tools">
        <p>{note}</p>
        <label class="table-search" htmlFor="table-search">
          <span class="off-screen">Search in {label}</span>
          <SearchInput
            id="table-search"
            placeholder="Search"
            text={text}
            onSearch={found => onParams({ text: found })}
          />
        </label>
        <button type="button" class="secondary small" onClick={download}>
          Download as CSV
        </button>
      </div>
      {shown.length === 0 ? (
        <Empty text={`Nothing here has “${text.trim()}” in its name.`} />
      ) : (
        <DataTable
          {...{ label, columns, sort }}
          rows={shown}
          foot={shown === rows ? foot : null}
          onSort={next => onParams({ sort: formatSort(next) })}
        />
      )}
    </>
  )
}
