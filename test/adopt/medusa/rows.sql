-- The data of one year in the shop of a hotel. At its first start, Medusa has written the store, countries and
-- currencies.
update store set name = 'Lakeside Hotel', default_currency_code = 'eur';
insert into "user" (id, email, api_token) values ('usr_1', 'shop@example.com', 'admin');

insert into region (id, name, currency_code, tax_rate) values
  ('reg_eu', 'Europe', 'eur', 0), ('reg_jp', 'Japan', 'jpy', 0), ('reg_kw', 'Kuwait', 'kwd', 0);
update country set region_id = case iso_2 when 'jp' then 'reg_jp' when 'kw' then 'reg_kw' else 'reg_eu' end
where iso_2 in ('de', 'at', 'jp', 'kw');
insert into region_payment_providers select id, 'manual' from region;

insert into product_category (id, name, handle, mpath, is_active, rank)
select 'pcat_' || n, 'Category ' || n, 'category-' || n, 'pcat_' || n || '.', n < 6, n from generate_series(0, 6) n;

-- Twenty products that are gift cards, and goods that customers pay for with gift cards.
insert into product (id, title, subtitle, description, handle, is_giftcard, status, thumbnail, metadata)
select 'prod_' || n, case when n <= 20 then 'Gift card ' else 'Towel ' end || n, 'A present', repeat('A long text. ', 50), 'product-' || n,
       n <= 20, case n when 20 then 'draft' else 'published' end::product_status_enum, 'https://img.example/' || n || '.jpg',
       case when n % 2 = 0 then '{"validity_months": 36}'::jsonb end
from generate_series(1, 40) n;
insert into product_sales_channel select product.id, sales_channel.id from product cross join sales_channel;
insert into product_category_product
select 'pcat_' || n % 7, 'prod_' || n from generate_series(1, 40) n union select 'pcat_0', 'prod_' || n from generate_series(1, 40) n;
insert into image (id, url) select 'img_' || n, 'https://img.example/large/' || n || '.jpg' from generate_series(1, 40) n;
insert into product_images select 'prod_' || n, 'img_' || n from generate_series(1, 40) n;
insert into product_variant (id, title, product_id, sku, inventory_quantity, manage_inventory, variant_rank)
select 'variant_' || n || '_' || v, v * 25 || '', 'prod_' || n, 'SKU-' || n || '-' || v, 0, false, v
from generate_series(1, 40) n cross join generate_series(1, 4) v;
-- The amounts are in minor units, so 2500 means 25.00 EUR, 2500 JPY or 2.500 KWD.
insert into money_amount (id, currency_code, amount)
select 'ma_' || code || '_' || variant.id, code, 2500 * variant_rank
from product_variant variant cross join unnest(array['eur', 'jpy', 'kwd']) code;
insert into product_variant_money_amount (id, money_amount_id, variant_id)
select 'pvma_' || substr(price.id, 4), price.id, substr(price.id, 8) from money_amount price;

insert into customer (id, email, first_name, last_name, phone, has_account, metadata, created_at)
select 'cus_' || n, 'guest' || n || '@example.com', 'First' || n, 'Last' || n, '+49 89 ' || n, n % 3 = 0,
       case when n % 4 = 0 then '{"newsletter": true, "newsletter_at": "2026-03-01T10:00:00Z"}'::jsonb end,
       now() - n % 365 * interval '1 day'
from generate_series(1, 2000) n;
insert into address (id, customer_id, address_1, city, country_code, postal_code)
select 'addr_' || n, 'cus_' || n, 'Street ' || n, 'Town', (array['de', 'at', 'jp', 'kw'])[1 + n % 4], '80331'
from generate_series(1, 2000, 2) n;
update customer set billing_address_id = address.id from address where address.customer_id = customer.id;

-- Each order has one item: one gift card, or two gift cards of the same product.
insert into "order" (id, status, payment_status, customer_id, email, region_id, currency_code, sales_channel_id, created_at)
select 'order_' || n, case when n % 100 = 0 then 'canceled' else 'completed' end::order_status_enum, 'captured', 'cus_' || 1 + n % 2000,
       'guest' || 1 + n % 2000 || '@example.com', region.id, currency_code, default_sales_channel_id, now() - n % 365 * interval '1 day'
from generate_series(1, 4000) n
join region on region.id = case n % 10 when 8 then 'reg_jp' when 9 then 'reg_kw' else 'reg_eu' end
cross join store;
insert into line_item (id, order_id, title, is_giftcard, unit_price, variant_id, quantity)
select 'item_' || n, 'order_' || n, 'Gift card ' || 1 + n % 19, true, 2500, 'variant_' || 1 + n % 19 || '_1', 1 + n % 2
from generate_series(1, 4000) n;
insert into gift_card (id, code, value, balance, region_id, order_id, is_disabled, ends_at, created_at)
select 'gift_' || substr(item.id, 6) || '_' || copy, upper(substr(md5(item.id || copy), 1, 16)), unit_price,
       case when right(item.id, 1) = '3' then 500 else unit_price end, region_id, order_id, item.id like '%50', "order".created_at + interval '3 years',
       "order".created_at
from line_item item join "order" on "order".id = order_id cross join generate_series(1, quantity) copy;
insert into gift_card_transaction (id, gift_card_id, order_id, amount)
select 'gct_' || substr(id, 6), id, order_id, value - balance from gift_card where balance < value;
-- A card that was given away without an order, a card that never expires, and a deleted card.
insert into gift_card (id, code, value, balance, region_id, ends_at, deleted_at) values
  ('gift_free', 'FREE', 5000, 5000, 'reg_eu', null, null),
  ('gift_ever', 'EVER', 5000, 5000, 'reg_eu', 'infinity', null),
  ('gift_gone', 'GONE', 5000, 5000, 'reg_eu', null, now());
analyze;
