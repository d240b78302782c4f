import { expect } from 'vitest'

/** Matches the seconds that are left in a window that has just begun. */
export const fresh = expect.closeTo(60, -1)

/** Returns the global id of a record. @param key the tenant id and the id of the record; for a tenant only its id */
export const globalId = (type: string, ...key: number[]) =>
  Buffer.from(`${type}:${key.join('.')}`).toString('base64url')

export interface PageArguments {
  first?: number
  last?: number
  after?: string | null
  before?: string | null
}

interface Page {
  nextCursor?: string | null
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null }
}

/**
 * Reads a list page by page, forward or backward.
 *
 * @returns the pages in the order of the list
 * @throws when the page info contradicts the pages, or the list does not end
 */
export async function readPages<Found extends Page>(
  read: (page: PageArguments) => Promise<Found>,
  size: number,
  backward = false,
): Promise<Found[]> {
  const pages: Found[] = []
  for (let cursor: string | null = null; ; ) {
    const page = await read(backward ? { last: size, before: cursor } : { first: size, after: cursor })
    pages.splice(backward ? 0 : pages.length, 0, page)
    const { hasNextPage, hasPreviousPage, startCursor, endCursor } = page.pageInfo
    const { nextCursor = hasNextPage ? endCursor : null } = page
    if (!backward) expect(nextCursor !== null, 'a next cursor').toBe(hasNextPage)
    expect(backward ? hasNextPage : hasPreviousPage, 'a page before').toBe(cursor !== null)
    if (!(backward ? hasPreviousPage : hasNextPage)) return pages
    if (pages.length > 1_000) throw new Error('The list does not end.')
    cursor = backward ? startCursor : nextCursor
  }
}
