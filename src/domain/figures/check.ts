import type { Sql } from '../../db/sql.ts'
import type { Instant } from '../record/instant.ts'
import { instantText } from './interval.ts'

/** A difference: entries that differ from the records, or rows of rollups that differ from the entries. */
export interface FigureDifference {
  /**
   * `voucher`, `consent` or `withdrawal` of entries; `sale`, `balance`, `product`, `consent` or `withdrawal` of rollups, or
   * `member` for a tenant that a rollup must include, or must not.
   */
  kind: string
  of: 'entries' | 'rollups'
  rows: number
  /** The number of the tenants with a difference, and the lowest of their ids. */
  tenants: number
  firstTenant: number
}

/** The result of a comparison of figures with records. */
export interface FigureCheck {
  /** The instant of the figures; null while they are being counted: then nothing is compared with the records. */
  asOf: Instant | null
  /** One difference for each kind; empty when all figures are right. */
  differences: FigureDifference[]
}

/**
 * Compares the entries of figures with the records, and the rollups with the entries and with the tree of tenants, in one
 * snapshot. It is exact while others write, because it leaves out records that changed after the figures were updated.
 *
 * @param sql a pool without a statement timeout: it reads all records
 */
export async function checkFigures(sql: Sql): Promise<FigureCheck> {
  const [check] = await sql<[FigureCheck]>`
    select /* figure.check */
      (select ${instantText(sql, sql`as_of`)} from gateway.follower where not gateway.awaits_fill()) as "asOf",
      (select coalesce(json_agg(found order by "of", kind), '[]') from (
        select kind, part as "of", count(*) as rows, count(distinct tenant_id) as tenants, min(tenant_id) as "firstTenant"
        from (
          select kind, 'entries' as part, tenant_id from gateway.entry_differences()
          union all
          select kind::text, 'rollups', ancestor_id from gateway.figure_differences()
          union all
          select 'member', 'rollups', ancestor_id from gateway.member_differences()
        ) difference
        group by kind, part
      ) found) as differences`
  return check
}

/** Makes the service count all figures again. There are none until it has. */
export async function recountFigures(sql: Sql): Promise<void> {
  await sql`select /* figure.recount */ gateway.recount_figures()`
}
