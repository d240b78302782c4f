import { coalesceReads } from '../../db/coalesce-reads.ts'
import type { Sql } from '../../db/sql.ts'
import type { Instant } from '../record/instant.ts'

/** Reads the instant up to which a page may list rows (`sql/0003`). */
export interface Watermark {
  /**
   * Reads the watermark: a statement that begins after the read sees every row with an earlier stamp, and no row gets an
   * earlier stamp any more. A client that resumes from it misses nothing. Concurrent calls share a read.
   *
   * @returns a watermark no older than the call
   */
  read(): Promise<Instant>
}

/** The milliseconds after which a slow read no longer delays other pages. */
const timeout = 100

/** Creates the reader of the watermark. The pool must connect to the primary. */
export function createWatermark(sql: Sql): Watermark {
  return { read: coalesceReads(() => readWatermark(sql), timeout) }
}

async function readWatermark(sql: Sql): Promise<Instant> {
  const [row] = await sql<{ watermark: Instant }[]>`select /* watermark.read */ gateway.watermark() as watermark`
  if (!row) throw new Error('The database returned no watermark.')
  return row.watermark
}
