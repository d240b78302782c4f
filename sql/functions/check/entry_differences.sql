-- Returns which of some vouchers have entries that are not as their records say.
create or replace function gateway.entry_differences(ids bigint[]) returns setof bigint
language sql stable
begin atomic
  select id
  from (select id, expected from gateway.expected_entry expected where id = any(ids)) record
  full join (select id, entry from gateway.voucher_entry entry where id = any(ids)) present using (id)
  where expected::text is distinct from entry::text;
end;
