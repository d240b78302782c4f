create or replace function gateway.error_of(candidate gateway.tenant_fields) returns text
language sql stable parallel safe
return case when candidate.parent_id = candidate.id then 'parent_id is the tenant itself'
            when not gateway.is_time_zone(candidate.time_zone) then 'time_zone is no IANA name: ' || left(candidate.time_zone, 100)
            else coalesce(gateway.text_error('name', candidate.name), gateway.text_error('subdomain', candidate.subdomain),
                          gateway.text_error('type', candidate.type)) end;

create or replace function gateway.error_of(candidate gateway.category_fields) returns text
language sql stable parallel safe
return coalesce(gateway.length_error('slug', candidate.slug), gateway.length_error('title', candidate.title));

create or replace function gateway.error_of(candidate gateway.variant_fields) returns text
language sql stable parallel safe
return coalesce(gateway.currency_error(candidate.currency), gateway.money_error('price', candidate.price, candidate.currency),
                gateway.money_error('sale_price', candidate.sale_price, candidate.currency),
                gateway.length_error('slug', candidate.slug), gateway.length_error('title', candidate.title));

create or replace function gateway.error_of(candidate gateway.product_fields) returns text
language sql stable parallel safe
return case when candidate.validity_months < 0 then 'validity_months is negative'
            when array_ndims(candidate.image_urls) > 1 then 'image_urls has more than one dimension'
            when array_position(candidate.image_urls, null) is not null then 'image_urls contains null'
            when cardinality(candidate.image_urls) > 10000 then 'image_urls has more than 10000 texts'
            when cardinality(candidate.category_ids) > 10000 then 'category_ids has more than 10000 keys'
            else coalesce(gateway.currency_error(candidate.currency),
                          gateway.money_error('price', candidate.price, candidate.currency),
                          gateway.money_error('sale_price', candidate.sale_price, candidate.currency),
                          gateway.money_error('monetary_value', candidate.monetary_value, candidate.currency),
                          gateway.text_error('validity_type', candidate.validity_type),
                          gateway.length_error('slug', candidate.slug), gateway.length_error('title', candidate.title),
                          gateway.length_error('summary', candidate.summary, 1000000),
                          gateway.length_error('description_html', candidate.description_html, 1000000),
                          gateway.length_error('redemption_info', candidate.redemption_info, 1000000),
                          gateway.length_error('image_url', candidate.image_url, 1000000),
                          gateway.length_error('image_urls', array_to_string(candidate.image_urls, ''), 1000000)) end;

create or replace function gateway.error_of(candidate gateway.voucher_fields) returns text
language sql stable parallel safe
return case
  when length(candidate.reference) > 255 then 'reference has more than 255 characters'
  when length(candidate.qr_token) > 2048 then 'qr_token has more than 2048 characters'
  when coalesce(candidate.reference, '') collate "C" !~ gateway.visible() then 'reference is empty'
  when candidate.qr_token collate "C" !~ gateway.visible() then 'qr_token is empty'
  when candidate.qr_token like '%:%' and gateway.folded(gateway.trimmed(candidate.qr_token)) collate "C" ~ '^HTTPS?:' then 'qr_token is a URL'
  when candidate.date_valid_end < candidate.date_valid_start then 'date_valid_end is before date_valid_start'
  when not (gateway.is_identifier(candidate.order_id) and gateway.is_identifier(candidate.order_item_id)
            and gateway.is_identifier(candidate.product_id) and gateway.is_identifier(candidate.parent_product_id))
    then 'an id is not between 1 and 2^53 - 1'
  else coalesce(
    gateway.currency_error(candidate.currency),
    gateway.money_error('initial_balance', candidate.initial_balance, candidate.currency),
    gateway.money_error('current_balance', candidate.current_balance, candidate.currency),
    gateway.money_error('purchase_value', candidate.purchase_value, candidate.currency),
    gateway.text_error('redemption_status', candidate.redemption_status),
    gateway.text_error('void_reason', candidate.void_reason),
    gateway.length_error('product_title', candidate.product_title), gateway.length_error('product_slug', candidate.product_slug),
    gateway.length_error('parent_product_title', candidate.parent_product_title),
    gateway.length_error('recipient_name', candidate.recipient_name),
    gateway.instant_error('purchase_timestamp', candidate.purchase_timestamp),
    gateway.instant_error('date_issued', candidate.date_issued),
    gateway.instant_error('date_valid_start', candidate.date_valid_start::timestamp at time zone 'UTC'),
    gateway.instant_error('date_valid_end', candidate.date_valid_end::timestamp at time zone 'UTC'),
    gateway.instant_error('date_scheduled', candidate.date_scheduled),
    gateway.instant_error('void_date', candidate.void_date), gateway.instant_error('created_at', candidate.created_at)) end;

create or replace function gateway.error_of(candidate gateway.customer_fields) returns text
language sql stable parallel safe
return case when candidate.email not like '_%@%_' then 'email is no e-mail address'
            when (candidate.countryiso2 collate "C") !~ '^[A-Za-z]{2}$' then 'countryiso2 is not two letters'
            else coalesce(gateway.text_error('consent_source', candidate.consent_source),
                          gateway.length_error('email', candidate.email), gateway.length_error('forename', candidate.forename),
                          gateway.length_error('surname', candidate.surname),
                          gateway.length_error('full_name', candidate.full_name),
                          gateway.length_error('phone_number', candidate.phone_number),
                          gateway.length_error('address_1', candidate.address_1),
                          gateway.length_error('address_2', candidate.address_2), gateway.length_error('town', candidate.town),
                          gateway.length_error('city', candidate.city), gateway.length_error('county', candidate.county),
                          gateway.length_error('country', candidate.country), gateway.length_error('postcode', candidate.postcode),
                          gateway.instant_error('consented_at', candidate.consented_at),
                          gateway.instant_error('created_at', candidate.created_at)) end;
