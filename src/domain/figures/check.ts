import type { Sql } from '../../db/sql.ts'
import { lastStamp } from '../sync/server-time.ts'
import type { Instant } from '../value/instant.ts'
import { instantText } from '../value/instant.ts'

/** The rows of rollups, or the heads of lists, that differ from the records. */
export interface FigureDifference {
  /**
   * `sale`, `balance`, `product`, `consent` or `withdrawal`: the kind of a rollup. `member`: a rollup wrongly includes
   * or excludes a tenant. `head`: the head of a list is not the stamp of the list's last change.
   */
  kind: string
  rows: number
  /** The number of tenants with a difference; `firstTenant` is the lowest id of these tenants. */
  tenants: number
  firstTenant: number
}

interface FigureCheck {
  /** The instant of the figures; null during the first fill. */
  asOf: Instant | null
  /** One entry for each kind with a difference; empty when all figures are correct. */
  differences: FigureDifference[]
}

/**
 * Compares the rollups with the records and with the tree of tenants, and the heads of lists with the records, in one
 * snapshot.
 *
 * @param sql a pool without a statement timeout, because the check reads all records
 */
export async function checkFigures(sql: Sql): Promise<FigureCheck> {
  const [check] = await sql<[FigureCheck]>`
    select /* figure.check */ ${instantText(sql, lastStamp(sql))} as "asOf",
      (select coalesce(json_agg(found order by kind), '[]') from (
        select kind, count(*) as rows, count(distinct ancestor_id) as tenants, min(ancestor_id) as "firstTenant"
        from (
          select kind::text, ancestor_id from gateway.figure_differences()
          union all
          select 'member', ancestor_id
          from gateway.figure_member_differences(array(select member from gateway.tree_members() member)),
               unnest(lacking || surplus)
          union all
          select 'head', tenant_id from gateway.head_differences()
        ) difference
        where ${lastStamp(sql)} is not null
        group by kind
      ) found) as differences`
  return check
}

/** Corrects the figures and the heads that differ from the records. */
export async function repairFigures(sql: Sql): Promise<void> {
  await sql`select /* figure.repair */ gateway.repair_figures()`
}
