/**
 * Saves and restores the ids of keys that are not integers, because another database would give these keys other ids.
 */
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { sendCopy } from '../db/row/copy.ts'
import type { Pool } from '../db/sql.ts'

/** Writes the map of keys to ids as CSV: `kind`, `key`, `id`. */
export async function exportIds(sql: Pool, target: Writable): Promise<void> {
  const rows = await sql`
    copy /* adoption.export_ids */ (select kind, key, id from gateway.identity order by id) to stdout with (format csv, header)`.readable()
  await pipeline(rows, target, { end: false })
}

/**
 * Reads the CSV of `exportIds`. Call this function before the first records are written.
 *
 * @returns the number of ids
 * @throws an error of the database when a key or an id exists already; then no id is stored
 */
export async function importIds(sql: Pool, source: Readable): Promise<number> {
  return await sql.begin(async transaction => {
    const command = transaction`
      copy /* adoption.import_ids */ gateway.identity (kind, key, id) from stdin with (format csv, header)`
    await sendCopy(command, source)
    const [row] = await transaction<[{ count: number }]>`
      select /* adoption.continue_ids */ count(*),
             setval('gateway.identity_id_seq', greatest(max(id) filter (where gateway.own_id(key) is null), 9000000000000000))
      from gateway.identity`
    return row.count
  })
}
