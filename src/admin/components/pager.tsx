// Shows lists page by page. `?before=id` shows the rows that come after the row with this id in the list (older rows by
// default); `?after=id` shows the rows that come before this row.

import type { Page, RowWindow } from '../../domain/paging/page.ts'
import { parseIdentifier } from '../../domain/value/identifier.ts'

const pageSize = 50

/**
 * Loads the page that the query asks for. Loads the first page instead when no rows come after the row of `before`, or
 * when the rows before the row of `after` do not fill a page.
 */
export async function loadPage<Row>(
  query: URLSearchParams,
  list: (window: RowWindow) => Promise<Page<Row>>,
): Promise<Page<Row>> {
  const rowOf = (name: string) => {
    const id = parseIdentifier(query.get(name) ?? '')
    return id === null ? null : { id }
  }
  const after = rowOf('before')
  const before = after ? null : rowOf('after')
  const page = await list({ limit: pageSize, backward: before !== null, after, before })
  const isFirst = after ? page.rows.length === 0 : before && !page.hasPreviousPage
  return isFirst ? list({ limit: pageSize }) : page
}

/** Returns the path with the query parameters that have a value. */
export function pathWith(path: string, parameters: Record<string, string>): string {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== ''))
  return query.size > 0 ? `${path}?${query}` : path
}

interface PagerProps {
  /** The noun for the items on the pages: `tokens`. */
  noun: string
  path: string
  /** The filters of the list, which the links to other pages keep. */
  filters: Record<string, string>
  page: Page<{ id: number }>
}

/** Links to the previous and the next page. */
export function Pager({ noun, path, filters, page: { rows, hasPreviousPage, hasNextPage } }: PagerProps) {
  const [first, last] = [rows.at(0), rows.at(-1)]
  if (!first || !last || !(hasPreviousPage || hasNextPage)) return null
  return (
    <nav class="pager" aria-label={`Pages of ${noun}`}>
      {hasPreviousPage && (
        <a href={pathWith(path, { ...filters, after: String(first.id) })} rel="prev" class="button secondary">
          Previous {noun}
        </a>
      )}
      {hasNextPage && (
        <a href={pathWith(path, { ...filters, before: String(last.id) })} rel="next" class="button secondary">
          Next {noun}
        </a>
      )}
    </nav>
  )
}
