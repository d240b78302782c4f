-- For mappings: returns an amount from its minor units. 1050 is 10.50 EUR, or 1050 JPY. The currency code may be in
-- upper or lower case.
create or replace function gateway.major_units(minor numeric, currency text) returns numeric
language sql immutable parallel safe
return round(minor / 10::numeric ^ gateway.minor_unit_digits(upper(currency)), gateway.minor_unit_digits(upper(currency)));
grant execute on function gateway.major_units to voucher_gateway_reader;
