-- For mappings: returns the last valid day at a time zone of what ends at an instant, which is not part of it. Infinity: null.
create or replace function gateway.last_day(ends_at timestamptz, zone text) returns date
language sql immutable parallel safe
return case when isfinite(ends_at) then ((ends_at - interval '1 microsecond') at time zone gateway.time_zone(zone))::date end;
grant execute on function gateway.last_day to voucher_gateway_reader;
