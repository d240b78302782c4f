-- Always returns true, but has a high cost estimate. So a search uses the index with the fewest rows, even when a
-- tenant has most of a table. The function is not parallel, because starting workers takes longer than such a read.
create or replace function gateway.is_read(id bigint) returns boolean
language plpgsql immutable parallel unsafe cost 10000
as 'begin return true; end';
grant execute on function gateway.is_read to voucher_gateway;
