-- The rules of v1 for records. Functions with `error` in their names return why a value breaks a rule; null: it breaks none.

-- The rules in words, and what a value changes: docs/data-dictionary.md shows them to authors of mappings.
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
      ('product.tenant_id voucher.tenant_id customer.tenant_id', 'The record is in the lists of this tenant (R20). A change removes '
        'the record from the lists of the former tenant.'),
      ('parent_id', 'Not the tenant itself. Grants (R21), resolutions (R24) and figures follow the parents, up to one that is unknown '
        'or comes again. A change also moves `updated_at` of the tenants below.'),
      ('name subdomain', 'Not empty.'),
      ('summary description_html redemption_info image_url', 'At most 1,000,000 characters.'),
      ('name subdomain tenant.type slug title validity_type redemption_status void_reason product_title product_slug '
       'parent_product_title recipient_name email consent_source forename surname full_name phone_number address_1 address_2 town '
       'city county country postcode', 'At most 100,000 characters.'),
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
      ('image_urls', 'An array of one dimension, without null: at most 10,000 texts and 1,000,000 characters.'),
      ('category_ids', 'The keys of its categories, each once, at most 10,000: `category_refs` and `categories`. Categories that are unknown, or of another '
        'tenant, are not shown.'),
      ('reference', 'At most 255 characters, not blank. A resolution finds the voucher by it; it is compared trimmed (R27, R33).'),
      ('qr_token', 'The token in its QR code: at most 2048 characters, not blank, and no URL. A resolution finds the voucher by '
        'it; it is compared trimmed (R27, R33).'),
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
