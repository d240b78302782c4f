-- The tables of a shop system with one store. Keys are texts, deleted rows stay with a time, a region sets the
-- currency, and orders sell gift cards.
create table store (id text primary key, name text not null, default_currency_code text not null default 'usd');
create table region (id text primary key, name text not null, currency_code char(3) not null);
create table customer (id text primary key, email text not null, first_name text, last_name text, phone text,
  created_at timestamptz not null default now(), deleted_at timestamptz);
create type product_status as enum ('draft', 'published');
create table product (id text primary key, title text not null, subtitle text, description text, handle text, is_giftcard boolean not null,
  status product_status not null default 'published',
  thumbnail text, created_at timestamptz not null default now(), deleted_at timestamptz);
create table product_variant (id text primary key, product_id text not null references product, title text not null, sku text,
  variant_rank integer, deleted_at timestamptz);
create table product_category (id text primary key, name text not null, handle text not null, rank integer not null default 0);
create table product_category_product (product_category_id text references product_category, product_id text references product,
  primary key (product_category_id, product_id));
create table "order" (id text primary key, customer_id text not null references customer, region_id text not null references region,
  currency_code text not null);
create table gift_card (id text primary key, code text not null unique, value integer not null, balance integer not null,
  region_id text not null references region, order_id text references "order", is_disabled boolean not null default false,
  ends_at timestamptz, created_at timestamptz not null default now(), deleted_at timestamptz);
create table gift_card_transaction (id text primary key, gift_card_id text not null references gift_card, amount integer not null);
create table "user" (id text primary key, email text not null, created_at timestamptz not null default now());
