// Lists are shown a page at a time. `?before=id` shows the rows behind one, older ones by default; `?after=id` those in front.
import { parseIdentifier } from '../../domain/record/identifier.ts'

const pageSize = 50

/** The rows of a list that a page loads, newest first. */
interface ListRange {
  /** Only rows older than this id. */
  before?: number
  /** Only the rows that are just newer than this id. */
  after?: number
  limit: number
}

/** The rows of a page, and the ids at which the pages beside it begin; null: there is no such page. */
export interface ListPage<Row> {
  rows: Row[]
  newer: number | null
  older: number | null
}

/**
 * Loads the page that the query asks for. When nothing is older, or the newer rows do not fill a page, it is the
 * newest page.
 *
 * @param list loads rows, newest first; is called with one row more than a page, to learn whether another page follows
 */
export async function loadPage<Row extends { id: number }>(
  query: URLSearchParams,
  list: (range: ListRange) => Promise<Row[]>,
): Promise<ListPage<Row>> {
  const limit = pageSize + 1
  const before = parseIdentifier(query.get('before') ?? '')
  const after = before ? null : parseIdentifier(query.get('after') ?? '')
  const range = before ? { before } : after ? { after } : {}
  const found = await list({ ...range, limit })
  if (before ? found.length === 0 : after && found.length < limit) return loadPage(new URLSearchParams(), list)
  const rows = after ? found.slice(1) : found.slice(0, pageSize)
  return {
    rows,
    newer: before || after ? (rows[0]?.id ?? null) : null,
    older: found.length === limit ? (rows.at(-1)?.id ?? null) : null,
  }
}

/** Returns the path with those query parameters that have a value. */
export function pathWith(path: string, parameters: Record<string, string>): string {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== ''))
  return query.size > 0 ? `${path}?${query}` : path
}

interface PagerProps {
  /** The noun for the items on the pages: `tokens`. */
  noun: string
  path: string
  /** The filters of the list, which its other pages keep. */
  filters: Record<string, string>
  page: Pick<ListPage<unknown>, 'newer' | 'older'>
}

/** Links to the previous and the next page. */
export function Pager({ noun, path, filters, page: { newer, older } }: PagerProps) {
  if (newer === null && older === null) return null
  return (
    <nav class="pager" aria-label={`Pages of ${noun}`}>
      {newer !== null && (
        <a href={pathWith(path, { ...filters, after: String(newer) })} rel="prev" class="button secondary">
          Previous {noun}
        </a>
      )}
      {older !== null && (
        <a href={pathWith(path, { ...filters, before: String(older) })} rel="next" class="button secondary">
          Next {noun}
        </a>
      )}
    </nav>
  )
}
