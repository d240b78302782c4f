-- Returns the start of the half hour that contains an instant. In most present time zones, days begin at such a start.
-- The origin is earlier than all records, because PostgreSQL before 15.7 and 16.3 puts a boundary before the origin
-- into the wrong interval.
create or replace function gateway.half_hour(instant timestamptz) returns timestamptz
language sql immutable parallel safe
return date_bin('30 minutes', instant, '0001-01-01 00:00+00');
grant execute on function gateway.half_hour to voucher_gateway;
