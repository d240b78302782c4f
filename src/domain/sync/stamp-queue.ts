import type { Sql } from '../../db/sql.ts'

/**
 * Creates the worker that stamps records after changes of their content, unless the transaction did so itself
 * (`sql/0006`, `sql/0009`). Several instances of the service may process the queue.
 *
 * @param sql the service's pool
 * @param closing no transaction begins after it is aborted
 */
export function createStampQueue(sql: Sql, closing: AbortSignal) {
  let processing = false
  return {
    /**
     * Stamps all queued records that are not locked, in transactions of up to a thousand entries. Returns at once while
     * another call runs, because the next call is due soon.
     */
    async process(): Promise<void> {
      if (processing) return
      processing = true
      try {
        for (let next: number | null = 0; next !== null && !closing.aborted; ) next = await processPart(sql, next)
      } finally {
        processing = false
      }
    },
  }
}

/** Returns the id after which the next part begins; null at the end. */
async function processPart(sql: Sql, after: number): Promise<number | null> {
  const [row] = await sql<{ next: number | null }[]>`
    select /* stamp_queue.process */ gateway.process_stamp_queue(${after}) as next`
  return row?.next ?? null
}
