-- Returns which of the given vouchers have entries that do not match their records.
create or replace function gateway.entry_differences(ids bigint[]) returns setof bigint
language sql stable
begin atomic
  select id
  from (select id, expected from gateway.expected_entry expected where id = any(ids)) record
  full join (select id, entry from gateway.voucher_entry entry where id = any(ids)) present using (id)
  where expected::text is distinct from entry::text;
end;
