import type { Sql } from '../db/connect.ts'

/** Moves `updated_at` of the products whose variants, links or categories a subscription has changed (`sql/0014`). */
export interface ProductMover {
  /**
   * Stamps all products that are pending and not locked, in transactions of up to a thousand. A call that comes while
   * another is under way does nothing, since the next call is due soon. Several instances may call it at a time.
   */
  move(): Promise<void>
}

/** @param sql what the function is called through */
export function createProductMover(sql: Sql): ProductMover {
  let running = false
  return {
    async move() {
      if (running) return
      running = true
      try {
        for (let next: number | null = 0; next !== null; ) next = await movePart(sql, next)
      } finally {
        running = false
      }
    },
  }
}

/** @returns the id after which the next part begins; null at the end */
async function movePart(sql: Sql, after: number): Promise<number | null> {
  const [row] = await sql<{ next: number | null }[]>`
    select /* product.move_pending */ gateway.move_pending_products(${after}) as next`
  return row?.next ?? null
}
