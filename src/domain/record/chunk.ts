import type { Page } from '../paging/page.ts'

/** Consecutive records of a list. A record is decoded from its text when it is read. */
export interface Chunk<Row> {
  count: number
  /** True when the list can have more records after these. */
  mayHaveMore: boolean
  /** Reads the records, at most `size` of them in each step. */
  rows(size: number): Iterable<Row[]>
}

/** Returns the rows of a page, from the start of a list, as a chunk. */
export const chunkOfPage = <Row>({ rows, hasNextPage }: Page<Row>): Chunk<Row> => ({
  count: rows.length,
  mayHaveMore: hasNextPage,
  *rows(size) {
    for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size)
  },
})
