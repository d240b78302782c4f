import type { Pool } from '../../src/db/sql.ts'

/** Raise it when the seeded data change: databases of another version are created again. */
export const seedVersion = 3

/** The numbers of records. Five of seven vouchers belong to the big tenant. */
export interface Size {
  products: number
  vouchers: number
  customers: number
}

export const sizes = {
  full: { products: 100_000, vouchers: 1_400_000, customers: 20_000 },
  short: { products: 1_000, vouchers: 14_000, customers: 1_000 },
} satisfies Record<string, Size>

export const tenants = 20
/** The tenant above all others. */
export const rootTenant = 1
/** The tenant that has most of the vouchers. */
export const bigTenant = 2

const categoriesOfTenant = 10
const batch = 100_000

/** Functions that give the same values in every run: a number below `size` from a row's number and a salt. */
const helpers = `
create function pg_temp.random_below(n bigint, salt bigint, size bigint) returns bigint
language sql immutable parallel safe return (hashint8extended(n, salt) % size + size) % size;

create function pg_temp.share(n bigint, salt bigint) returns double precision
language sql immutable parallel safe return pg_temp.random_below(n, salt, 1000000) / 1000000.0;

create function pg_temp.currency(tenant bigint) returns text
language sql immutable parallel safe
return case tenant when 18 then 'USD' when 19 then 'JPY' when 20 then 'KWD'
            else case tenant % 3 when 0 then 'EUR' else 'GBP' end end;

create function pg_temp.minor_unit_digits(tenant bigint) returns integer
language sql immutable parallel safe
return case pg_temp.currency(tenant) when 'JPY' then 0 when 'KWD' then 3 else 2 end;

-- Converts minor units of a tenant's currency into an amount.
create function pg_temp.money(minor bigint, tenant bigint) returns numeric
language sql immutable parallel safe
return round(minor::numeric / (10 ^ pg_temp.minor_unit_digits(tenant))::numeric, pg_temp.minor_unit_digits(tenant));

create function pg_temp.title(n bigint) returns text
language sql immutable parallel safe
return (array['Afternoon tea for two', 'Überraschungsmenü „Köln“', 'Chef''s "tasting" menu', '温泉ギフト券',
              'Spa day & massage', 'Dégustation à la française', 'Weekend <deluxe>', 'Cena per due, così com''è',
              'Back\\slash escape room', 'عشاء لشخصين', 'Monetary voucher'])[1 + n % 11] || ' ' || n;
create function pg_temp.slug(n bigint) returns text
language sql immutable parallel safe return 'gift-' || n;

-- Most records change soon after their creation, some much later.
create function pg_temp.changed(made timestamptz, n bigint) returns timestamptz
language sql immutable parallel safe
return case when pg_temp.random_below(n, 91, 50) = 0 then date_trunc('hour', made)
            when pg_temp.random_below(n, 92, 10) < 7 then made + pg_temp.share(n, 93) * interval '1 hour'
            else made + pg_temp.share(n, 94) ^ 3 * (timestamptz '2026-01-01' - made) end;`

/** SQL for the creation time of row `n`: the rows are spread evenly over two years. */
const createdAt = (count: number) => `timestamptz '2024-01-01' + (n::double precision / ${count}) * interval '730 days'`

const tenantRows = `
insert into public.tenant (id, parent_id, name, subdomain, type, time_zone, updated_at)
select n, case when n = ${rootTenant} then null when n < 8 then ${rootTenant} else 2 + n % 6 end,
       case n when ${rootTenant} then 'Gruppe Süd & Nord' else 'Maison “' || n || '”' end,
       case when n % 4 > 0 then 'maison-' || n end,
       case when n = ${rootTenant} then 'group' when n % 5 > 0 then 'venue' end,
       (array['Europe/London', 'Europe/Berlin', 'Asia/Tokyo', 'UTC'])[1 + n % 4],
       timestamptz '2024-01-01' + n * interval '1 day'
from generate_series(1, ${tenants}) n;
insert into public.category (id, tenant_id, slug, title, sort_order)
select n, 1 + (n - 1) / ${categoriesOfTenant}, 'category-' || n, 'Kategorie № ' || n, n % 5
from generate_series(1, ${tenants * categoriesOfTenant}) n;`

const productRows = ({ products }: Size) => `
insert into public.product
  (id, tenant_id, slug, title, summary, description_html, currency, price, sale_price, monetary_value, is_monetary,
   allow_part_redeem, validity_type, validity_months, redemption_info, sort_order, image_url, image_urls, updated_at)
select n, tenant, pg_temp.slug(n), pg_temp.title(n),
       case when n % 3 > 0 then 'A "gift" of ' || n || ' moments – für alle' end,
       case when n % 4 > 0 then '<p class="lead">' || repeat('Good food & wine, ', (2 + n % 6)::integer) || 'naïve café</p>' end,
       pg_temp.currency(tenant),
       case when n % 7 > 0 then pg_temp.money(1000 + 250 * pg_temp.random_below(n, 1, 60), tenant) end,
       case when n % 5 = 0 then pg_temp.money(999 + pg_temp.random_below(n, 2, 9000), tenant) end,
       case when n % 11 = 10 then pg_temp.money(5000, tenant) end,
       n % 11 = 10, n % 2 = 0,
       (array['months', 'fixed', null])[1 + n % 3], case when n % 3 = 0 then 12 end,
       case when n % 6 = 0 then E'Ring us:\\n+49 30 123456' end, n % 40,
       case when n % 5 > 0 then 'https://images.example/' || n || '/cover.jpg' end,
       array(select 'https://images.example/' || n || '/' || image || '.jpg' from generate_series(1, n % 4) image),
       pg_temp.changed(${createdAt(products)}, n)
from (select n, 1 + n % ${tenants} as tenant from generate_series(1, ${products}::bigint) n) one;

-- Two different categories of the product's own tenant.
insert into public.product_category (product_id, category_id)
select n, n % ${tenants} * ${categoriesOfTenant} + 1 + (n / ${tenants} + place * 3) % ${categoriesOfTenant}
from generate_series(1, ${products}::bigint) n, generate_series(0, 1) place;

insert into public.variant (id, product_id, slug, title, price, sale_price, currency, is_monetary, sort_order, updated_at)
select (n - 1) * 3 + place, n, pg_temp.slug(n) || '-' || place,
       (array['Für eine Person', 'For "two"', 'En famille'])[place],
       case when n % 9 > 0 then pg_temp.money(1500 + 500 * place + pg_temp.random_below(n, place, 100), tenant) end,
       case when (n + place) % 4 = 0 then pg_temp.money(1200 + 25 * place, tenant) end,
       pg_temp.currency(tenant), n % 11 = 10, (place * 2) % 3,
       pg_temp.changed(${createdAt(products)}, n)
from (select n, 1 + n % ${tenants} as tenant from generate_series(1, ${products}::bigint) n) one,
     generate_series(1, 3) place;`

const voucherRows = ({ products, vouchers }: Size) => `
insert into public.purchased_voucher
  (id, tenant_id, reference, qr_token, initial_balance, current_balance, purchase_value, currency, is_monetary,
   allow_part_redeem, void, order_id, order_item_id, product_id, product_title, product_slug, parent_product_id,
   parent_product_title, purchase_timestamp, date_issued, date_valid_start, date_valid_end, date_scheduled,
   redemption_status, void_reason, void_date, recipient_name, customer_name, created_at, updated_at)
select n, tenant, 'GV-' || upper(to_hex(n * 2654435761 % 4294967296)) || '-' || n,
       case when n % 2 = 0 then md5(n::text) end,
       pg_temp.money(minor, tenant),
       pg_temp.money(case n % 4 when 0 then 0 when 1 then minor / 2 else minor end, tenant),
       case when n % 10 > 0 then pg_temp.money(minor - n % 50, tenant) end,
       pg_temp.currency(tenant), product % 11 = 10, n % 3 > 0, n % 25 = 0,
       case when n % 12 > 0 then 5000000000 + n / 3 end, case when n % 12 > 0 then 7000000 + n end,
       case when n % 20 > 0 then product end, pg_temp.title(product), pg_temp.slug(product),
       case when n % 6 = 0 then 1 + product / 2 end, case when n % 6 = 0 then pg_temp.title(1 + product / 2) end,
       case when n % 12 > 0 then made - interval '90 seconds' end,
       case when n % 8 > 0 then date_trunc('second', made) end,
       case when n % 5 > 0 then made::date end, case when n % 13 = 0 then made::date + 100 when n % 9 > 0 then made::date + 10000 end,
       case when n % 15 = 0 then made + interval '3 days 7.000001 seconds' end,
       (array['redeemed', 'part_redeemed', 'unredeemed', 'unredeemed', null])[1 + n % 5],
       case when n % 50 = 0 then 'Ordered twice, says “Zoë”' when n % 25 = 0 then 'fraud' end,
       case when n % 25 = 0 then made + interval '10 minutes' end,
       case when n % 3 > 0 then (array['Zoë O''Neil', 'Łukasz', '田中 花子', 'Ana "Nita" Díaz'])[1 + n % 4] end,
       case when n % 7 > 0 then (array['Ben Ü.', 'Søren', 'Mary-Ann'])[1 + n % 3] end,
       made, pg_temp.changed(made, n)
from (
  select n, case when n % 7 < 5 then ${bigTenant} else (array[1,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20])[1 + pg_temp.random_below(n, 3, 19)] end as tenant,
         1 + pg_temp.random_below(n, 4, ${products}) as product,
         1000 + 500 * pg_temp.random_below(n, 5, 40) + case when n % 10 = 0 then pg_temp.random_below(n, 6, 99) else 0 end as minor,
         ${createdAt(vouchers)} as made
  from generate_series($1::bigint, $2::bigint) n
) one`

const customerRows = ({ customers }: Size) => `
insert into public.customer
  (id, tenant_id, email, marketing_opted, consented_at, consent_source, forename, surname, full_name, phone_number, created_at, updated_at)
select n, 1 + n % ${tenants}, 'customer-' || n || '@example.com', n % 8 > 0, case when n % 8 > 0 then made end,
       case when n % 8 > 0 then (array['checkout', 'Aktion „Mai“', null])[1 + n % 3] end,
       case when n % 4 > 0 then 'Zoë' end, case when n % 5 > 0 then 'O''Neil ' || n end,
       case when n % 3 = 0 then 'Zoë O''Neil ' || n end, case when n % 2 = 0 then '+49 30 ' || n end,
       made, pg_temp.changed(made, n)
from (select n, ${createdAt(customers)} as made from generate_series(1, ${customers}::bigint) n) one;`

const finish = `
select setval(pg_get_serial_sequence(name, 'id'), (select max(id) from purchased_voucher))
from unnest(array['public.tenant', 'public.category', 'public.product', 'public.variant', 'public.purchased_voucher',
                  'public.customer']) name;`

/**
 * Fills a migrated, empty database. The data are the same in every run.
 *
 * @param sql a single connection, because its settings and temporary functions belong to its session
 * @param log receives a line of progress now and then
 */
export async function seed(sql: Pool, size: Size, log: (progress: string) => void): Promise<void> {
  await sql`select set_config('gateway.keep_updated_at', 'on', false), set_config('synchronous_commit', 'off', false)`
  await sql.unsafe(helpers).simple()
  await sql.unsafe(tenantRows).simple()
  await sql.unsafe(productRows(size)).simple()
  await sql.unsafe(customerRows(size)).simple()
  log(`${size.products} products`)
  for (let first = 1; first <= size.vouchers; first += batch) {
    const last = Math.min(first + batch - 1, size.vouchers)
    await sql.unsafe(voucherRows(size), [first, last])
    log(`${last} of ${size.vouchers} vouchers`)
  }
  await sql.unsafe(finish).simple()
  await sql`vacuum (analyze)`
  await sql`checkpoint`
}
