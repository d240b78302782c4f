/** A tree of tenants in several time zones, with records whose instants lie around the boundaries of days. */
import type { Pool } from '../../../src/db/sql.ts'

export const tenants: readonly [id: number, parent: number | null, zone: string][] = [
  [1, null, 'Europe/Berlin'],
  [2, 1, 'UTC'],
  [3, 1, 'Asia/Kolkata'],
  [4, 2, 'America/Havana'],
  [5, 2, 'Pacific/Kiritimati'],
  [6, 3, 'Pacific/Pago_Pago'],
  [7, 3, 'Australia/Lord_Howe'],
  [8, 6, 'America/New_York'],
  [9, null, 'Europe/London'],
]

/**
 * Days on which clocks change at midnight or a zone skipped a day, days of a zone without standard time, and other
 * days.
 */
const days = '1971-12-31 2011-12-30 2024-03-10 2024-11-03 2024-04-07 2024-10-06 2024-02-29 2024-12-31 2023-06-15'.split(
  ' ',
)

/** Fills a database with the same records in every run, except for the records around today. */
export const fillWorld = (sql: Pool) =>
  sql
    .unsafe(`
  insert into tenant (id, parent_id, name, time_zone)
  values ${tenants.map(([id, parent, zone]) => `(${id}, ${parent}, 'Tenant ${id}', '${zone}')`).join(', ')};
  insert into product (id, tenant_id, slug, title, currency)
  select n, 1 + n % 9, 'product-' || n, 'Product ' || n, 'GBP' from generate_series(1, 12) n;
  insert into purchased_voucher (tenant_id, reference, currency, initial_balance, current_balance, purchase_value, void,
                                 redemption_status, product_id, parent_product_id, product_title, purchase_timestamp,
                                 date_valid_start, date_valid_end)
  select 1 + n % 9, 'FIG-' || n, currency, balance, case n % 4 when 0 then 0 * balance when 1 then balance / 2 else balance end,
         amount, n % 11 = 0, case when n % 13 = 0 then 'Redeemed' end,
         case when n % 17 > 0 then 1 + n % 15 end, case when n % 6 = 0 then 1 + n % 12 end, 'Sold ' || n % 15,
         case when n % 29 > 0 then at end,
         case when n % 8 = 0 then current_date + (n % 7 - 3) end, case when n % 5 > 0 then current_date + (n % 90 - 3) end
  from (
    select *, case when n % 7 > 0 then amount end as balance
    from (
    select n, case when n % 19 = 0 then null else (array['GBP', 'EUR', 'JPY'])[1 + n % 3] end as currency,
           case when n % 19 > 0 then 10 * (1 + n % 30) end as amount,
           ((array['${days.join("','")}'])[1 + n % ${days.length}]::timestamp + (n % 97 - 48) * interval '31 minutes')
             at time zone (array['UTC', 'Asia/Kolkata', 'America/Havana', 'Asia/Kathmandu', 'Pacific/Apia', 'Africa/Monrovia'])[1 + n % 6]
           - (n % 2) * interval '1 microsecond' as at
    from generate_series(1, 2500) n
    ) sold
  ) drawn
  where n % 90 - 3 >= n % 7 - 3;
  insert into customer (tenant_id, email, marketing_opted, consented_at)
  select tenant_id, 'customer-' || id || '@example.com', id % 3 > 0, purchase_timestamp
  from purchased_voucher where id % 4 = 0;
  update customer set marketing_opted = false where id % 10 = 1`)
    .simple()
