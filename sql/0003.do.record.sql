-- Records: what the service serves, with exactly v1's fields and rules. Steps alone write them (0008).
--
-- The fields of a type are a table that stays empty; the records are a table that inherits them and adds the stamp, and the
-- values that searches compare. So the row of a record can be compared with what its source gives.

-- Indexes of texts by their trigrams, together with the tenant. An owner of the database may create both extensions.
do $$
declare
  extension text;
begin
  for extension in select unnest(array['pg_trgm', 'btree_gin']) except select extname from pg_extension loop
    execute format($sql$create extension %I; comment on extension %1$I is 'Created by the gateway'$sql$, extension);
  end loop;
exception
  when feature_not_supported or undefined_file then
    raise exception 'The extension % is not installed on the server.', extension
      using errcode = 'feature_not_supported',
            hint = 'Let an administrator of the server install the package of PostgreSQL''s additional modules: on Debian it '
                   'is part of postgresql, elsewhere it is often called postgresql-contrib.';
  when insufficient_privilege then
    raise exception 'The extension % is missing, and % may not create it.', extension, quote_ident(current_user)
      using errcode = 'insufficient_privilege',
            hint = format('Let an administrator of the database run: create extension %I;', extension);
end $$;

-- The types of records. A step evaluates them in this order: each refers to earlier ones only.
create type gateway.record_type as enum ('tenant', 'category', 'variant', 'product', 'voucher', 'customer');

-- The ids of keys that are no integers: v1 has integers alone (R14). They stay, also when the record is deleted.
create table gateway.identity (
  kind text,   -- A type of record, or `order` or `order_item`.
  key  text,   -- In the source.
  id   bigint not null unique generated always as identity,
  primary key (kind, key)
);

-- Columns with a default need not be in a mapping.
create table gateway.tenant_fields (
  id         bigint not null,
  parent_id  bigint,
  name       text not null,
  subdomain  text,
  type       text,
  time_zone  text not null default 'UTC'
);
create table gateway.tenant (primary key (id), updated_at timestamptz not null) inherits (gateway.tenant_fields);
create index tenant_list on gateway.tenant (updated_at, id);
create index tenant_parent on gateway.tenant (parent_id);

create table gateway.tenant_path (
  tenant_id bigint primary key,
  path      bigint[] not null -- Its id, then those of the tenants above it. A loop or an unknown tenant ends it.
);

create table gateway.category_fields (
  id         bigint not null,
  tenant_id  bigint not null,
  slug       text not null,
  title      text not null,
  sort_order integer not null default 0
);
create table gateway.category (primary key (id), updated_at timestamptz not null) inherits (gateway.category_fields);

create table gateway.variant_fields (
  id          bigint not null,
  product_id  bigint not null,
  slug        text not null,
  title       text not null,
  price       numeric,
  sale_price  numeric,
  currency    text not null,
  is_monetary boolean not null default false,
  sort_order  integer not null default 0
);
create table gateway.variant (primary key (id), updated_at timestamptz not null) inherits (gateway.variant_fields);
create index variant_product on gateway.variant (product_id, sort_order, id);

create table gateway.product_fields (
  id                bigint not null,
  tenant_id         bigint not null,
  slug              text not null,
  title             text not null,
  summary           text,
  description_html  text,
  currency          text not null,
  price             numeric,
  sale_price        numeric,
  monetary_value    numeric,
  is_monetary       boolean not null default false,
  allow_part_redeem boolean not null default false,
  validity_type     text,
  validity_months   integer,
  redemption_info   text,
  sort_order        integer not null default 0,
  image_url         text,
  image_urls        text[] not null default '{}',
  category_ids      bigint[] not null default '{}',
  content           text not null -- A digest of its categories and variants: a change of one changes this record (R22).
);
create table gateway.product (primary key (id), updated_at timestamptz not null) inherits (gateway.product_fields);

create table gateway.voucher_fields (
  id                   bigint not null,
  tenant_id            bigint not null,
  reference            text not null,
  qr_token             text,
  initial_balance      numeric,
  current_balance      numeric,
  purchase_value       numeric,
  currency             text,
  is_monetary          boolean not null default false,
  allow_part_redeem    boolean not null default false,
  void                 boolean not null default false,
  order_id             bigint,
  order_item_id        bigint,
  product_id           bigint,
  product_title        text,
  product_slug         text,
  parent_product_id    bigint,
  parent_product_title text,
  purchase_timestamp   timestamptz,
  date_issued          timestamptz,
  date_valid_start     date,
  date_valid_end       date,
  date_scheduled       timestamptz,
  redemption_status    text,
  void_reason          text,
  void_date            timestamptz,
  recipient_name       text,
  created_at           timestamptz not null
);

-- Returns the part of a voucher's status that does not depend on the day: `void`, `redeemed`, `part` or `full` (R25).
create function gateway.voucher_state(void boolean, redemption_status text, initial_balance numeric, current_balance numeric)
returns text
language sql immutable parallel safe
return case
  when void then 'void'
  when lower(redemption_status) = 'redeemed' or current_balance <= 0 then 'redeemed'
  when current_balance < initial_balance then 'part'
  else 'full'
end;

create table gateway.voucher (
  primary key (id),
  updated_at      timestamptz not null,
  state           text not null generated always as
                    (gateway.voucher_state(void, redemption_status, initial_balance, current_balance)) stored,
  ends_on         date not null generated always as (coalesce(date_valid_end, 'infinity')) stored,
  sold_product_id bigint generated always as (coalesce(parent_product_id, product_id)) stored
) inherits (gateway.voucher_fields);
-- By bytes, so that the indexes do not depend on the locale. Not unique: other tenants may have the same (R33).
create index voucher_reference on gateway.voucher (gateway.folded(gateway.trimmed(reference)) collate "C", tenant_id);
create index voucher_qr_token on gateway.voucher (gateway.trimmed(qr_token) collate "C", tenant_id);

-- The texts of each voucher that are searched: a balance changes often, these texts hardly ever, and each change of a row also
-- changes its index.
create table gateway.voucher_text (
  id        bigint primary key,
  tenant_id bigint not null,
  words     text not null, -- gateway.folded
  recipient text           -- The same of its recipient's name: not every token may search it.
);

-- v1 lists those who consent (R23). Of the others, figures need the consent that they once gave, and no personal data.
create table gateway.customer_fields (
  id              bigint not null,
  tenant_id       bigint not null,
  email           text,
  marketing_opted boolean not null,
  consented_at    timestamptz,
  consent_source  text,
  created_at      timestamptz not null,
  forename        text,
  surname         text,
  full_name       text,
  phone_number    text,
  address_1       text,
  address_2       text,
  town            text,
  city            text,
  county          text,
  country         text,
  countryiso2     text,
  postcode        text
);
create table gateway.customer (
  primary key (id),
  updated_at timestamptz not null,
  -- Of the full name, else of the given and the family name. Empty, and not null, without consent: otherwise the planner
  -- would assume that many customers who consent have no name.
  name       text collate "C" generated always as (case when marketing_opted then gateway.text_order(coalesce(
               full_name, forename || ' ' || surname, surname, forename)) else '' end) stored,
  words      text generated always as (gateway.folded(
               coalesce(full_name || ' ', '') || coalesce(forename || ' ', '') || coalesce(surname || ' ', '')
               || coalesce(email, ''))) stored
) inherits (gateway.customer_fields);

-- When customers withdrew their consent, also after the removal is purged.
create table gateway.consent_withdrawal (
  tenant_id    bigint not null,
  withdrawn_at timestamptz not null
);
create index consent_withdrawal_tenant on gateway.consent_withdrawal (tenant_id, withdrawn_at);

-- Which records left a list. No personal data. The service reports a removal only while the record is absent from that list.
create type gateway.removal_reason as enum ('deleted', 'moved', 'consent_withdrawn');
create table gateway.removal (
  record     gateway.record_type not null,
  tenant_id  bigint not null, -- Whose list it left. Of a tenant: each tenant that was above it, or itself if there was none.
  id         bigint not null,
  reason     gateway.removal_reason not null,
  updated_at timestamptz not null,
  primary key (tenant_id, record, updated_at)
);

-- Keys whose rows v1 cannot show. A former record of such a key stays.
create table gateway.rejected (
  record    gateway.record_type,
  key       text,
  reason    text not null,
  -- The record whose change can end this: its tenant, or the voucher that has the same reference. Null: none.
  waits_for gateway.record_type,
  waits_id  bigint,
  primary key (record, key)
);
create index rejected_waits on gateway.rejected (waits_for, waits_id);

grant select on gateway.tenant, gateway.tenant_path, gateway.category, gateway.variant, gateway.product, gateway.voucher,
  gateway.voucher_text, gateway.customer, gateway.consent_withdrawal, gateway.removal, gateway.rejected to voucher_gateway;

-- Returns a digest of what a product shows besides its own columns: its categories of its own tenant, and its variants.
create function gateway.product_content(product_id bigint, tenant_id bigint, category_ids bigint[]) returns text
language sql stable
begin atomic
  select md5(concat_ws(' ',
    (select json_agg(category order by id) from gateway.category
     where category.id = any(product_content.category_ids) and category.tenant_id = product_content.tenant_id),
    (select json_agg(variant order by id) from gateway.variant where variant.product_id = product_content.product_id)));
end;

-- Returns the indexes of lists, searches and figures. The first fill creates them when it has written all records: adding each
-- row to existing indexes takes many times longer.
create function gateway.record_indexes() returns table (name text, definition text)
language sql stable
as $$
  select name, format('create index %I on gateway.%s', name, replace(columns, 'trigrams', opclass))
  from (values
    ('product_list', 'product (tenant_id, updated_at, id)'),
    ('product_sort_order', 'product (tenant_id, sort_order, id)'),
    ('product_monetary', 'product (tenant_id) where is_monetary'),
    ('product_price', 'product (tenant_id, currency, price, id)'),
    ('product_title', 'product (tenant_id, gateway.text_order(title) collate "C", id)'),
    ('product_text', 'product using gin (tenant_id, gateway.folded(title) trigrams)'),
    ('product_categories', 'product using gin (tenant_id, category_ids)'),
    -- With all columns of filters: a search reads the records in order, and the table only when a page of it was changed
    -- since the last vacuum.
    ('voucher_list', 'voucher (tenant_id, updated_at, id)
      include (state, purchase_timestamp, date_valid_start, ends_on, sold_product_id, currency, current_balance)'),
    ('voucher_end', 'voucher (tenant_id, ends_on, id)
      include (updated_at, state, purchase_timestamp, date_valid_start, sold_product_id, currency, current_balance)'),
    ('voucher_purchase', 'voucher (tenant_id, purchase_timestamp, id)
      include (updated_at, state, date_valid_start, ends_on, sold_product_id, currency, current_balance)'),
    ('voucher_balance', 'voucher (tenant_id, currency, current_balance, id)
      include (updated_at, state, purchase_timestamp, date_valid_start, ends_on, sold_product_id)'),
    -- Few vouchers are in these states.
    ('voucher_state', $index$voucher (tenant_id, state, ends_on, id)
      include (updated_at, purchase_timestamp, date_valid_start, sold_product_id, currency, current_balance)
      where state in ('void', 'part')$index$),
    -- Few vouchers are not valid yet: those that begin after today.
    ('voucher_start', 'voucher (tenant_id, date_valid_start) include (state)'),
    ('voucher_product', 'voucher (tenant_id, sold_product_id)'),
    ('voucher_text_trigram', 'voucher_text using gin (tenant_id, words trigrams, recipient trigrams)'),
    ('customer_list', 'customer (tenant_id, updated_at, id) where marketing_opted'),
    ('customer_consent', 'customer (tenant_id, marketing_opted, consented_at, id)'),
    -- The beginning of the source, because an index stores no long text.
    ('customer_source', 'customer (tenant_id, left(consent_source, 100), consented_at, id) where marketing_opted'),
    ('customer_name', 'customer (tenant_id, name, id) where marketing_opted'),
    ('customer_text', 'customer using gin (tenant_id, words trigrams) where marketing_opted')) record_index (name, columns),
    -- An administrator may have created the extension in a schema of its own.
    (select quote_ident(nspname) || '.gin_trgm_ops' as opclass
     from pg_extension join pg_namespace on pg_namespace.oid = extnamespace where extname = 'pg_trgm') extension
$$;
