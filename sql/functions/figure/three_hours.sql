-- Returns the start of the three hours that contain an instant, so that a day that begins at another hour than in UTC has few parts.
create or replace function gateway.three_hours(instant timestamptz) returns timestamptz
language sql immutable parallel safe
return date_bin('3 hours', instant, '0001-01-01 00:00+00');
grant execute on function gateway.three_hours to voucher_gateway;
