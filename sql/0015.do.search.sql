-- What the filters and orders of lists need: the state of a voucher, and indexes.
--
-- Every change of a voucher writes to all its indexes, because it changes updated_at: an index has to serve several
-- filters and orders. docs/performance.md has what they cost writers.

-- Indexes of texts by their trigrams, together with the tenant. Both come with PostgreSQL, and an owner of the database may
-- create them without being a superuser.
do $$
declare
  extension text;
begin
  foreach extension in array array['pg_trgm', 'btree_gin'] loop
    execute format('create extension if not exists %I', extension);
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

-- An administrator may have created the extensions in a schema of their own.
do $$
begin
  perform set_config('search_path', concat_ws(', ', nullif(current_setting('search_path'), ''), schemas), true)
  from (select string_agg(distinct quote_ident(nspname), ', ') as schemas
        from pg_extension join pg_namespace on pg_namespace.oid = extnamespace
        where extname in ('pg_trgm', 'btree_gin')) extensions;
end $$;

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

-- Returns the text in which vouchers are searched beside the name of their recipient. Each word has a space before it.
create function gateway.voucher_text(reference text, product_title text) returns text
language sql immutable parallel safe
return lower(' ' || reference || ' ' || coalesce(product_title, ''));

-- Returns the name of a customer: the full name, else the given and the family name; null when there is none of them.
create function gateway.customer_name(full_name text, forename text, surname text) returns text
language sql immutable parallel safe
return coalesce(full_name, forename || ' ' || surname, surname, forename);

-- Returns the text in which customers are searched. Each word has a space before it.
create function gateway.customer_text(full_name text, forename text, surname text, email text) returns text
language sql immutable parallel safe
return lower(' ' || coalesce(full_name, '') || ' ' || coalesce(forename, '') || ' ' || coalesce(surname, '') || ' '
             || coalesce(email, ''));

-- Returns what texts are ordered by: the beginning, because an index stores no long text.
create function gateway.text_order(words text) returns text
language sql immutable parallel safe
return left(lower(words), 100);

-- True, at a cost for the planner: a search then reads as few rows as an index can bound. Without it the planner prefers to
-- read and sort a whole table when a tenant has most of it.
create function gateway.is_read(id bigint) returns boolean
language plpgsql immutable parallel safe cost 10000
as 'begin return true; end';

-- All locks first: an index that took a minute would be lost when the lock of the next table is not to be had.
lock table public.purchased_voucher, public.product, public.customer in share mode;

-- The order by the end of the validity reads a range of each state. A voucher that does not expire ends after all others.
create index purchased_voucher_state on public.purchased_voucher
  (tenant_id, gateway.voucher_state(void, redemption_status, initial_balance, current_balance),
   coalesce(date_valid_end, 'infinity'), id);
-- Few vouchers are not valid yet: those that begin after today.
create index purchased_voucher_valid_start on public.purchased_voucher (tenant_id, date_valid_start);
create index purchased_voucher_purchase on public.purchased_voucher (tenant_id, purchase_timestamp, id);
create index purchased_voucher_balance on public.purchased_voucher (tenant_id, currency, current_balance, id);
create index purchased_voucher_product on public.purchased_voucher (tenant_id, coalesce(parent_product_id, product_id));
-- The name has a column of its own, because not every token may search it.
create index purchased_voucher_text on public.purchased_voucher
  using gin (tenant_id, gateway.voucher_text(reference, product_title) gin_trgm_ops,
             lower(' ' || recipient_name) gin_trgm_ops);

-- The order by `sort_order` reads a range of each value of `is_monetary`.
create index product_sort_order on public.product (tenant_id, is_monetary, sort_order, id);
create index product_price on public.product (tenant_id, currency, price, id);
create index product_title on public.product (tenant_id, gateway.text_order(title), id);
create index product_text on public.product using gin (tenant_id, lower(' ' || title) gin_trgm_ops);

create index marketing_signup_consent on public.customer (tenant_id, consented_at, id) where marketing_opted;
-- The beginning of the source, because an index stores no long text, and a longer source would make writes fail.
create index marketing_signup_source on public.customer (tenant_id, left(consent_source, 100), consented_at, id)
  where marketing_opted;
create index marketing_signup_name on public.customer
  (tenant_id, gateway.text_order(gateway.customer_name(full_name, forename, surname)), id) where marketing_opted;
create index marketing_signup_text on public.customer
  using gin (tenant_id, gateway.customer_text(full_name, forename, surname, email) gin_trgm_ops) where marketing_opted;

set local search_path to default;
