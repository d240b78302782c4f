import type { Sql } from '../../src/db/sql.ts'

/** Updates the figures of a database to all committed changes, as the service's background job does. */
export async function followed(sql: Sql): Promise<void> {
  for (let more: boolean | null = true; more !== false; ) {
    const [row] = await sql<{ more: boolean | null }[]>`select gateway.follow(100000) as more`
    more = row?.more ?? null
  }
}
