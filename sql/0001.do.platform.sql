-- The tables that the voucher platform writes, and the functions of their check constraints.
--
-- Names of tables and columns use the words of the contract. The platform may write these tables in any way.

create schema if not exists gateway;
comment on schema gateway is 'Owned by the gateway; the platform writes to schema public only';

-- The files of sql/ that were applied.
create table gateway.migration (
  version integer primary key,
  name    text not null,
  md5     text not null,
  run_at  timestamptz not null default now()
);

-- Returns how many digits a currency has after the decimal point (ISO 4217): 0, 2 or 3.
create function gateway.minor_unit_digits(currency text) returns integer
language sql immutable parallel safe
return case
  when currency in ('BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND',
                    'VUV', 'XAF', 'XOF', 'XPF') then 0
  when currency in ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND') then 3
  else 2
end;

-- Returns whether an amount is a multiple of its currency's minor unit (R12) and small enough (15 significant digits) for
-- a JSON number to be exact. NaN and infinity are greater than every number, so they are no money. Null is valid.
create function gateway.is_money(amount numeric, currency text) returns boolean
language sql immutable parallel safe
return amount is null
  or (currency is not null and amount >= 0 and amount < 1e12
      and scale(trim_scale(amount)) <= gateway.minor_unit_digits(currency));

-- Returns whether a text has the form of an IANA name, in any case. PostgreSQL also knows abbreviations (BST), offsets and rules
-- (PST8), and files of its server (localtime, posix/...): in browsers they have another meaning, or none.
create function gateway.has_time_zone_form(name text) returns boolean
language sql immutable parallel safe
return (name collate "C") ~* '^[a-z_]+/[a-z_/-]+$' and (name collate "C") !~* '^(posix|right)/'
  -- The tz database adds no more names without a slash, or with digits.
  or (name collate "C") ~* ('^(etc/gmt(0|[+-][0-9]|[+-]1[0-2]|-1[34])|gmt[+-]?0|(est5e|cst6c|mst7m|pst8p)dt|w-su|gb-eire'
    '|nz-chat|[cemw]et|[ehm]st|cuba|egypt|eire|gb|gmt|greenwich|hongkong|iceland|iran|israel|jamaica|japan|kwajalein'
    '|libya|navajo|nz|poland|portugal|prc|roc|rok|singapore|turkey|uct|universal|utc|zulu)$');

-- Returns the text with which `at time zone` means a time zone of this name: PostgreSQL takes the shortest names for
-- abbreviations, which have no summer time, and which a setting of the server (timezone_abbreviations) can change.
create function gateway.time_zone(name text) returns text
language sql immutable parallel safe
return case when length(name) > 4 then name else
  case upper(name collate "C")
    when 'CET' then 'Europe/Brussels'
    when 'MET' then 'Europe/Brussels'
    when 'EET' then 'Europe/Athens'
    when 'WET' then 'Europe/Lisbon'
    when 'EST' then 'America/Panama'
    when 'MST' then 'America/Phoenix'
    when 'HST' then 'Pacific/Honolulu'
    when 'GMT' then 'Etc/UTC'
    when 'UCT' then 'Etc/UTC'
    when 'UTC' then 'Etc/UTC'
    when 'ZULU' then 'Etc/UTC'
    else name
  end
end;

-- Returns whether a text is the name of an IANA time zone that this server knows.
create function gateway.is_time_zone(name text) returns boolean
language plpgsql stable
as $$
begin
  perform now() at time zone gateway.time_zone(name);
  return gateway.has_time_zone_form(name);
exception when invalid_parameter_value then
  return false;
end $$;

-- Returns whether R13 can express an instant: its year has four digits and is AD; it is not infinite. Null is valid.
create function gateway.is_instant(stamp timestamptz) returns boolean
language sql immutable parallel safe
return stamp is null
  or (stamp >= timestamptz '0001-01-01 00:00:00+00' and stamp < timestamptz '10000-01-01 00:00:00+00');

-- Returns whether a JSON number expresses an id exactly (R14): 1 to 2^53 - 1. Null is valid.
create function gateway.is_identifier(id bigint) returns boolean
language sql immutable parallel safe
return id is null or id between 1 and 9007199254740991;

-- The case of letters is Unicode's, whatever the locale of the database (R27): a collation of ICU knows it in all versions.
do $$
begin
  if to_regcollation('pg_catalog."und-x-icu"') is null then
    raise exception 'The server has no collation und-x-icu.'
      using errcode = 'feature_not_supported', hint = 'Use a PostgreSQL server that is built with ICU, as nearly all are.';
  end if;
end $$;

-- Returns a text in one case: two texts that differ in case only are equal in it. Also of `ß` and `SS`, of `Σ` and `ς`.
create function gateway.folded(words text) returns text
language sql immutable parallel safe
return upper(lower(words collate "und-x-icu"));

-- Returns whether a text contains another one, in any case.
create function gateway.has_text(words text, part text) returns boolean
language sql immutable parallel safe
return position(gateway.folded(part) in gateway.folded(words)) > 0;

-- Returns the regular expression of a character that is not trimmed (R27): no white space, control character or character
-- without a width. src/domain/trimmed.ts has the same characters.
create function gateway.visible() returns text
language sql immutable parallel safe
return '[^\u0001-\u0020\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f'
       '\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0]';

-- Returns a text without the invisible characters at both ends; null when it has no others.
create function gateway.trimmed(words text) returns text
language sql immutable parallel safe
return substring(words collate "C" from gateway.visible() || '(?:.*' || gateway.visible() || ')?');

create table public.tenant (
  id         bigint generated by default as identity primary key check (gateway.is_identifier(id)),
  parent_id  bigint references public.tenant,
  name       text not null check (name <> ''),
  subdomain  text check (subdomain <> ''),
  type       text check (type <> ''),
  time_zone  text not null default 'UTC' check (gateway.is_time_zone(time_zone)),
  updated_at timestamptz not null default now() check (gateway.is_instant(updated_at)),
  check (parent_id <> id)
);
create index tenant_parent on public.tenant (parent_id);
create index tenant_list on public.tenant (updated_at, id);

create table public.category (
  id         bigint generated by default as identity primary key check (gateway.is_identifier(id)),
  tenant_id  bigint not null references public.tenant,
  slug       text not null,
  title      text not null,
  sort_order integer not null default 0
);

create table public.product (
  id                bigint generated by default as identity primary key check (gateway.is_identifier(id)),
  tenant_id         bigint not null references public.tenant,
  slug              text not null,
  title             text not null,
  summary           text,
  description_html  text,
  currency          text not null check (currency ~ '^[A-Z]{3}$'),
  price             numeric check (gateway.is_money(price, currency)),
  sale_price        numeric check (gateway.is_money(sale_price, currency)),
  monetary_value    numeric check (gateway.is_money(monetary_value, currency)),
  is_monetary       boolean not null default false,
  allow_part_redeem boolean not null default false,
  validity_type     text check (validity_type <> ''),
  validity_months   integer check (validity_months >= 0),
  redemption_info   text,
  sort_order        integer not null default 0,
  image_url         text,
  image_urls        text[] not null default '{}'
                      check (array_position(image_urls, null) is null and coalesce(array_ndims(image_urls), 1) = 1),
  updated_at        timestamptz default now() check (gateway.is_instant(updated_at))
);
-- A product without a stamp comes first (R15). It is listed as '-infinity', because a comparison of rows with null is null.
-- An index with an expression serves an index-only scan if it includes the column of the expression.
create index product_list on public.product (tenant_id, coalesce(updated_at, '-infinity'), id) include (updated_at);

create table public.product_category (
  product_id  bigint not null references public.product on delete cascade,
  category_id bigint not null references public.category on delete cascade,
  primary key (product_id, category_id)
);
create index product_category_category on public.product_category (category_id);

create table public.variant (
  id          bigint generated by default as identity primary key check (gateway.is_identifier(id)),
  product_id  bigint not null references public.product on delete cascade,
  slug        text not null,
  title       text not null,
  price       numeric check (gateway.is_money(price, currency)),
  sale_price  numeric check (gateway.is_money(sale_price, currency)),
  currency    text not null check (currency ~ '^[A-Z]{3}$'),
  is_monetary boolean not null default false,
  sort_order  integer not null default 0,
  updated_at  timestamptz default now() check (gateway.is_instant(updated_at))
);
create index variant_product on public.variant (product_id, sort_order, id);

-- A voucher has the title and slug that its product had when it was sold, and outlives the product: product_id and
-- parent_product_id are no foreign keys.
create table public.purchased_voucher (
  id                   bigint generated by default as identity primary key,
  tenant_id            bigint not null references public.tenant,
  reference            text not null check (gateway.trimmed(reference) is not null and length(reference) <= 255),
  qr_token             text check (qr_token is null or coalesce(gateway.trimmed(qr_token) collate "C" !~* '^https?:', false)
                                                       and length(qr_token) <= 2048),
  initial_balance      numeric check (gateway.is_money(initial_balance, currency)),
  current_balance      numeric check (gateway.is_money(current_balance, currency)),
  purchase_value       numeric check (gateway.is_money(purchase_value, currency)),
  currency             text check (currency ~ '^[A-Z]{3}$'),
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
  purchase_timestamp   timestamptz check (gateway.is_instant(purchase_timestamp)),
  date_issued          timestamptz check (gateway.is_instant(date_issued)),
  date_valid_start     date check (gateway.is_instant(date_valid_start::timestamp at time zone 'UTC')),
  date_valid_end       date check (gateway.is_instant(date_valid_end::timestamp at time zone 'UTC')),
  date_scheduled       timestamptz check (gateway.is_instant(date_scheduled)),
  redemption_status    text check (redemption_status <> ''),
  void_reason          text check (void_reason <> ''),
  void_date            timestamptz check (gateway.is_instant(void_date)),
  recipient_name       text,
  customer_name        text,
  created_at           timestamptz not null default now() check (gateway.is_instant(created_at)),
  updated_at           timestamptz not null default now() check (gateway.is_instant(updated_at)),
  check (date_valid_end >= date_valid_start),
  check (gateway.is_identifier(least(id, order_id, order_item_id, product_id, parent_product_id))
     and gateway.is_identifier(greatest(id, order_id, order_item_id, product_id, parent_product_id)))
);
-- By bytes, so that the indexes do not depend on the locale either.
create unique index purchased_voucher_reference
  on public.purchased_voucher (gateway.folded(gateway.trimmed(reference)) collate "C");
create unique index purchased_voucher_qr_token on public.purchased_voucher (gateway.trimmed(qr_token) collate "C");
create index purchased_voucher_list on public.purchased_voucher (tenant_id, updated_at, id);

create table public.customer (
  id              bigint generated by default as identity primary key check (gateway.is_identifier(id)),
  tenant_id       bigint not null references public.tenant,
  email           text check (email like '_%@%_'),
  marketing_opted boolean not null default false,
  consented_at    timestamptz check (gateway.is_instant(consented_at)),
  consent_source  text check (consent_source <> ''),
  created_at      timestamptz not null default now() check (gateway.is_instant(created_at)),
  updated_at      timestamptz not null default now() check (gateway.is_instant(updated_at)),
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
  countryiso2     text check (countryiso2 ~ '^[A-Za-z]{2}$'),
  postcode        text
);
-- v1 lists the customers who consent at present (R23).
create index marketing_signup_list on public.customer (tenant_id, updated_at, id) where marketing_opted;
-- A commit also stamps the other customers again (gateway.touched_rows).
create index customer_unlisted on public.customer (tenant_id, updated_at, id) where not marketing_opted;
