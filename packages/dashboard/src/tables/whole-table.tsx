import type { ComponentChildren } from 'preact'
import { type CsvCell, downloadCsv } from '../csv.ts'
import { SearchInput } from '../search-input.tsx'
import { Empty } from '../states.tsx'
import { type Column, DataTable, readSort, sortRows, sortText, tableCsv } from './data-table.tsx'

interface WholeTableProps<Row> {
  label: string
  /** A note that says what it shows and in which currency. */
  note: ComponentChildren
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  /** The total of all rows. */
  foot?: Row | null
  /** Says that there are no rows. */
  empty: string
  /** The parameters of the address: `text` is searched for, and `sort` says how the rows are sorted (`readSort`). */
  params: Readonly<Record<string, string>>
  onParams: (params: Record<string, string>) => void
  /** The name of the CSV file, without its extension. */
  file: string
}

/** A table with all its rows loaded, which can be searched and downloaded. */
export function WholeTable<Row>(props: WholeTableProps<Row>) {
  const { label, note, columns, rows, foot = null, empty, params, onParams, file } = props
  const { text = '' } = params
  const sort = readSort(params.sort)
  const wanted = text.trim().toLocaleLowerCase()
  const name = columns[0]?.sortBy ?? (() => null)
  const shown = wanted === '' ? rows : rows.filter(row => searchText(columns, row, name).includes(wanted))
  const download = () => downloadCsv(file, tableCsv(columns, sortRows(shown, columns, sort)))
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
          onSort={next => onParams({ sort: sortText(next) })}
        />
      )}
    </>
  )
}

/** Returns the text of a row's first cell in lower case. */
function searchText<Row>(columns: readonly Column<Row>[], row: Row, name: (row: Row) => CsvCell): string {
  const cell = columns[0]?.cell(row)
  return String(typeof cell === 'string' ? cell : name(row)).toLocaleLowerCase()
}
