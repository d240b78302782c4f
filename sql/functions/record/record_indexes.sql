-- Returns the indexes of lists, resolutions, searches and figures. The first fill creates them after all records:
-- adding each row to existing indexes takes many times longer.
create or replace function gateway.record_indexes() returns table (name text, definition text)
language sql stable set search_path = pg_catalog, pg_temp
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
    -- This index includes all columns of filters, so that a search reads the records in order from the index. It reads
    -- only the pages of the table that have changed since the last vacuum.
    ('voucher_list', 'voucher (tenant_id, updated_at, id)
      include (state, purchase_timestamp, date_valid_start, ends_on, sold_product_id, currency, current_balance)'),
    ('voucher_balance', 'voucher (tenant_id, currency, current_balance, id)'),
    -- Few vouchers are in these states.
    ('voucher_state', $index$voucher (tenant_id, state, ends_on, id) where state in ('void', 'part')$index$),
    -- The order is by bytes, so that it does not depend on the locale. References are not unique if case is ignored
    -- (R33); in this index, a tenant's vouchers with such a reference form one range.
    ('voucher_reference', 'voucher_entry (gateway.folded(gateway.trimmed(reference)) collate "C", tenant_id,
      gateway.trimmed(reference) collate "C")'),
    -- An index cannot store long texts, so this index has the beginning of each text. Few texts share a beginning, and
    -- a query compares these in full.
    ('voucher_qr_token', 'voucher_entry (left(gateway.trimmed(qr_token), 600) collate "C", tenant_id)'),
    ('voucher_end', 'voucher_entry (tenant_id, ends_on, id)'),
    ('voucher_purchase', 'voucher_entry (tenant_id, purchase_timestamp, id)'),
    ('voucher_start', 'voucher_entry (tenant_id, date_valid_start)'),
    ('voucher_product', 'voucher_entry (tenant_id, sold_product_id)'),
    ('voucher_text_trigram', 'voucher_entry using gin (tenant_id, words trigrams, recipient trigrams)'),
    ('customer_list', 'customer (tenant_id, updated_at, id) where marketing_opted'),
    ('customer_consent', 'customer (tenant_id, marketing_opted, consented_at, id)'),
    -- Only the beginning of the source is indexed, because an index cannot store long texts.
    ('customer_source', 'customer (tenant_id, left(consent_source, 100), consented_at, id) where marketing_opted'),
    ('customer_name', 'customer (tenant_id, name, id) where marketing_opted'),
    ('customer_text', 'customer using gin (tenant_id, words trigrams) where marketing_opted')) record_index (name, columns),
    -- An administrator may have created the extension in another schema.
    (select quote_ident(nspname) || '.gin_trgm_ops' as opclass
     from pg_extension join pg_namespace on pg_namespace.oid = extnamespace where extname = 'pg_trgm') extension
$$;
grant execute on function gateway.record_indexes to voucher_gateway;
