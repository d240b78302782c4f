-- Returns the start (UTC) of the three-hour slot of an instant. Local days begin at other hours than UTC days. At the
-- edges of a period, a query reads these slots instead of many half hours.
create or replace function gateway.three_hours(instant timestamptz) returns timestamptz
language sql immutable parallel safe
return date_bin('3 hours', instant, '0001-01-01 00:00+00');
grant execute on function gateway.three_hours to voucher_gateway;
