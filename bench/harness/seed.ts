/** Fills the platform's plain tables with five years of a group of tenants. The data are the same in every run of a day. */
import type { Pool } from '../../src/db/sql.ts'
import { deletePassedNotes, makeStep } from '../../src/projection/step.ts'
import { logProgress } from './report.ts'

/** The numbers of rows. */
export interface Size {
  tenants: number
  products: number
  vouchers: number
  customers: number
}

export const sizes = {
  requests: { tenants: 20, products: 100_000, vouchers: 1_400_000, customers: 20_000 },
  short: { tenants: 20, products: 10_000, vouchers: 140_000, customers: 20_000 },
  searches: { tenants: 1_000, products: 20_000, vouchers: 2_500_000, customers: 300_000 },
  fairness: { tenants: 1_000, products: 20_000, vouchers: 160_000, customers: 20_000 },
  lag: { tenants: 1_000, products: 20_000, vouchers: 200_000, customers: 40_000 },
} satisfies Record<string, Size>

/**
 * Returns the ids of some tenants. The tree has one root, groups below the root, and leaves below the groups; in a
 * small tree the leaves are below the root. The leaves have the vouchers and the customers, and the first leaf has most
 * of both.
 */
export function treeOf({ tenants }: Size): { root: number; firstGroup: number; firstLeaf: number; last: number } {
  return { root: 1, firstGroup: 2, firstLeaf: 2 + Math.floor(tenants / 25), last: tenants }
}

const categoriesOfTenant = 10
const variantsOfProduct = 3
const batch = 100_000

/** SQL functions that compute values from the number of a row and a salt, the same values in every run. */
const helperFunctionsQuery = (size: Size) => {
  const { firstLeaf } = treeOf(size)
  const ofTenant = size.products / size.tenants
  return `
create function pg_temp.share(n bigint, salt bigint) returns double precision
language sql immutable parallel safe
return ((hashint8extended(n, salt) % 1000000 + 1000000) % 1000000) / 1000000.0;

-- The cumulative share of sales up to each day: growth, weekends, and a peak before Christmas.
create temporary table day as
select array_agg(until order by day) as limits
from (
  select day, sum(weight) over (order by day) / sum(weight) over () as until
  from generate_series(current_date - 1826, current_date - 1, interval '1 day') day
  cross join lateral (
    select (1 + 0.15 * (day::date - (current_date - 1826)) / 365.0)
           * case extract(isodow from day) when 5 then 1.3 when 6 then 1.6 when 7 then 1.2 else 1 end
           * case when extract(month from day) = 12 and extract(day from day) <= 24
                    then 1 + extract(day from day)::float / 4
                  when extract(month from day) in (5, 11) then 1.5 else 1 end as weight
  ) weights
) shares;

create function pg_temp.zone(tenant bigint) returns text
language sql immutable parallel safe
return (array['Europe/London', 'Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'Asia/Kolkata'])
       [case when tenant % 50 = 0 then 5 else 1 + (tenant / 10) % 4 end];

create function pg_temp.currency(tenant bigint) returns text
language sql immutable parallel safe return (array['GBP', 'EUR', 'USD', 'JPY'])[1 + (tenant / 10) % 4];

create function pg_temp.leaf(share double precision) returns bigint
language sql immutable parallel safe
return ${firstLeaf} + floor(${size.tenants - firstLeaf + 1} * share ^ ${size.tenants < 100 ? 9 : 2.5})::bigint;

create function pg_temp.product(tenant bigint, share double precision) returns bigint
language sql immutable parallel safe return (tenant - 1) * ${ofTenant} + 1 + floor(${ofTenant} * share ^ 2)::bigint;

create function pg_temp.title(product bigint) returns text
language sql immutable parallel safe
return (array['Gift', 'Überraschungs-gift „Köln“', 'Chef''s "tasting" gift', 'Gift 温泉ギフト券', 'Gift <deluxe> & more',
              'Back\\slash gift', 'Gift عشاء لشخصين'])[1 + product % 7] || ' ' || product;`
}

const insertTenantsQuery = (size: Size) => {
  const { root, firstGroup, firstLeaf } = treeOf(size)
  const group = firstLeaf > firstGroup ? `${firstGroup} + (n * 7) % ${firstLeaf - firstGroup}` : root
  return `
insert into public.tenant (id, parent_id, name, subdomain, type, time_zone)
select n, case when n >= ${firstLeaf} then ${group} when n >= ${firstGroup} then ${root} end, 'Tenant “' || n || '”',
       case when n % 4 > 0 then 'tenant-' || n end,
       case when n < ${firstLeaf} then 'group' when n % 5 > 0 then 'venue' end, pg_temp.zone(n)
from generate_series(1, ${size.tenants}) n;
insert into public.category (id, tenant_id, slug, title, sort_order)
select n, 1 + (n - 1) / ${categoriesOfTenant}, 'category-' || n, 'Kategorie № ' || n, n % 5
from generate_series(1, ${size.tenants * categoriesOfTenant}) n;`
}

const insertProductsQuery = ({ products, tenants }: Size) => `
insert into public.product
  (id, tenant_id, slug, title, summary, description_html, currency, price, sale_price, monetary_value, is_monetary,
   allow_part_redeem, validity_type, validity_months, redemption_info, sort_order, image_url, image_urls)
select n, tenant, 'gift-' || n, pg_temp.title(n), case when n % 3 > 0 then 'A "gift" of ' || n || ' moments – für alle' end,
       case when n % 4 > 0 then '<p class="lead">' || repeat('Good food & wine, ', (2 + n % 6)::integer) || 'naïve café</p>' end,
       pg_temp.currency(tenant),
       10 + n % 90 + case pg_temp.currency(tenant) when 'JPY' then 0 else (n % 4) / 4.0 end,
       case when n % 5 = 0 then 9 + n % 80 end, case when n % 10 = 0 then 50 end, n % 10 = 0, n % 2 = 0,
       (array['months', 'fixed', null])[1 + n % 3], case when n % 3 = 0 then 12 end,
       case when n % 6 = 0 then E'Ring us:\\n+49 30 123456' end, n % 40,
       case when n % 5 > 0 then 'https://images.example/' || n || '/cover.jpg' end,
       array(select 'https://images.example/' || n || '/' || image || '.jpg' from generate_series(1, n % 4) image)
from (select n, 1 + (n - 1) / ${products / tenants} as tenant from generate_series(1, ${products}::bigint) n) one;

insert into public.product_category (product_id, category_id)
select id, (tenant_id - 1) * ${categoriesOfTenant} + 1 + (id + place * 3) % ${categoriesOfTenant}
from public.product, generate_series(0, 1) place;

insert into public.variant (id, product_id, slug, title, price, sale_price, currency, is_monetary, sort_order)
select (id - 1) * ${variantsOfProduct} + place, id, slug || '-' || place,
       (array['Für eine Person', 'For "two"', 'En famille'])[place], case when id % 9 > 0 then 15 + 5 * place + id % 100 end,
       case when (id + place) % 4 = 0 then 12 + place end, currency, is_monetary, (place * 2) % 3
from public.product, generate_series(1, ${variantsOfProduct}) place;`

/** Vouchers are on the disk in the order of their purchase, as in the database of a real shop. */
const insertVouchersQuery = ({ vouchers }: Size) => `
insert into public.purchased_voucher
  (id, tenant_id, reference, qr_token, initial_balance, current_balance, purchase_value, currency, is_monetary,
   allow_part_redeem, void, order_id, order_item_id, product_id, product_title, product_slug, parent_product_id,
   parent_product_title, purchase_timestamp, date_issued, date_valid_start, date_valid_end, date_scheduled,
   redemption_status, void_reason, void_date, recipient_name, customer_name, created_at)
select n, tenant, 'REF-' || upper(to_hex(n * 7919)) || n % 10, case when n % 2 = 0 then md5(n::text) end, amount,
       case when redeemed then 0 when part then round(amount / 2) else amount end, amount, currency, n % 9 > 0, n % 8 > 0,
       void, 5000000000 + n / 2, case when n % 12 > 0 then 7000000 + n end,
       case when n % 3 = 0 then 1000000 + product else product end, pg_temp.title(product), 'gift-' || product,
       case when n % 3 = 0 then product end, case when n % 3 = 0 then pg_temp.title(product) end, bought,
       case when n % 8 > 0 then date_trunc('second', bought) end,
       case when scheduled then current_date + 1 + (n % 30)::integer when n % 4 > 0 then day end,
       case when n % 7 > 0 or scheduled then (day + case when n % 5 = 0 then interval '2 years' else interval '1 year' end)::date end,
       case when n % 15 = 0 then bought + interval '3 days 7.000001 seconds' end, case when redeemed then 'redeemed' end,
       case when void then 'Ordered twice, says “Zoë”' end, case when void then bought + interval '10 minutes' end,
       'Recipient ' || n % 50000, case when n % 7 > 0 then (array['Ben Ü.', 'Søren O''Neil', '田中 花子'])[1 + n % 3] end, bought
from (
  select *, pg_temp.share(n, 5) < least(0.7, age / 500.0) as redeemed, pg_temp.share(n, 6) < 0.15 as part,
         pg_temp.share(n, 7) < 0.02 as void, age < 20 and n % 10 = 0 as scheduled,
         case when currency = 'JPY' then 1000 * (1 + n % 20) else 10 + 5 * (n % 40) end::numeric as amount,
         (day + interval '8 hours' + pg_temp.share(n, 4) * interval '14 hours') at time zone pg_temp.zone(tenant) as bought
  from (
    select *, current_date - day as age, case when product % 20 = 0 then 'EUR' else pg_temp.currency(tenant) end as currency
    from (
      select n, tenant, current_date - 1826 + width_bucket((n - 1) / ${vouchers}::float, limits) as day,
             pg_temp.product(tenant, pg_temp.share(n, 3)) as product
      from (select n, pg_temp.leaf(pg_temp.share(n, 1)) as tenant from generate_series($1::bigint, $2::bigint) n) drawn, day
    ) placed
  ) dated
) stated`

const insertCustomersQuery = `
insert into public.customer
  (id, tenant_id, email, marketing_opted, consented_at, consent_source, forename, surname, full_name, phone_number, created_at)
select n, pg_temp.leaf(pg_temp.share(n, 11)), 'customer-' || n || '@example.com', pg_temp.share(n, 12) < 0.85, at,
       case when n % 50 > 0 then 'checkout' end, case when n % 4 = 0 then 'Zoë' end, case when n % 5 = 0 then 'O''Neil ' || n end,
       case when n % 20 > 0 then 'Customer ' || n end, case when n % 2 = 0 then '+49 30 ' || n end, at
from (
  select n, current_date - (1 + pg_temp.share(n, 13) ^ 1.3 * 1825) * interval '1 day' as at
  from generate_series($1::bigint, $2::bigint) n
) drawn`

const setSequencesQuery = `
select setval(pg_get_serial_sequence(name, 'id'), (select count(*) from purchased_voucher))
from unnest(array['public.tenant', 'public.category', 'public.product', 'public.variant', 'public.purchased_voucher',
                  'public.customer']) name`

/**
 * Fills the tables of a migrated, empty database.
 *
 * @param sql a single connection, because its settings and temporary functions belong to its session
 */
export async function seed(sql: Pool, size: Size): Promise<void> {
  await sql`select set_config('synchronous_commit', 'off', false), set_config('jit', 'off', false)`
  for (const part of [helperFunctionsQuery, insertTenantsQuery, insertProductsQuery])
    await sql.unsafe(part(size)).simple()
  const inserts = [
    ['vouchers', insertVouchersQuery(size)],
    ['customers', insertCustomersQuery],
  ] as const
  for (const [name, statement] of inserts) {
    for (let first = 1; first <= size[name]; first += batch) {
      const last = Math.min(first + batch - 1, size[name])
      await sql.unsafe(statement, [first, last])
      if (last % 500_000 === 0 || last === size[name]) logProgress(`${last.toLocaleString('en')} ${name}`)
    }
  }
  await sql.unsafe(setSequencesQuery)
  await sql`vacuum (analyze)`
  await sql`checkpoint`
}

/** Fills the tables of a migrated, empty database, and makes their records. */
export async function seedRecords(sql: Pool, size: Size): Promise<void> {
  await seed(sql, size)
  await makeRecords(sql)
}

/** Makes the steps that write all records. */
export async function makeRecords(sql: Pool): Promise<void> {
  for (let more: boolean | null = true; more; ) more = await makeStep(sql)
  await deletePassedNotes(sql)
  await sql`vacuum (analyze)`
  await sql`checkpoint`
  logProgress('made the records')
}
