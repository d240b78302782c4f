import type { Sql } from '../../db/sql.ts'
import type { Instant } from '../record/instant.ts'

/** The transaction that holds the watermark, so that lists stand still: a prepared one, or one of a backend. */
export interface WatermarkHolder {
  /** The instant up to which lists show changes. */
  heldSince: Instant
  /** The seconds by which the watermark is behind the database's clock. */
  seconds: number
  /** The name of the prepared transaction; null for a backend. */
  gid: string | null
  pid: number | null
  /** The role that prepared the transaction, or that the backend logged in as. */
  login: string | null
  /** Null, as `state`, when the owner of the schema may not see the sessions of that role. */
  application: string | null
  state: string | null
  /** The time at which the transaction was prepared, or began. */
  transactionSince: Instant | null
}

/** Receives what a watch finds. */
interface WatermarkReport {
  /** The watermark is held. Called again at intervals. */
  onHeld(holder: WatermarkHolder): void
  /** It is held no longer. */
  onReleased(): void
}

/** The lag of the watermark that is reported, and the interval of further reports, in milliseconds. */
const limits = { behind: 10_000, repeat: 60_000 }

/**
 * Creates the check whether something holds the watermark, to be called every few seconds.
 *
 * @param now the service's own clock in milliseconds
 * @returns the check, which throws when the database does not answer
 */
export function createWatermarkWatch(
  sql: Sql,
  { onHeld, onReleased }: WatermarkReport,
  { behind, repeat } = limits,
  now: () => number = () => performance.now(),
): () => Promise<void> {
  let reportedAt: number | null = null
  return async () => {
    const [holder] = await sql<WatermarkHolder[]>`
      select /* watermark.find_holder */ held_since as "heldSince",
             extract(epoch from clock_timestamp() - held_since)::integer as seconds,
             gid, pid, login, application, state, transaction_since as "transactionSince"
      from gateway.watermark_holder(${behind}::integer * interval '1 millisecond')`
    if (!holder) {
      if (reportedAt !== null) onReleased()
      reportedAt = null
      return
    }
    if (reportedAt !== null && now() - reportedAt < repeat) return
    reportedAt = now()
    onHeld(holder)
  }
}
