-- Returns the maximum number of vouchers of one tenant that a read of figures counts. A tenant with more vouchers has a
-- rollup.
create or replace function gateway.most_counted() returns integer language sql immutable parallel safe return 20000;
grant execute on function gateway.most_counted to voucher_gateway;
