/** Builds the SQL of the sales and consents of each interval. */
import type { Fragment, RecordSql } from '../../db/sql.ts'
import { intervalMembers, selectRollupSums } from './interval.ts'

/** Returns the relation `sale(place, currency, ...)`: sums of the vouchers of each interval, by the instant of purchase. */
export const saleRelation = (sql: RecordSql): Fragment => sql`
  sale as materialized (
    select place, currency,
           sum(records) filter (where state <> 'void') as vouchers, sum(initial) filter (where state <> 'void') as value,
           sum(balance) filter (where state <> 'void') as balance, sum(paid) filter (where state <> 'void') as paid,
           sum(records) filter (where state = 'void') as voided,
           sum(records) filter (where state = 'sold_without_balance') as vouchers_without_balance,
           sum(paid) filter (where state = 'sold_without_balance') as paid_without_balance
    from (
      ${selectRollupSums(sql, 'sale')}
      union all
      select width_bucket(purchase_timestamp, starts), coalesce(currency, ''),
             gateway.sale_state(gateway.figure_state(state, current_balance)),
             1, initial_balance, current_balance, purchase_value
      from span, counted cross join lateral (
        select purchase_timestamp, currency, state, initial_balance, current_balance, purchase_value
        from gateway.voucher_entry entry cross join lateral (
          select currency, state, initial_balance, current_balance, purchase_value from gateway.voucher where id = entry.id offset 0
        ) record
        where tenant_id = counted.tenant_id and purchase_timestamp >= lower and purchase_timestamp < upper offset 0
      ) voucher
    ) sold
    group by place, currency
  )`

/** Returns the SQL of a JSON object with the sums of `sale` for one currency. */
const salesObject = (sql: RecordSql): Fragment => sql`
  json_build_object('currency', nullif(currency, ''), 'vouchers', coalesce(sum(vouchers), 0),
                    'value', coalesce(sum(value), 0), 'paid', coalesce(sum(paid), 0),
                    'redeemed', coalesce(sum(value), 0) - coalesce(sum(balance), 0), 'voided', coalesce(sum(voided), 0),
                    'withoutBalance', json_build_object('vouchers', coalesce(sum(vouchers_without_balance), 0),
                                                        'paid', coalesce(sum(paid_without_balance), 0)))`

/** Returns a query for the JSON of all intervals with their sales. */
export const selectPeriods = (sql: RecordSql): Fragment => sql`
  select json_agg(json_build_object(${intervalMembers(sql)}, 'sales', coalesce(sales, '[]')) order by place)
  from period left join (
    select place, json_agg(figure order by currency = '', currency collate "C") as sales from (
      select place, currency, ${salesObject(sql)} as figure from sale group by place, currency
      having sum(vouchers) <> 0 or sum(voided) <> 0
    ) figures group by place
  ) sold using (place)`

/** Returns a query for the JSON of the sales of the whole period. */
export const selectTotals = (sql: RecordSql): Fragment => sql`
  select coalesce(json_agg(figure order by currency = '', currency collate "C"), '[]') from (
    select currency, ${salesObject(sql)} as figure from sale group by currency
    having sum(vouchers) <> 0 or sum(voided) <> 0
  ) figures`

/** Returns a query for the JSON of all intervals with their consents. */
export function selectConsents(sql: RecordSql): Fragment {
  /**
   * Returns a query that counts the events of a kind in each interval: from the rollups, and from the records of
   * `counted`.
   *
   * @param records selects `tenant_id` and `at` of the events of single tenants
   */
  const events = (kind: string, records: Fragment) => sql`
    select place, sum(records) as records from (
      select place, records from (${selectRollupSums(sql, kind)}) rollup
      union all
      select width_bucket(at, starts), 1 from span, counted cross join lateral (
        select at from (${records}) record
        where record.tenant_id = counted.tenant_id and at >= lower and at < upper offset 0
      ) record
    ) event group by place`
  const consents = sql`
    select tenant_id, consented_at as at from gateway.customer where marketing_opted in (true, false)`
  return sql`
  select json_agg(json_build_object(${intervalMembers(sql)}, 'given', coalesce(given.records, 0),
                                    'withdrawn', coalesce(withdrawn.records, 0)) order by place)
  from period left join (${events('consent', consents)}) given using (place)
  left join (${events('withdrawal', sql`select tenant_id, withdrawn_at as at from gateway.consent_withdrawal`)}) withdrawn
    using (place)`
}
