-- Returns the start of the half hour that contains an instant. In most time zones of today, days begin at such a start.
-- Null: null. The origin lies before all records: releases before 15.7 and 16.3 put a boundary before the origin into
-- the interval before.
create or replace function gateway.half_hour(instant timestamptz) returns timestamptz
language sql immutable parallel safe
return date_bin('30 minutes', instant, '0001-01-01 00:00+00');
grant execute on function gateway.half_hour to voucher_gateway;
