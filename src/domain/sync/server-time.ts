import { columnCodecs } from '../../db/row/column-codecs.ts'
import type { Fragment, RecordSql } from '../../db/sql.ts'
import { GatewayError } from '../errors.ts'
import type { Instant } from '../value/instant.ts'

/**
 * Returns the SQL of the last step's stamp, as the statement's snapshot shows it (R34). Waiting changes get later
 * stamps. The stamp is null during the first fill, when records are missing.
 */
export const lastStamp = (sql: RecordSql): Fragment => sql`
  (select case when is_complete then stamp end from gateway.step order by stamp desc limit 1)`

/**
 * Reads the value of `lastStamp`.
 *
 * @throws `UNAVAILABLE` during the first fill
 */
export function toServerTime(bytes: Buffer | null | undefined): Instant {
  if (!bytes) throw firstFillError()
  return columnCodecs.instant.decode(bytes, 0, bytes.length)
}

/** Returns the instant up to which a statement that begins now shows all steps. @throws `UNAVAILABLE` during the first fill */
export async function readServerTime(sql: RecordSql): Promise<Instant> {
  const [row] = await sql`select /* server_time.read */ ${lastStamp(sql)}`.raw()
  return toServerTime(row?.[0])
}

/** Returns the error of a read during the first fill. */
export const firstFillError = (): GatewayError =>
  new GatewayError('UNAVAILABLE', 'The records are being written for the first time. Try again in a minute.', {
    retryAfter: 60,
  })
