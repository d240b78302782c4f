// The page buttons of a list that the API divides into pages.
import { useEffect } from 'preact/hooks'
import type { Params } from '../view.ts'

/** The cursors of a page, and whether other pages exist. */
export interface PageInfo {
  hasNextPage: boolean
  hasPreviousPage: boolean
  startCursor: string | null
  endCursor: string | null
}

/** Returns the pagination arguments of the API for the page in the URL. @param size the number of records per page */
export const pageOf = ({ after, before }: Params, size: number) =>
  before ? { last: size, before } : { first: size, after: after || null }

/**
 * Shows the first page when the list could not be read from the cursor in the URL. A link can contain a cursor from a
 * list with other filters.
 *
 * @param isMissing true when the answer does not contain the list
 * @param onPage shows another page
 */
export function useFirstPage(isMissing: boolean, { after, before }: Params, onPage: (params: Params) => void): void {
  const isLost = isMissing && Boolean(after || before)
  useEffect(() => {
    if (isLost) onPage({ after: '', before: '' })
  }, [isLost])
}

/** Returns whether the list has pages before or after this page. */
export const hasOtherPages = ({ hasNextPage, hasPreviousPage }: PageInfo): boolean => hasNextPage || hasPreviousPage

interface PagerProps {
  label: string
  pageInfo: PageInfo
  /** Shows another page. @param params the query parameters of that page */
  onPage: (params: Params) => void
}

/** The buttons for the next and the previous page. Shows nothing when the page is the whole list. */
export const Pager = ({ label, pageInfo, onPage }: PagerProps) =>
  hasOtherPages(pageInfo) ? (
    <nav class="pager" aria-label={label}>
      <button
        type="button"
        class="secondary"
        disabled={!pageInfo.hasPreviousPage}
        onClick={() => onPage({ after: '', before: pageInfo.startCursor ?? '' })}
      >
        Previous page
      </button>
      <button
        type="button"
        class="secondary"
        disabled={!pageInfo.hasNextPage}
        onClick={() => onPage({ after: pageInfo.endCursor ?? '', before: '' })}
      >
        Next page
      </button>
    </nav>
  ) : null
