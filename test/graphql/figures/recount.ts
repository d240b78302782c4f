/** Counts figures from single records: slowly, but with simple queries that are easy to check. */
import { arrayText, type Pool } from '../../../src/db/sql.ts'
import type { Days } from '../../../src/domain/figures/period.ts'

const withoutBalance = (condition: string) => `
  json_build_object('vouchers', count(*) filter (where current_balance is null and ${condition}),
                    'paid', coalesce(sum(purchase_value) filter (where current_balance is null and ${condition}), 0))
    as "withoutBalance"`

const sales = `
  count(*) filter (where not void)::integer as vouchers,
  coalesce(sum(initial_balance) filter (where not void), 0) as value,
  coalesce(sum(purchase_value) filter (where not void), 0) as paid,
  coalesce(sum(coalesce(initial_balance, 0) - coalesce(current_balance, 0)) filter (where not void), 0) as redeemed,
  count(*) filter (where void)::integer as voided, ${withoutBalance('not void')}`

/** The query of all vouchers with their status and the current day in the time zone of their tenant. */
const withStatus = `
  select voucher.*, today,
         case when void then 'VOID' when lower(redemption_status) = 'redeemed' or current_balance <= 0 then 'REDEEMED'
              when date_valid_end < today then 'EXPIRED' when date_valid_start > today then 'NOT_YET_VALID'
              when current_balance < initial_balance then 'PART_REDEEMED' else 'REDEEMABLE' end as status
  from purchased_voucher voucher
  join (select id, (now() at time zone time_zone)::date as today from tenant) tenant on tenant.id = tenant_id`

const isOutstanding = `status not in ('VOID', 'REDEEMED', 'EXPIRED')`

/** Returns functions that count the records of these tenants. */
export function createRecount(sql: Pool, tenants: readonly number[]) {
  const ids = `'${arrayText(tenants)}'::bigint[]`
  const read = async <Row extends object>(text: string): Promise<Row[]> => [...(await sql.unsafe<Row[]>(text))]
  const each = (intervals: readonly Days[]) => `
    unnest('${arrayText(intervals.map(({ from }) => from))}'::date[],
           '${arrayText(intervals.map(({ to }) => to))}'::date[]) with ordinality as i (from_day, to_day, place)`
  return {
    async periods(intervals: readonly Days[], zone: string) {
      const rows = await read<{ place: number; currency: string | null }>(`
        select place, currency, ${sales} from ${each(intervals)}
        join (select *, (purchase_timestamp at time zone '${zone}')::date as day from purchased_voucher
              where tenant_id = any(${ids}) offset 0) voucher on day between from_day and to_day
        group by place, currency order by place, currency`)
      return intervals.map(({ from, to }, index) => ({
        from,
        to,
        sales: rows.filter(({ place }) => place === index + 1).map(({ place, ...figure }) => figure),
      }))
    },

    totals: ({ from, to }: Days, zone: string) =>
      read(`
        select currency, ${sales} from purchased_voucher
        where tenant_id = any(${ids}) and (purchase_timestamp at time zone '${zone}')::date between '${from}' and '${to}'
        group by currency order by currency`),

    products: ({ from, to }: Days, zone: string, order: string, condition = 'true') =>
      read<{ currency: string | null }>(`
        select coalesce(parent_product_id, product_id) as "productId", currency, count(*)::integer as vouchers,
               coalesce(sum(purchase_value), 0) as paid, coalesce(sum(initial_balance), 0) as value
        from purchased_voucher
        where tenant_id = any(${ids}) and (purchase_timestamp at time zone '${zone}')::date between '${from}' and '${to}'
          and not void and coalesce(parent_product_id, product_id) is not null and ${condition}
        group by 1, 2 order by ${order}`),

    async outstanding(condition = 'true') {
      const rows = await read<{ currency: string | null; month: string | null; vouchers: number; balance: number }>(`
        select currency, date_trunc('month', date_valid_end::timestamp)::date as month, count(*)::integer as vouchers,
               coalesce(sum(current_balance), 0) as balance
        from (${withStatus}) stated where tenant_id = any(${ids}) and ${isOutstanding} and ${condition}
        group by 1, 2 order by 1, 2`)
      const without = await read<{ currency: string | null; withoutBalance: object }>(`
        select currency, ${withoutBalance('true')}
        from (${withStatus}) stated where tenant_id = any(${ids}) and ${isOutstanding} and ${condition} group by 1`)
      const add = (numbers: number[]) => numbers.reduce((sum, number) => sum + number, 0)
      return [...new Set(rows.map(({ currency }) => currency))].map(currency => {
        const byExpiry = rows.filter(row => row.currency === currency).map(({ currency: _, ...figure }) => figure)
        const vouchers = add(byExpiry.map(row => row.vouchers))
        const { withoutBalance } = without.find(row => row.currency === currency) ?? {}
        return { currency, vouchers, balance: add(byExpiry.map(row => row.balance)), byExpiry, withoutBalance }
      })
    },

    /** Counts the vouchers by status and currency, and sums up their balances. */
    status: () =>
      read<{ status: string; currency: string | null; vouchers: number; balance: number; withoutBalance: object }>(`
        select status, currency, count(*)::integer as vouchers, coalesce(sum(current_balance), 0) as balance,
               ${withoutBalance('true')}
        from (${withStatus}) stated where tenant_id = any(${ids}) group by 1, 2 order by 1, 2`),

    consents(intervals: readonly Days[], zone: string) {
      const counted = (table: string, column: string, condition: string) => `
        (select count(day)::integer as count, place from ${each(intervals)}
         left join (select (${column} at time zone '${zone}')::date as day from ${table}
                    where tenant_id = any(${ids}) and ${condition} offset 0) counted on day between from_day and to_day
         group by place)`
      return read(`
        select from_day as from, to_day as to, given.count as given, withdrawn.count as withdrawn
        from ${each(intervals)}
        join ${counted('customer', 'consented_at', 'true')} given using (place)
        join ${counted('gateway.removal', 'updated_at', "reason = 'consent_withdrawn'")} withdrawn using (place)
        order by place`)
    },
  }
}
