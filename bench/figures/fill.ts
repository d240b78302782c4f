/** The first fill of entries and rollups, by the steps of the service's background job. */
import type { Pool, Sql } from '../../src/db/sql.ts'
import { createFollower } from '../../src/domain/sync/follower.ts'

/**
 * Fills the figures of a seeded database, and stores the duration in it.
 *
 * @param owner a connection of the owner
 * @param service one of the service, with the settings that it has
 */
export async function fill(owner: Pool, service: Pool): Promise<void> {
  const start = performance.now()
  await createFollower(service, new AbortController().signal)()
  const seconds = (performance.now() - start) / 1000
  await owner`create table bench_fill as select ${seconds}::float8 as seconds`
  await owner.unsafe('vacuum (analyze)').simple()
}

/**
 * Returns a sentence: how long the first fill took, and how large its tables are.
 *
 * @param sql a connection of the owner
 */
export async function describeFill(sql: Sql): Promise<string> {
  const sizeOf = (...names: string[]) =>
    sql`(select pg_size_pretty(sum(pg_total_relation_size(name))) from unnest(string_to_array(${names.join()}, ',')) name)`
  const entries = ['voucher_entry', 'voucher_text', 'consent_entry', 'withdrawal_entry'].map(name => `gateway.${name}`)
  const [row] = await sql<{ seconds: number; rows: number; rollups: string; entries: string }[]>`
    select seconds, (select count(*) from gateway.figure_rollup)::int as rows,
           ${sizeOf('gateway.figure_rollup')} as rollups, ${sizeOf(...entries)} as entries
    from bench_fill`
  if (!row) throw new Error('The database was not filled.')
  return (
    `The first fill took ${row.seconds.toFixed(0)} s. ${row.rows.toLocaleString('en')} rows of rollups: ${row.rollups} ` +
    `with their index; entries: ${row.entries} with their indexes.`
  )
}
