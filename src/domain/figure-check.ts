import type { Sql } from '../db/connect.ts'

/** What is not as it should be: entries that differ from the records, or rows of rollups from the entries. */
export interface FigureDifference {
  /** `voucher`, `consent` or `withdrawal` of entries; `sale`, `balance`, `product`, `consent` or `withdrawal` of rollups. */
  kind: string
  of: 'entries' | 'rollups'
  rows: number
  /** How many tenants they belong to, and the lowest id among these. */
  tenants: number
  firstTenant: number
}

/**
 * Compares the entries of figures with the records, and the rollups with the entries, in one snapshot. It is exact while
 * others write: of records that were written since the figures were brought up to date, it says nothing.
 *
 * @param sql a pool without a statement timeout: it reads all records
 * @returns one entry for each kind that differs; none when all figures are right
 */
export async function findFigureDifferences(sql: Sql): Promise<FigureDifference[]> {
  return sql<FigureDifference[]>`
    select /* figure.find_differences */ kind, part as "of", count(*)::int as rows,
           count(distinct tenant_id)::int as tenants, min(tenant_id) as "firstTenant"
    from (
      select kind, 'entries' as part, tenant_id from gateway.entry_differences()
      union all
      select kind, 'rollups', ancestor_id from gateway.figure_differences()
    ) difference
    group by kind, part
    order by part, kind`
}

/** Lets the service count all figures anew. There are none until it has. */
export async function recountFigures(sql: Sql): Promise<void> {
  await sql`select /* figure.recount */ gateway.recount_figures()`
}
