-- Writes the entries of the given vouchers by their present records (I11). Only steps call this function, under their
-- lock (I1).
create or replace function gateway.write_entries(ids bigint[]) returns void
language sql
begin atomic
  delete from gateway.voucher_entry where id = any(ids) and not exists (select from gateway.voucher where voucher.id = voucher_entry.id);
  insert into gateway.voucher_entry
    (id, tenant_id, reference, qr_token, purchase_timestamp, date_valid_start, ends_on, sold_product_id, words, recipient)
  select id, tenant_id, reference, qr_token, purchase_timestamp, date_valid_start, ends_on, sold_product_id, words, recipient
  from gateway.expected_entry where id = any(ids)
  on conflict (id) do update
  set tenant_id = excluded.tenant_id, reference = excluded.reference, qr_token = excluded.qr_token,
      purchase_timestamp = excluded.purchase_timestamp, date_valid_start = excluded.date_valid_start, ends_on = excluded.ends_on,
      sold_product_id = excluded.sold_product_id, words = excluded.words, recipient = excluded.recipient;
end;
