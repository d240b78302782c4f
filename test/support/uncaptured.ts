import type { Pool, Sql } from '../../src/db/sql.ts'

/** Writes to tables of the platform with disabled triggers, so that capture misses the changes. */
export const writeUncaptured = (platform: Pool, write: (sql: Sql) => Promise<unknown>, table = 'purchased_voucher') =>
  platform.begin(async sql => {
    await sql`alter table ${sql(table)} disable trigger all`
    await write(sql)
    await sql`alter table ${sql(table)} enable trigger all`
  })

/** Returns the select of an installed mapping. */
export async function readSelect(platform: Pool, record: string): Promise<string> {
  const [row] = await platform<[{ text: string }]>`
    select files ->> 'select' as text from gateway.mapping where record = ${record}::text::gateway.record_type`
  return row.text
}
