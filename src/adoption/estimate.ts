import { type Mapping, throwWithFile } from '../db/mapping/mappings.ts'
import type { Sql } from '../db/sql.ts'

/**
 * Returns the number of rows that the planner of PostgreSQL expects from the mappings.
 *
 * @throws an error that names the file when a mapping no longer fits the tables
 */
export async function estimateRows(sql: Sql, mappings: readonly Mapping[]): Promise<number> {
  let rows = 0
  for (const mapping of mappings) {
    const [row] = await sql<{ rows: number }[]>`
      select /* adoption.estimate */ (plan #>> '{0,Plan,Plan Rows}')::float8 as rows
      from gateway.parsed_query(${mapping.select}, ${mapping.path}) query,
           lateral gateway.read_as_reader('explain (format json) ' || query, null) as (plan json)`.catch(error =>
      throwWithFile(error, mapping),
    )
    rows += row?.rows ?? 0
  }
  return rows
}
