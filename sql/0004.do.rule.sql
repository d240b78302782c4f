-- The rules of v1 for records. Functions with `error` in their names return why a value breaks a rule; null: it breaks none.

create function gateway.text_error(name text, words text, longest integer default null) returns text
language sql stable parallel safe
return case when words = '' then name || ' is empty'
            when length(words) > longest then format('%s has more than %s characters', name, longest) end;

create function gateway.currency_error(currency text) returns text
language sql stable parallel safe
return case when (currency collate "C") !~ '^[A-Z]{3}$' then 'currency is not three capital letters: ' || left(currency, 20) end;

create function gateway.money_error(name text, amount numeric, currency text) returns text
language sql stable parallel safe
return case when not gateway.is_money(amount, currency)
            then format('%s is not an amount of the currency %s: %s', name, coalesce(currency, '(none)'), amount) end;

create function gateway.instant_error(name text, instant timestamptz) returns text
language sql stable parallel safe
return case when not gateway.is_instant(instant) then format('%s is not in the years 1 to 9999: %s', name, instant) end;

create function gateway.error_of(candidate gateway.tenant_fields) returns text
language sql stable parallel safe
return case when candidate.parent_id = candidate.id then 'parent_id is the tenant itself'
            when not gateway.is_time_zone(candidate.time_zone) then 'time_zone is no IANA name: ' || candidate.time_zone
            else coalesce(gateway.text_error('name', candidate.name), gateway.text_error('subdomain', candidate.subdomain),
                          gateway.text_error('type', candidate.type)) end;

create function gateway.error_of(candidate gateway.category_fields) returns text
language sql stable parallel safe
return null::text;

create function gateway.error_of(candidate gateway.variant_fields) returns text
language sql stable parallel safe
return coalesce(gateway.currency_error(candidate.currency), gateway.money_error('price', candidate.price, candidate.currency),
                gateway.money_error('sale_price', candidate.sale_price, candidate.currency));

create function gateway.error_of(candidate gateway.product_fields) returns text
language sql stable parallel safe
return case when candidate.validity_months < 0 then 'validity_months is negative'
            when array_ndims(candidate.image_urls) > 1 then 'image_urls has more than one dimension'
            when array_position(candidate.image_urls, null) is not null then 'image_urls contains null'
            else coalesce(gateway.currency_error(candidate.currency),
                          gateway.money_error('price', candidate.price, candidate.currency),
                          gateway.money_error('sale_price', candidate.sale_price, candidate.currency),
                          gateway.money_error('monetary_value', candidate.monetary_value, candidate.currency),
                          gateway.text_error('validity_type', candidate.validity_type)) end;

create function gateway.error_of(candidate gateway.voucher_fields) returns text
language sql stable parallel safe
return case
  when gateway.trimmed(candidate.reference) is null then 'reference is empty'
  when candidate.qr_token is not null and gateway.trimmed(candidate.qr_token) is null then 'qr_token is empty'
  when gateway.folded(gateway.trimmed(candidate.qr_token)) collate "C" ~ '^HTTPS?:' then 'qr_token is a URL'
  when candidate.date_valid_end < candidate.date_valid_start then 'date_valid_end is before date_valid_start'
  when not (gateway.is_identifier(candidate.order_id) and gateway.is_identifier(candidate.order_item_id)
            and gateway.is_identifier(candidate.product_id) and gateway.is_identifier(candidate.parent_product_id))
    then 'an id is not between 1 and 2^53 - 1'
  else coalesce(
    gateway.text_error('reference', candidate.reference, 255), gateway.text_error('qr_token', candidate.qr_token, 2048),
    gateway.currency_error(candidate.currency),
    gateway.money_error('initial_balance', candidate.initial_balance, candidate.currency),
    gateway.money_error('current_balance', candidate.current_balance, candidate.currency),
    gateway.money_error('purchase_value', candidate.purchase_value, candidate.currency),
    gateway.text_error('redemption_status', candidate.redemption_status),
    gateway.text_error('void_reason', candidate.void_reason),
    gateway.instant_error('purchase_timestamp', candidate.purchase_timestamp),
    gateway.instant_error('date_issued', candidate.date_issued),
    gateway.instant_error('date_valid_start', candidate.date_valid_start::timestamp at time zone 'UTC'),
    gateway.instant_error('date_valid_end', candidate.date_valid_end::timestamp at time zone 'UTC'),
    gateway.instant_error('date_scheduled', candidate.date_scheduled),
    gateway.instant_error('void_date', candidate.void_date), gateway.instant_error('created_at', candidate.created_at)) end;

create function gateway.error_of(candidate gateway.customer_fields) returns text
language sql stable parallel safe
return case when candidate.email not like '_%@%_' then 'email is no e-mail address'
            when (candidate.countryiso2 collate "C") !~ '^[A-Za-z]{2}$' then 'countryiso2 is not two letters'
            else coalesce(gateway.text_error('consent_source', candidate.consent_source),
                          gateway.instant_error('consented_at', candidate.consented_at),
                          gateway.instant_error('created_at', candidate.created_at)) end;

-- Returns the vouchers whose reference or QR token another voucher of their tenant has (R33), and the id of that one: a record, else
-- the one of them that was a record first. The record of a rejected voucher is none: the voucher may have another reference now.
--
-- fresh_rows, stale_rows: the records that change, as they will be and as they are.
-- readmitted: vouchers that were rejected, so that others may have taken their references.
create function gateway.rivals_of(fresh_rows gateway.voucher_fields[], stale_rows gateway.voucher[], readmitted bigint[])
returns table (id bigint, rival bigint)
language sql stable
as $$
  with candidate as materialized (
    select fresh.id, fresh.tenant_id, gateway.folded(gateway.trimmed(fresh.reference)) collate "C" as name,
           gateway.trimmed(fresh.qr_token) collate "C" as code, stale.id is null as is_new
    from unnest(fresh_rows) fresh left join unnest(stale_rows) stale using (id)
    where (fresh.tenant_id, fresh.reference, fresh.qr_token) is distinct from (stale.tenant_id, stale.reference, stale.qr_token)
      or id = any(readmitted)
  ), other as not materialized (
    select * from gateway.voucher
    where id <> all(array(select id from candidate
                          union all select id from unnest(stale_rows) where id not in (select id from unnest(fresh_rows))))
      and not exists (select from gateway.rejected where rejected.record = 'voucher' and key = id::text)
  )
  -- Rows are compared, so that no index of a tenant's whole list serves: the planner may not know how many rows it has.
  select id, rival
  from candidate, lateral (
    select coalesce(
      (select other.id from other
       where (gateway.folded(gateway.trimmed(other.reference)) collate "C", other.tenant_id)
             between (name, candidate.tenant_id) and (name, candidate.tenant_id) limit 1),
      (select other.id from other
       where (gateway.trimmed(other.qr_token) collate "C", other.tenant_id)
             between (code, candidate.tenant_id) and (code, candidate.tenant_id) limit 1)) as rival
  ) served
  where rival is not null
  union all
  select id, rival from (
    select id, first_value(id) over (partition by tenant_id, name order by is_new, id) as rival from candidate
    union all
    select id, first_value(id) over (partition by tenant_id, code order by is_new, id) from candidate where code is not null
  ) evaluated_with
  where id <> rival
$$;

-- The rules in words, and what follows from a value: docs/data-dictionary.md has them, for authors of mappings.
comment on table gateway.category_fields is 'A change moves `updated_at` of the products that show the category (R22).';
comment on table gateway.variant_fields is 'A change moves `updated_at` of the variant and of its product (R22).';
do $$
declare
  command text;
begin
  for command in
    select format('comment on column gateway.%I.%I is %L', record || '_fields', attname, string_agg(words, ' ' order by place))
    from (select *, row_number() over () as place from (values
      ('id', 'An integer is from 1 to 2^53 - 1 (R14). No other row has the same one.'),
      ('tenant_id', 'The key of a tenant. While there is no such record, the row is rejected.'),
      ('category.tenant_id', 'Products of other tenants do not show the category.'),
      ('product.tenant_id voucher.tenant_id customer.tenant_id', 'The record is in the lists of this tenant (R20). A change is a removal '
        'from those of the former one.'),
      ('parent_id', 'Not the tenant itself. Grants (R21), resolutions (R24) and figures follow the parents, up to one that is unknown '
        'or comes again. A change also moves `updated_at` of the tenants below.'),
      ('name subdomain', 'Not empty.'),
      ('tenant.type validity_type void_reason consent_source', 'Any text that is not empty: v1 names no words.'),
      ('redemption_status', 'Any text that is not empty. With `redeemed`, in any case, a resolution answers `redeemed` (R25); v1 names '
        'no other word.'),
      ('time_zone', 'One that the server knows, for example Europe/London. It decides when a day of validity begins and ends (R25), and '
        'the days of figures.'),
      ('sort_order', 'Records with the same one are ordered by key (R16).'),
      ('currency', 'Three capital letters.'),
      ('voucher.currency', 'Without one, all amounts are null. Figures add up each currency by itself.'),
      ('price sale_price monetary_value initial_balance current_balance purchase_value', 'In major units: at least 0, below 10^12, with '
        'no more decimals than the currency has (R12).'),
      ('variant.price', 'The lowest one of a product is its `from_price` (R16).'),
      ('variant.sale_price', 'The lowest one of a product is its `from_sale_price` (R16).'),
      ('variant.product_id', 'The key of its product, which shows it as one of `variant_summaries` and `variants`.'),
      ('validity_months', 'At least 0.'),
      ('image_urls', 'An array of one dimension, without null.'),
      ('category_ids', 'The keys of its categories, each once: `category_refs` and `categories`. Those that are unknown, or of another '
        'tenant, are not shown.'),
      ('reference', 'At most 255 characters, not blank. A resolution finds the voucher by it; it is compared trimmed (R27, R33).'),
      ('qr_token', 'The token in its QR code: at most 2048 characters, not blank, and no URL; unique within its tenant. A resolution finds '
        'the voucher by it; it is compared trimmed (R27, R33).'),
      ('is_monetary allow_part_redeem', 'No resolution and no figure depends on it.'),
      ('void', 'With true, a resolution answers `void` (R25), and figures of sales count it as voided, without its amounts.'),
      ('order_id order_item_id voucher.product_id parent_product_id', 'An integer is from 1 to 2^53 - 1 (R14).'),
      ('voucher.product_id', 'Figures count the sale for this product, unless there is a `parent_product_id`.'),
      ('parent_product_id', 'Figures count the sale for this product.'),
      ('product_title', 'Figures show it when the product is gone, unless there is a `parent_product_title`.'),
      ('parent_product_title', 'Figures show it when the product is gone.'),
      ('purchase_timestamp date_issued date_scheduled void_date consented_at created_at date_valid_start date_valid_end',
        'In the years 1 to 9999 (R13).'),
      ('purchase_timestamp', 'Figures of sales count it on this day; without one, in no period.'),
      ('date_valid_start', 'Before it, a resolution answers `not_yet_valid` (R25).'),
      ('date_valid_end', 'Not before `date_valid_start`. After it, a resolution answers `expired` (R25), and figures count no outstanding '
        'balance. Without one, the voucher does not expire.'),
      ('initial_balance', 'Figures of sales add it up as the value.'),
      ('current_balance', 'With 0, a resolution answers `no_balance` (R25). Figures add it up as outstanding, and `initial_balance` '
        'minus it as redeemed; those without one are counted apart.'),
      ('purchase_value', 'Figures of sales add it up as what was paid.'),
      ('marketing_opted', 'With false, no list has the customer (R23), and the record keeps nothing but `key`, `tenant_id`, '
        '`marketing_opted`, `consented_at` and `created_at`. A change to false is a removal, and figures count a withdrawal.'),
      ('consented_at', 'Figures count the consent on this day, also when it was withdrawn.'),
      ('email', 'With a text on both sides of `@`.'),
      ('countryiso2', 'Two letters.')) rule (columns, words)) rule
    cross join unnest(enum_range(null::gateway.record_type)) record
    join pg_attribute on attrelid = format('gateway.%I', record || '_fields')::regclass
      and array[attname::text, record || '.' || attname] && string_to_array(columns, ' ')
    group by record, attname
  loop
    execute command;
  end loop;
end $$;
