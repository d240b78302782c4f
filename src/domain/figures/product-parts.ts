/** SQL of the parts of a period, for figures of products. */
import type { Fragment, RecordSql } from '../../db/sql.ts'

/** Returns an instant, limited to the time in which vouchers were sold, so that no time without sales is read. */
const clamped = (sql: RecordSql, instant: Fragment): Fragment =>
  sql`least(greatest(${instant}, sales_time.first), sales_time.last)`

const lengths = { month: '1 month', quarter: '3 months', year: '1 year' }

/** Returns the nearest beginning of a month, quarter or year in UTC: the one with the shorter time of sales between. */
const nearest = (sql: RecordSql, unit: keyof typeof lengths, instant: Fragment): Fragment => sql`
  (select case when ${clamped(sql, instant)} - ${clamped(sql, sql`earlier`)} <= ${clamped(sql, sql`later`)} - ${clamped(sql, instant)}
               then earlier else later end
   from (select date_trunc(${unit}::text, ${instant}, 'UTC') as earlier) at_or_before,
        lateral (select earlier + ${lengths[unit]}::text::interval as later) after)`

/**
 * Returns a range at an end of a range of a coarser grain: `(starts_at, ends_at, lower, upper)`. The sales between `starts_at` and
 * `lower`, and between `ends_at` and `upper`, are added or subtracted. The coarser range is empty where these parts are
 * as long as the range itself.
 */
const rounded = (sql: RecordSql, range: Fragment, lower: Fragment, upper: Fragment): Fragment => sql`
  select starts_at, ends_at, case when is_less then lower else starts_at end as lower,
         case when is_less then upper else starts_at end as upper
  from (
    select range.*, ${between(sql, sql`starts_at`, sql`lower`)} + ${between(sql, sql`ends_at`, sql`upper`)}
                    < ${between(sql, sql`starts_at`, sql`ends_at`)} as is_less
    from sales_time, (select starts_at, ends_at, ${lower} as lower, ${upper} as upper from sales_time, ${range}) range
  ) compared`

const between = (sql: RecordSql, one: Fragment, other: Fragment): Fragment => sql`
  (${clamped(sql, sql`greatest(${one}, ${other})`)} - ${clamped(sql, sql`least(${one}, ${other})`)})`

const roundedTo = (sql: RecordSql, unit: keyof typeof lengths, range: Fragment): Fragment =>
  rounded(sql, range, nearest(sql, unit, sql`starts_at`), nearest(sql, unit, sql`ends_at`))

/** Returns the coarser range of a relation, for the next rounding. */
const coarser = (sql: RecordSql, name: string): Fragment =>
  sql`(select lower as starts_at, upper as ends_at from ${sql.unsafe(name)}) finer`

/** The signed parts between the ranges of a rounding. */
const edges = (sql: RecordSql): Fragment => sql`
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
 * - `sales_time(first, last)`: the time in which vouchers were sold
 * - `months`, `quarters`, `years`, `all_time`: the period, rounded to each grain in turn
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
  ), months as materialized (${roundedTo(sql, 'month', sql`span`)}
  ), quarters as materialized (${roundedTo(sql, 'quarter', coarser(sql, 'months'))}
  ), years as materialized (${roundedTo(sql, 'year', coarser(sql, 'quarters'))}
  ), all_time as materialized (
    ${rounded(sql, coarser(sql, 'years'), sql`'-infinity'::timestamptz`, sql`'infinity'::timestamptz`)}
  ), rest as materialized (
    select part.* from months range ${edges(sql)}
  ), product_part as materialized (
    select grain::gateway.figure_grain, part.*
    from (
      select 'month' as grain, * from quarters
      union all select 'quarter', * from years
      union all select 'year', * from all_time
      union all select 'all', lower, upper, lower, lower from all_time
    ) range ${edges(sql)}
  )`
