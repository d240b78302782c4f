// Downloads a list as a CSV file, from all its pages, which are read one after another.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api.ts'
import { downloadCsv } from '../csv.ts'
import { type Count, formatCount, formatCountOf, formatNumberOf } from '../format.ts'
import type { PageInfo } from './pager.tsx'

interface Page<Row> {
  nodes: readonly Row[]
  pageInfo: Pick<PageInfo, 'hasNextPage' | 'endCursor'>
}

interface ListDownloadProps<Row> {
  /**
   * Reads the page after a cursor; null for the first page. Returns null or undefined when the token may not read the
   * list.
   */
  readPage: (after: string | null, signal: AbortSignal) => Promise<Page<Row> | null | undefined>
  toCsv: (rows: readonly Row[]) => string
  /** The number of rows; null while the rows are being counted. */
  total: Count | null
  /** The maximum number of rows in one file. */
  most: number
  /** The noun for a row, in the singular. */
  noun: string
  /** When the list has more rows than one file may have: a sentence that says how to get the other rows. */
  whenCut: string
  /** The name of the file, without its extension. */
  file: string
}

/** A button that downloads a list. During the download it shows the progress and a button that stops it. */
export function ListDownload<Row>(props: ListDownloadProps<Row>) {
  const { readPage, toCsv, total, most, noun, whenCut, file } = props
  const [read, setRead] = useState<number | null>(null)
  const [message, setMessage] = useState('')
  const controller = useRef<AbortController | null>(null)
  // Stops the download when the viewer leaves the list, because each page uses up the rate limit.
  useEffect(() => () => controller.current?.abort(), [])

  const readAll = async (signal: AbortSignal): Promise<Row[]> => {
    const rows: Row[] = []
    let after: string | null = null
    do {
      const page = await readPage(after, signal)
      if (!page) throw new ApiError('other', `The service answered without the ${noun}s.`)
      rows.push(...page.nodes)
      setRead(rows.length)
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null
    } while (after !== null && rows.length < most)
    return rows
  }

  const download = async () => {
    controller.current = new AbortController()
    setMessage('')
    setRead(0)
    try {
      const rows = await readAll(controller.current.signal)
      downloadCsv(file, toCsv(rows))
      const isCut =
        total !== null && rows.length >= most && (total.count > rows.length || total.precision === 'AT_LEAST')
      setMessage(
        isCut
          ? `The file has the first ${formatCount(most)} of ${formatCountOf(total, noun)}. ${whenCut}`
          : `The file has ${formatNumberOf(rows.length, noun)}.`,
      )
    } catch (error) {
      if (!controller.current.signal.aborted) {
        setMessage(`There is no file. ${error instanceof ApiError ? error.message : 'The dashboard failed.'}`)
      }
    } finally {
      setRead(null)
    }
  }
  return (
    <div class="download">
      <p role="status">
        {read === null
          ? message
          : `Reading: ${formatCount(read)}${total === null ? '' : ` of ${formatCount(Math.min(total.count, most))}`}`}
      </p>
      {read === null ? (
        <button type="button" class="secondary small" disabled={total?.count === 0} onClick={download}>
          Download as CSV
        </button>
      ) : (
        <button type="button" class="secondary small" onClick={() => controller.current?.abort()}>
          Stop
        </button>
      )}
    </div>
  )
}
