import { columnCodecs } from '../../db/row/column-codecs.ts'
import type { Fragment, RecordSql } from '../../db/sql.ts'
import { GatewayError } from '../errors.ts'
import type { Instant } from '../value/instant.ts'

/**
 * Returns the SQL of the stamp of the last step that the statement's snapshot shows (R34). Changes that no step has
 * taken get later stamps. The stamp is null during the first fill, because records are still missing.
 */
export const lastStamp = (sql: RecordSql): Fragment => sql`
  (select case when is_complete then stamp end from gateway.step order by stamp desc limit 1)`

/**
 * Converts the value of `lastStamp` in a raw row to an instant.
 *
 * @throws `UNAVAILABLE` during the first fill
 */
export function toServerTime(bytes: Buffer | null | undefined): Instant {
  if (!bytes) throw firstFillError()
  return columnCodecs.instant.decode(bytes, 0, bytes.length)
}

/**
 * Returns the stamp of the last step. Any statement after this call shows at least the changes up to this stamp.
 *
 * @throws `UNAVAILABLE` during the first fill
 */
export async function readServerTime(sql: RecordSql): Promise<Instant> {
  const [row] = await sql`select /* server_time.read */ ${lastStamp(sql)}`.raw()
  return toServerTime(row?.[0])
}

/** Returns the error `UNAVAILABLE` of a read during the first fill. */
export const firstFillError = (): GatewayError =>
  new GatewayError('UNAVAILABLE', 'The records are being written for the first time. Try again in a minute.', {
    retryAfter: 60,
  })
