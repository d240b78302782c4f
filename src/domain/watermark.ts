import type { Sql } from '../db/connect.ts'
import type { Instant } from './instant.ts'

/** Tells until when all changes can be seen (`sql/0004`). */
export interface Watermark {
  /**
   * What is stamped before this instant is there for every statement that begins after it was told, and nothing will
   * be stamped before it any more: resuming from it misses nothing.
   */
  read(): Promise<Instant>
}

/** How long a reading may take before others stop waiting for it, in milliseconds. */
const patience = 100

/**
 * One reading at a time, for all who came before it began: each is told of all that could be seen when he asked, and
 * at a busy time many share the cost.
 */
export function createWatermark(sql: Sql): Watermark {
  let running: { since: number; reading: Promise<Instant> } | null = null
  let next: Promise<Instant> | null = null

  function begin(): Promise<Instant> {
    const reading = readWatermark(sql)
    const mine = { since: performance.now(), reading }
    running = mine
    next = null
    const end = () => {
      if (running === mine) running = null
    }
    reading.then(end, end)
    return reading
  }

  return {
    read() {
      if (!running || performance.now() - running.since > patience) return begin()
      next ??= running.reading.then(begin, begin)
      return next
    },
  }
}

async function readWatermark(sql: Sql): Promise<Instant> {
  const [row] = await sql<{ watermark: Instant }[]>`select /* watermark.read */ gateway.watermark() as watermark`
  if (!row) throw new Error('The database tells no watermark.')
  return row.watermark
}
