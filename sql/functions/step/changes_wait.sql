-- Returns whether keys or rows of tenants (with `of_vouchers`, of tenants or vouchers) wait for later steps. Each
-- waiting key and row counts, because the time of its note is unknown.
create or replace function gateway.changes_wait(of_vouchers boolean, taken bigint) returns boolean
language sql stable
begin atomic
  select exists (select from gateway.waiting_key where place > taken and (record = 'tenant' or of_vouchers and record = 'voucher'))
    or exists (select from gateway.waiting_row where record = 'tenant' or of_vouchers and record = 'voucher')
    or exists (select from gateway.large_transaction join gateway.note using (xid)
               where record = 'tenant' or of_vouchers and record = 'voucher');
end;
grant execute on function gateway.changes_wait to voucher_gateway;
