/** Builds the SQL of the products with the most sales in a period. */
import { arrayText, type Fragment, type RecordSql } from '../../db/sql.ts'
import type { ProductRanking } from './figure.ts'

/** Returns a query for a range and the nearest range of a coarser grain: `(starts_at, ends_at, lower, upper)`. */
const selectWithRoundedRange = (sql: RecordSql, unit: string, range: Fragment): Fragment => sql`
  select starts_at, ends_at, lower, upper
  from sales_time, ${range}, gateway.rounded_range(${unit}, starts_at, ends_at, first, last)`

/** Returns a subquery for the rounded range of a relation, which is then rounded to the next, coarser grain. */
const selectRoundedRange = (sql: RecordSql, name: string): Fragment =>
  sql`(select lower as starts_at, upper as ends_at from ${sql.unsafe(name)}) finer`

/**
 * Returns a join with the parts between a range and the rounded range. A part has the sign 1 (its sales are added) or
 * -1 (its sales are subtracted).
 */
const joinEdgeParts = (sql: RecordSql): Fragment => sql`
  cross join lateral (values
    (least(starts_at, range.lower), greatest(starts_at, range.lower), case when starts_at < range.lower then 1 else -1 end),
    (least(ends_at, range.upper), greatest(ends_at, range.upper), case when ends_at > range.upper then 1 else -1 end)
  ) part (lower, upper, sign)
  where part.lower < part.upper`

/**
 * Returns the relations of the parts of a period. A large group has thousands of products, and each part has a row per
 * product. So the SQL reads a few large parts, and subtracts the sales outside the period. In November, for example,
 * the twelve months up to today are the calendar year, the December before it, and the last days of the November
 * before.
 *
 * - `sales_time(first, last)`: the time from the year of the first sale to now; no part is outside this time
 * - `months`, `quarters`, `years`, `all_time`: the period, rounded to one grain after the other. The sales between
 *   `starts_at` and `lower`, and between `ends_at` and `upper`, must be added or subtracted
 * - `product_part(grain, lower, upper, sign)`: the parts whose sums come from rollups
 * - `rest(lower, upper, sign)`: the parts whose vouchers are counted from the records
 */
const productParts = (sql: RecordSql): Fragment => sql`
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
  ), months as materialized (${selectWithRoundedRange(sql, 'month', sql`span`)}
  ), quarters as materialized (${selectWithRoundedRange(sql, 'quarter', selectRoundedRange(sql, 'months'))}
  ), years as materialized (${selectWithRoundedRange(sql, 'year', selectRoundedRange(sql, 'quarters'))}
  ), all_time as materialized (${selectWithRoundedRange(sql, 'all', selectRoundedRange(sql, 'years'))}
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

/** Returns the relations of the parts of the period, and `product_sale(product_id, currency, vouchers, paid, value)`. */
export const productRelations = (sql: RecordSql): Fragment => sql`
  ${productParts(sql)}, product_sale as materialized (
    select product_id, currency, sum(records) as vouchers, sum(paid) as paid, sum(initial) as value from (
      select product_id, currency, sign * records as records, sign * paid as paid, sign * initial as initial
      from rolled cross join product_part cross join lateral (
        select product_id, currency, records, paid, initial from gateway.figure_rollup rollup
        where rollup.ancestor_id = rolled.ancestor_id and kind = 'product' and rollup.grain = product_part.grain
          and at >= lower and at < upper and state = 'sold' offset 0
      ) rollup
      union all
      select product_id, coalesce(currency, ''), sign, sign * coalesce(purchase_value, 0), sign * coalesce(initial_balance, 0)
      from (
        select tenant_id, 1 as sign, starts_at as lower, ends_at as upper from single, span
        union all
        select member.tenant_id, rest.sign, rest.lower, rest.upper
        from rest, rolled join gateway.figure_member member using (ancestor_id)
      ) part cross join lateral (
        select sold_product_id as product_id, currency, purchase_value, initial_balance
        from gateway.voucher_entry entry cross join lateral (
          select currency, purchase_value, initial_balance, state from gateway.voucher where id = entry.id offset 0
        ) record
        where entry.tenant_id = part.tenant_id and purchase_timestamp >= lower and purchase_timestamp < upper
          and state <> 'void' offset 0
      ) voucher
    ) sold
    where product_id <> 0
    group by product_id, currency having sum(records) <> 0
  )`

/**
 * Returns a query for a JSON array of the products of each ranking. In the order by the amount paid, each currency has
 * its own ranking, which is a `part` of the query. PostgreSQL finds the first products of each part without a sort of
 * all products.
 */
export function selectTopProducts(sql: RecordSql, rankings: readonly ProductRanking[]): Fragment {
  const first = arrayText(rankings.map(ranking => ranking.first))
  const byPaid = arrayText(rankings.map(({ by }) => by === 'PAID'))
  const currencies = arrayText(rankings.map(({ currency }) => currency ?? ''))
  const order = sql`case when by_paid then paid end desc, vouchers desc, paid desc, product_id`
  return sql`
  select json_agg((
    select coalesce(json_agg(json_build_object(
             'productId', product_id, 'currency', nullif(ranked.currency, ''), 'vouchers', vouchers, 'paid', paid,
             'value', value,
             'title', coalesce((select title from gateway.product where id = product_id and tenant_id in (select id from granted)),
                               (select coalesce(parent_product_title, product_title)
                                from granted
                                join gateway.voucher_entry entry on entry.tenant_id = granted.id
                                 and entry.sold_product_id = ranked.product_id
                                join gateway.voucher on voucher.id = entry.id limit 1)))
             order by nullif(part.currency, '') collate "C", ${order}), '[]')
    from (
      select distinct case when by_paid then currency end as currency from product_sale
      where wanted.currency in ('', currency)
    ) part cross join lateral (
      select * from product_sale
      where wanted.currency in ('', currency) and (not by_paid or currency = part.currency)
      order by ${order} limit wanted.first
    ) ranked
  ) order by place)
  from unnest(${first}::text::bigint[], ${byPaid}::text::boolean[], ${currencies}::text::text[])
       with ordinality as wanted (first, by_paid, currency, place)`
}
