/** SQL that divides a period into parts, for the figures of products: each part is read from a rollup. */
import type { Fragment, RecordSql } from '../../db/sql.ts'

/** Selects a range with the nearest range of a coarser grain: `(starts_at, ends_at, lower, upper)`. */
const selectRounded = (sql: RecordSql, unit: string, range: Fragment): Fragment => sql`
  select starts_at, ends_at, lower, upper
  from sales_time, ${range}, gateway.rounded_range(${unit}, starts_at, ends_at, first, last)`

/** Selects the range that a relation was rounded to: the next, coarser grain rounds this range again. */
const roundedRangeOf = (sql: RecordSql, name: string): Fragment =>
  sql`(select lower as starts_at, upper as ends_at from ${sql.unsafe(name)}) finer`

/** Joins the parts between a range and its rounded range, each with the sign 1 (added) or -1 (subtracted). */
const joinEdgeParts = (sql: RecordSql): Fragment => sql`
  cross join lateral (values
    (least(starts_at, range.lower), greatest(starts_at, range.lower), case when starts_at < range.lower then 1 else -1 end),
    (least(ends_at, range.upper), greatest(ends_at, range.upper), case when ends_at > range.upper then 1 else -1 end)
  ) part (lower, upper, sign)
  where part.lower < part.upper`

/**
 * Returns the relations of the parts. A large group has thousands of products, each with a row in each part, so a
 * period is read as few large parts, and the excess of these parts is subtracted. In November, for example, the year up
 * to today is read as the calendar year, the December before it, and the last days of the November before.
 *
 * - `sales_time(first, last)`: the time in which vouchers were sold, and which is read
 * - `months`, `quarters`, `years`, `all_time`: the period, rounded to each grain in turn. The sales between `starts_at`
 * and `lower`, and between `ends_at` and `upper`, are added or subtracted
 * - `product_part(grain, lower, upper, sign)`: the parts that are read from rollups
 * - `rest(lower, upper, sign)`: the parts whose vouchers are counted from the records
 */
export const productParts = (sql: RecordSql): Fragment => sql`
  sales_time as materialized (
    select least(coalesce(min(first_year.at), span.starts_at), now()) as first, now() as last
    from span left join (
      select year.at from rolled cross join lateral (
        select at from gateway.figure_rollup rollup
        where rollup.ancestor_id = rolled.ancestor_id and kind = 'product' and grain = 'year' and at > '-infinity'
        order by at limit 1
      ) year
    ) first_year on true
    group by span.starts_at
  ), months as materialized (${selectRounded(sql, 'month', sql`span`)}
  ), quarters as materialized (${selectRounded(sql, 'quarter', roundedRangeOf(sql, 'months'))}
  ), years as materialized (${selectRounded(sql, 'year', roundedRangeOf(sql, 'quarters'))}
  ), all_time as materialized (${selectRounded(sql, 'all', roundedRangeOf(sql, 'years'))}
  ), rest as materialized (
    select part.* from months range ${joinEdgeParts(sql)}
  ), product_part as materialized (
    select grain::gateway.figure_grain, part.*
    from (
      select 'month' as grain, * from quarters
      union all select 'quarter', * from years
      union all select 'year', * from all_time
      union all select 'all', lower, upper, lower, lower from all_time
    ) range ${joinEdgeParts(sql)}
  )`
