import type { Page } from '../paging/page.ts'

/** Consecutive records of a list, as text. A record is decoded only when it is read. */
export interface Chunk<Row> {
  count: number
  /** True when the list may have more records after the last record of the chunk. */
  mayHaveMore: boolean
  /** Reads the records in steps of at most `size` records. */
  rows(size: number): Iterable<Row[]>
}

/** Converts a page, read from the start of a list, to a chunk. */
export const chunkOfPage = <Row>({ rows, hasNextPage }: Page<Row>): Chunk<Row> => ({
  count: rows.length,
  mayHaveMore: hasNextPage,
  *rows(size) {
    for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size)
  },
})
