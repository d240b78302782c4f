/** The keys whose rows v1 cannot show. */
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Fragment, Pool, Sql } from '../db/sql.ts'

interface RejectedKey {
  record: string
  key: string
  /** The reason for the rejection, which may quote values of the row. */
  reason: string
  /** The instant since which the key is rejected (ISO 8601). The reason can be newer. */
  since: string
}

const rejectedKeys = (sql: Sql, key: Fragment) => sql`
  select record, ${key} as key, reason, to_char(since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
  from gateway.rejected order by rejected.record, length(rejected.key), rejected.key`

/** Reads all rejected keys, by type and key. */
export const readRejected = async (sql: Sql): Promise<RejectedKey[]> =>
  await sql<RejectedKey[]>`
    with /* adoption.read_rejected */ listed as (${rejectedKeys(sql, sql`key`)}) select * from listed`

/** Writes all rejected keys as CSV. An apostrophe precedes each key that a spreadsheet would take for a formula. */
export async function exportRejected(sql: Pool, target: Writable): Promise<void> {
  const key = sql`case when key ~ '^[=+@\\t\\r-]' then '''' || key else key end`
  const rows = await sql`
    copy /* adoption.export_rejected */ (${rejectedKeys(sql, key)}) to stdout with (format csv, header)`.readable()
  await pipeline(rows, target, { end: false })
}
