/** Builds the SQL of the current vouchers, by status and by the last day of validity. */
import { arrayText, type Fragment, type RecordSql } from '../../db/sql.ts'
import { voucherStatusNames } from '../record/voucher-status.ts'
import type { Selection } from './figure.ts'

/**
 * Returns the relations of the current vouchers.
 *
 * - `differing_day(day)`: last days of validity that have passed at some tenants but not at others, or are within
 *   `expiring` days at some tenants but not at others, because the time zones of the tenants differ. A rollup does not
 *   show the tenant of a voucher, so the vouchers with these last days are counted from the records
 * - `stock(expires_on, today, currency, state, records, balance, paid)`: sums of vouchers. `expires_on` is the last day
 *   of validity. It is null for vouchers that do not expire, and one common day for all vouchers that have expired at
 *   all tenants. `today` is the current day at the tenant of the vouchers. It is null for the sums of a rollup, because
 *   there the current day of each tenant gives the same result.
 */
export const stockRelations = (sql: RecordSql, { expiring, status }: Selection): Fragment => sql`
  differing_day as materialized (
    select (first + steps)::date as day from days, generate_series(0, last - first - 1) steps
    union
    select (first + within + steps)::date
    from days, unnest(${arrayText(expiring)}::text::integer[]) within, generate_series(1, last - first) steps
  ), stock as materialized (
    select nullif(at, 'infinity')::date as expires_on, today, currency, state, sum(records) as records,
           coalesce(sum(balance), 0) as balance, coalesce(sum(paid), 0) as paid
    from (
      select greatest(at, (first - 1)::timestamp at time zone 'UTC') as at, null::date as today, currency, state, records,
             balance, paid
      from days, rolled cross join lateral (
        select at, currency, state, records, balance, paid from gateway.figure_rollup rollup
        where rollup.ancestor_id = rolled.ancestor_id and kind = 'balance' and grain = 'day'
          and at >= case when ${status} then '-infinity' else first::timestamp at time zone 'UTC' end offset 0
      ) rollup
      where at <> all(array(select day::timestamp at time zone 'UTC' from differing_day))
      union all
      select ends_on::timestamp at time zone 'UTC', day, coalesce(currency, ''),
             gateway.figure_state(state, current_balance), 1, current_balance, purchase_value
      from (
        select tenant_id, differing_day.day as lower, differing_day.day as upper
        from differing_day, rolled join gateway.figure_member using (ancestor_id)
        union all
        select tenant_id, case when ${status} then '-infinity' else day end, 'infinity'
        from single join today on id = tenant_id
      ) part join today on id = tenant_id cross join lateral (
        select ends_on, currency, state, current_balance, purchase_value
        from gateway.voucher_entry entry cross join lateral (
          select currency, state, current_balance, purchase_value from gateway.voucher where id = entry.id offset 0
        ) record
        where entry.tenant_id = part.tenant_id and ends_on >= lower and ends_on <= upper offset 0
      ) voucher
    ) balances
    group by at, today, currency, state
  )`

/**
 * Returns the condition that a voucher is not used up and not void. Only the status of such vouchers depends on the day
 * (R25).
 */
const liveCondition = (sql: RecordSql): Fragment => sql`state in ('full', 'part', 'full_without_balance')`

/** Returns the SQL of the members of a JSON object with the balances of one currency. */
const balanceMembers = (sql: RecordSql): Fragment => sql`
  'currency', nullif(currency, ''), 'vouchers', vouchers, 'balance', balance,
  'withoutBalance', json_build_object('vouchers', vouchers_without_balance, 'paid', paid_without_balance)`

/** Returns the columns that sum up rows of `stock` for `balanceMembers`. */
const balanceSums = (sql: RecordSql): Fragment => sql`
  sum(records) as vouchers, sum(stock.balance) as balance,
  coalesce(sum(records) filter (where state = 'full_without_balance'), 0) as vouchers_without_balance,
  coalesce(sum(paid) filter (where state = 'full_without_balance'), 0) as paid_without_balance`

/**
 * Returns a query for the JSON of the outstanding balances, by currency, then by the month in which the validity ends.
 *
 * @param condition a condition on rows of `stock`, which is appended to other conditions
 */
export const selectOutstanding = (sql: RecordSql, condition: Fragment = sql``): Fragment => sql`
  select coalesce(json_agg(json_build_object(${balanceMembers(sql)}, 'byExpiry', by_expiry)
                           order by currency = '', currency collate "C"), '[]')
  from (
    select currency, sum(vouchers) as vouchers, sum(balance) as balance,
           json_agg(json_build_object('month', month, 'vouchers', vouchers, 'balance', balance) order by month) as by_expiry,
           sum(vouchers_without_balance) as vouchers_without_balance, sum(paid_without_balance) as paid_without_balance
    from (
      select currency, date_trunc('month', expires_on::timestamp)::date as month, ${balanceSums(sql)}
      from days, stock
      where ${liveCondition(sql)} and (expires_on is null or expires_on >= coalesce(today, first)) ${condition}
      group by currency, month having sum(records) <> 0
    ) months group by currency
  ) currencies`

/**
 * Returns a query for a JSON array with one entry per number of days: the outstanding balances that expire within these
 * days.
 */
export const selectExpiringBalances = (sql: RecordSql, expiring: readonly number[]): Fragment => sql`
  select json_agg((${selectOutstanding(sql, sql`and expires_on <= coalesce(today, first) + within`)}) order by place)
  from unnest(${arrayText(expiring)}::text::integer[]) with ordinality as wanted (within, place)`

/**
 * Returns a query for the JSON of the vouchers and balances by status. Vouchers that are not valid yet are counted from
 * the records, because there are only a few.
 */
export const selectStatuses = (sql: RecordSql): Fragment => sql`
  select json_agg(json_build_object('status', status, 'vouchers', vouchers, 'remaining', remaining,
                  'share', coalesce(round(vouchers / nullif(total, 0), 6), 0)) order by place)
  from (
    select status, place, coalesce(sum(vouchers), 0) as vouchers, sum(sum(vouchers)) over () as total,
           coalesce(json_agg(json_build_object(${balanceMembers(sql)}) order by currency = '', currency collate "C")
                      filter (where is_live and vouchers <> 0), '[]') as remaining
    from unnest(${arrayText(voucherStatusNames)}::text::text[]) with ordinality as statuses (status, place)
    left join (
      select status, currency, ${liveCondition(sql)} as is_live, ${balanceSums(sql)}
      from (
        select case when state = 'void' then 'VOID' when not (${liveCondition(sql)}) then 'REDEEMED'
                    when expires_on < coalesce(today, first) then 'EXPIRED'
                    when state = 'part' then 'PART_REDEEMED' else 'REDEEMABLE' end as status, currency, state, records, balance, paid
        from days, stock
        union all
        select unnest(array['NOT_YET_VALID', case state when 'part' then 'PART_REDEEMED' else 'REDEEMABLE' end]),
               currency, state, unnest(array[1, -1]), unnest(array[balance, -balance]), unnest(array[paid, -paid])
        from today cross join lateral (
          select coalesce(currency, '') as currency, gateway.figure_state(state, current_balance) as state,
                 coalesce(current_balance, 0) as balance, coalesce(purchase_value, 0) as paid
          from gateway.voucher_entry entry cross join lateral (
            select currency, state, current_balance, purchase_value from gateway.voucher where id = entry.id offset 0
          ) record
          where tenant_id = today.id and date_valid_start > today.day and state in ('full', 'part') offset 0
        ) voucher
      ) stock
      group by status, currency, is_live
    ) counted using (status)
    group by status, place
  ) counts`
