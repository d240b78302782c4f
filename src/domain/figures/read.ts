import type { Fragment, RecordSql } from '../../db/sql.ts'
import { withoutPreparing } from '../../db/statement/statement.ts'
import { badInput, type GatewayError } from '../errors.ts'
import { firstFillError, lastStamp } from '../sync/server-time.ts'
import { grantedBy } from '../tenant/granted.ts'
import type { Token } from '../token/token.ts'
import { instantText } from '../value/instant.ts'
import type { Figures, FiguresRead, FiguresRequest } from './figure.ts'
import { periodRelations } from './interval.ts'
import { productRelations, selectTopProducts } from './products.ts'
import { saleRelation, selectConsents, selectPeriods, selectTotals } from './sales.ts'
import { selectExpiringBalances, selectOutstanding, selectStatuses, stockRelations } from './stock.ts'

/**
 * Reads figures in one statement, and so in one snapshot.
 *
 * `asOf` is the stamp of the last step whose changes are in the figures.
 *
 * @param token its grants decide which tenants below the tenant of a request are included
 * @returns for each read, in the same order, the figures, or an error `BAD_USER_INPUT` of `timeZone` when the text is
 * not the name of a time zone (`gateway.time_zone`). After such an error the other reads are repeated, each in its own
 * snapshot.
 * @throws `UNAVAILABLE` during the first fill
 */
export async function readFigures(
  sql: RecordSql,
  token: Token,
  reads: readonly FiguresRead[],
): Promise<(Figures | GatewayError)[]> {
  const statement = sql<Figures[]>`
    select /* figures.read */ * from (
      ${reads.map((read, place) => sql`${place > 0 ? sql`union all` : sql``} ${selectFigures(sql, token, read, place)}`)}
    ) read order by place`
  try {
    const figures = await (reads.length > 1 ? withoutPreparing(statement) : statement)
    if (figures.length > 0) return figures
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && timeZoneErrors.includes(error.code))) throw error
    if (reads.length === 1) return [badInput({ timeZone: ['Give an IANA time zone, such as Europe/Berlin.'] })]
    return (await Promise.all(reads.map(read => readFigures(sql, token, [read])))).flat()
  }
  throw firstFillError()
}

/**
 * Returns a query for one row: the figures of one read. PostgreSQL does not evaluate a relation that no selected figure
 * uses.
 *
 * @param place the position of the row in the result
 */
function selectFigures(sql: RecordSql, token: Token, { request, selection }: FiguresRead, place: number): Fragment {
  const none = sql`select '[]'::json`
  const when = (selected: boolean, query: Fragment): Fragment => (selected ? query : none)
  const { periods, totals, consents, outstanding, status, expiring, topProducts } = selection
  return sql`(
    with ${grantedTenants(sql, token, request)},
    ${periodRelations(sql, request)}, ${saleRelation(sql)}, ${stockRelations(sql, selection)}, ${productRelations(sql)}
    select ${place}::integer as place, ${instantText(sql, sql`stamp`)} as "asOf",
           -- Rejects a name that is no time zone, even when no selected figure uses the time zone.
           (select name from zone where now() at time zone sql_name is not null) as "timeZone",
           (${when(periods, selectPeriods(sql))}) as periods,
           (${when(totals, selectTotals(sql))}) as totals,
           (${when(consents, selectConsents(sql))}) as consents,
           (${when(outstanding, selectOutstanding(sql))}) as outstanding,
           (${when(status, selectStatuses(sql))}) as status,
           (${when(expiring.length > 0, selectExpiringBalances(sql, expiring))}) as expiring,
           (${when(topProducts.length > 0, selectTopProducts(sql, topProducts))}) as "topProducts"
    from (select ${lastStamp(sql)} as stamp) last where stamp is not null
  )`
}

/**
 * The SQLSTATEs for a text that names no time zone: an invalid parameter value, and U+0000, which PostgreSQL rejects in
 * a text.
 */
const timeZoneErrors: readonly unknown[] = ['22023', '22021']

/**
 * Returns the relations of the tenants.
 *
 * - `granted(id, top)`: the tenants whose records are in the figures. `top` is the highest ancestor whose grant
 *   includes all tenants below it (R21). Without such an ancestor, `top` is the tenant itself, or null when the tenant
 *   has descendants
 * - `rolled(ancestor_id)`: the tenants whose rollups the statement reads
 * - `single(tenant_id)`: the tenants whose records the statement reads, because no rollup of `rolled` includes them
 * - `today(id, day)`: the current calendar day in the time zone of each tenant in the figures; in UTC for a deleted
 *   tenant
 * - `days(first, last)`: the first and the last day of `today`
 */
const grantedTenants = (sql: RecordSql, token: Token, { tenantId, withDescendants }: FiguresRequest): Fragment => sql`
  ${
    // For a single tenant, the scope has already checked that the token is authorised.
    withDescendants
      ? tenantsBelow(sql, token, tenantId)
      : sql`visible as materialized (select ${tenantId}::bigint as id, null::bigint as top)`
  },
  granted as materialized (
    -- A large tenant has its own rollup.
    select id, coalesce(top, case when not exists (select from gateway.figure_member
                                                   where ancestor_id = id and tenant_id <> id) then id end) as top
    from visible
  ), rolled as materialized (
    select distinct top as ancestor_id from granted where exists (select from gateway.figure_member where ancestor_id = top)
  ), single as materialized (
    select id as tenant_id from granted where not exists (select from rolled where ancestor_id = top)
  ), today as materialized (
    select id, (now() at time zone coalesce((select gateway.time_zone(time_zone) from gateway.tenant where tenant.id = counted.id),
                                            'UTC'))::date as day
    from (select tenant_id as id from single
          union select tenant_id from rolled join gateway.figure_member using (ancestor_id)) counted
  ), days as materialized (
    select min(day) as first, max(day) as last from today
  )`

/**
 * Returns the relations of a tenant and the tenants below it, from the tree of the rollups.
 *
 * - `below(id)`: the tenant and all tenants below it
 * - `whole(id)`: the tenants of `below` whose descendants are all granted
 * - `highest(id)`: the tenants of `whole` without an ancestor in `whole`
 * - `visible(id, top)`: the granted tenants of `below`, each with its ancestor in `highest`, or null
 */
const tenantsBelow = (sql: RecordSql, token: Token, tenantId: number): Fragment => {
  const { named, withDescendants } = grantedBy(token)
  return sql`
  below as materialized (
    select ${tenantId}::bigint as id union select tenant_id from gateway.figure_member where ancestor_id = ${tenantId}::bigint
  ), whole as materialized (
    select id from unnest(${withDescendants}::text::bigint[]) id join below using (id)
    union
    select tenant_id from gateway.tenant_path where tenant_id = ${tenantId}::bigint and path && ${withDescendants}::text::bigint[]
  ), highest as materialized (
    select id from whole
    except
    select member.tenant_id from whole join gateway.figure_member member on ancestor_id = whole.id
    where member.tenant_id not in (whole.id, ${tenantId}::bigint)
  ), visible as materialized (
    select id, min(top) as top from (
      select id, id as top from highest
      union all select member.tenant_id, highest.id from highest join gateway.figure_member member on ancestor_id = highest.id
      union all select id, null from unnest(${named}::text::bigint[]) id join below using (id)
    ) granted group by id
  )`
}
