import type { Sql } from '../db/connect.ts'

/**
 * Moves `updated_at` of the records that show what a subscription has changed, as far as its own transactions could not
 * do it (`sql/0014`).
 */
export interface StampQueue {
  /**
   * Stamps all records that are pending and not locked, in transactions of up to a thousand. A call that comes while
   * another is under way does nothing, since the next call is due soon. Several instances may call it at a time.
   */
  move(): Promise<void>
}

/**
 * @param sql what the function is called through
 * @param closing no transaction is begun after it is aborted
 */
export function createStampQueue(sql: Sql, closing: AbortSignal): StampQueue {
  let running = false
  return {
    async move() {
      if (running) return
      running = true
      try {
        for (let next: number | null = 0; next !== null && !closing.aborted; ) next = await movePart(sql, next)
      } finally {
        running = false
      }
    },
  }
}

/** @returns the id after which the next part begins; null at the end */
async function movePart(sql: Sql, after: number): Promise<number | null> {
  const [row] = await sql<{ next: number | null }[]>`
    select /* stamp_queue.process */ gateway.process_stamp_queue(${after}) as next`
  return row?.next ?? null
}
