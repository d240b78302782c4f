-- Returns the message of an error without quoted values of rows.
create or replace function gateway.without_values(message text) returns text
language sql immutable
return regexp_replace(split_part(message, ': ', 1), '["«»„“”].*["«»„“”]', '"…"');
grant execute on function gateway.without_values to voucher_gateway;
