/** The data of the benchmark of figures: five years of a group of tenants. */
import type { Pool } from '../../src/db/sql.ts'

/** Raise it when the seeded data change: databases of another version are created again. */
export const seedVersion = 4

/** The numbers of records. */
export interface Size {
  vouchers: number
  customers: number
}

export const sizes = {
  full: { vouchers: 5_000_000, customers: 1_000_000 },
  short: { vouchers: 20_000, customers: 4_000 },
} satisfies Record<string, Size>

/** One root, groups below it, and leaves below the groups. Leaves have all records, the first ones most of them. */
export const tree = { tenants: 1000, root: 1, firstGroup: 2, firstLeaf: 42 }

const leaves = tree.tenants - tree.firstLeaf + 1
const productsOfTenant = 20
const batch = 250_000

/** Functions that give the same values in every run, from a row's number and a salt. */
const helpers = `
create function pg_temp.share(n bigint, salt bigint) returns double precision
language sql immutable parallel safe
return ((hashint8extended(n, salt) % 1000000 + 1000000) % 1000000) / 1000000.0;

-- The cumulative share of sales up to each day: growth, weekends, and a peak before Christmas.
create table bench_day as
select day::date, sum(weight) over (order by day) / sum(weight) over () as until
from generate_series(current_date - 1826, current_date - 1, interval '1 day') day
cross join lateral (
  select (1 + 0.15 * (day::date - (current_date - 1826)) / 365.0)
         * case extract(isodow from day) when 5 then 1.3 when 6 then 1.6 when 7 then 1.2 else 1 end
         * case when extract(month from day) = 12 and extract(day from day) <= 24
                  then 1 + extract(day from day)::float / 4
                when extract(month from day) in (5, 11) then 1.5 else 1 end as weight
) weights;

create function pg_temp.zone(tenant bigint) returns text
language sql immutable parallel safe
return (array['Europe/London', 'Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'Asia/Kolkata'])
       [case when tenant % 50 = 0 then 5 else 1 + (tenant / 10) % 4 end];

create function pg_temp.leaf(share double precision) returns bigint
language sql immutable parallel safe return ${tree.firstLeaf} + floor(${leaves} * share ^ 2.5)::bigint;`

const tenantRows = `
insert into public.tenant (id, parent_id, name, type, time_zone)
select n, case when n >= ${tree.firstLeaf} then ${tree.firstGroup} + (n * 7) % ${tree.firstLeaf - tree.firstGroup}
               when n >= ${tree.firstGroup} then ${tree.root} end,
       'Tenant ' || n, case when n >= ${tree.firstLeaf} then 'venue' else 'group' end, pg_temp.zone(n)
from generate_series(1, ${tree.tenants}) n;
select setval(pg_get_serial_sequence('public.tenant', 'id'), ${tree.tenants});

insert into public.product (id, tenant_id, slug, title, currency, price, is_monetary)
select n, 1 + (n - 1) / ${productsOfTenant}, 'gift-' || n, 'Gift ' || n, 'GBP', 10 + n % 90, n % 10 = 0
from generate_series(1, ${tree.tenants * productsOfTenant}) n;
select setval(pg_get_serial_sequence('public.product', 'id'), ${tree.tenants * productsOfTenant});`

// Vouchers lie on the disk in the order of their purchase, as in a shop that sells them.
const voucherRows = (total: number) => (from: number, to: number) =>
  `
insert into public.purchased_voucher
  (id, tenant_id, reference, initial_balance, current_balance, purchase_value, currency, is_monetary, allow_part_redeem,
   void, order_id, product_id, product_title, product_slug, parent_product_id, purchase_timestamp, date_issued,
   date_valid_start, date_valid_end, redemption_status, recipient_name, created_at, updated_at)
select n, tenant, 'REF-' || upper(to_hex(n * 7919)) || n % 10, amount,
       case when redeemed then 0 when part then round(amount / 2) else amount end, amount, currency, true, true,
       pg_temp.share(n, 7) < 0.02, 1 + n / 2, case when n % 3 = 0 then 1000000 + product else product end,
       'Gift ' || product, 'gift-' || product, case when n % 3 = 0 then product end, bought, bought,
       case when scheduled then current_date + 1 + (n % 30)::integer when n % 4 > 0 then day end,
       case when n % 7 > 0 or scheduled then (day + case when n % 5 = 0 then interval '2 years' else interval '1 year' end)::date end,
       case when redeemed then 'redeemed' end, 'Recipient ' || n % 50000, bought,
       bought + pg_temp.share(n, 8) * interval '1 hour'
from (
  select n, tenant, day, amount, currency, product, bought, age,
         pg_temp.share(n, 5) < least(0.7, age / 500.0) as redeemed,
         pg_temp.share(n, 6) < 0.15 as part,
         age < 20 and n % 10 = 0 as scheduled
  from (
    select n, tenant, day, current_date - day as age,
           case when currency = 'JPY' then 1000 * (1 + n % 20) else 10 + 5 * (n % 40) end::numeric as amount, currency, product,
           (day + interval '8 hours' + pg_temp.share(n, 4) * interval '14 hours') at time zone pg_temp.zone(tenant) as bought
    from (
      select n, tenant, current_date - 1826 + place as day, product,
             case when product % 20 = 0 then 'EUR' else (array['GBP', 'EUR', 'USD', 'JPY'])[1 + (tenant / 10) % 4] end as currency
      from (
        select n, tenant, place,
               (tenant - 1) * ${productsOfTenant} + 1 + floor(${productsOfTenant} * pg_temp.share(n, 3) ^ 2)::bigint as product
        from (
          select n, pg_temp.leaf(pg_temp.share(n, 1)) as tenant, width_bucket((n - 1) / ${total}::float, limits) as place
          from generate_series(${from}::bigint, ${to}) n, (select array_agg(until order by day) as limits from bench_day) days
        ) drawn
      ) chosen
    ) placed
  ) valued
) stated;`

const customerRows = (from: number, to: number) => `
insert into public.customer (id, tenant_id, email, marketing_opted, consented_at, consent_source, full_name, created_at, updated_at)
select n, pg_temp.leaf(pg_temp.share(n, 11)), 'customer-' || n || '@example.com', opted, at, 'checkout', 'Customer ' || n, at, at
from (
  select n, pg_temp.share(n, 12) < 0.85 as opted,
         current_date - (1 + pg_temp.share(n, 13) ^ 1.3 * 1825) * interval '1 day' as at
  from generate_series(${from}::bigint, ${to}) n
) drawn;`

/**
 * Fills a migrated database.
 *
 * @param sql one connection, so that its temporary functions stay
 * @param progress receives messages about the progress
 */
export async function seed(sql: Pool, size: Size, progress: (text: string) => void): Promise<void> {
  const run = (text: string) => sql.unsafe(text).simple()
  await run(`set synchronous_commit = off; set jit = off; set maintenance_work_mem = '1GB'; set work_mem = '256MB'`)
  await run(helpers)
  const enableTriggers = await disableTriggers(sql)
  const indexes = await sql<{ name: string; definition: string }[]>`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
    where indrelid in ('public.purchased_voucher'::regclass, 'public.customer'::regclass)`
  const secondary = indexes.filter(({ name }) => !name.endsWith('_pkey'))
  for (const { name } of secondary) await run(`drop index ${name}`)
  await run(tenantRows)
  await insertBatches(run, size.vouchers, voucherRows(size.vouchers), count => progress(`${count} vouchers`))
  await insertBatches(run, size.customers, customerRows, count => progress(`${count} customers`))
  await run(`select setval(pg_get_serial_sequence('public.purchased_voucher', 'id'), ${size.vouchers});
             select setval(pg_get_serial_sequence('public.customer', 'id'), ${size.customers})`)
  for (const { definition } of secondary) await run(definition)
  await run(enableTriggers)
  await run('drop table bench_day')
  progress('indexes')
  await run('vacuum (analyze)')
  progress('statistics')
}

async function insertBatches(
  run: (text: string) => Promise<unknown>,
  count: number,
  rows: (from: number, to: number) => string,
  progress: (count: number) => void,
): Promise<void> {
  for (let from = 1; from <= count; from += batch) {
    const to = Math.min(count, from + batch - 1)
    await run(rows(from, to))
    progress(to)
  }
}

/** Disables the triggers of the platform's tables. @returns the statements that enable each as it was */
async function disableTriggers(sql: Pool): Promise<string> {
  const modes: Record<string, string> = { O: 'enable', A: 'enable always', R: 'enable replica' }
  const triggers = await sql<{ table: string; name: string; mode: string }[]>`
    select tgrelid::regclass::text as table, quote_ident(tgname) as name, tgenabled::text as mode from pg_trigger
    join pg_class on pg_class.oid = tgrelid where relnamespace = 'public'::regnamespace and tgenabled <> 'D'`
  for (const table of new Set(triggers.map(({ table }) => table))) {
    await sql.unsafe(`alter table ${table} disable trigger all`).simple()
  }
  return triggers.map(({ table, name, mode }) => `alter table ${table} ${modes[mode]} trigger ${name};`).join('\n')
}
