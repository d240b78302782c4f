-- For mappings: returns the last day of a validity, in a time zone. The validity ends just before the instant. Returns
-- null for infinity.
create or replace function gateway.last_day(ends_at timestamptz, zone text) returns date
language sql immutable parallel safe
return case when isfinite(ends_at) then ((ends_at - interval '1 microsecond') at time zone gateway.time_zone(zone))::date end;
grant execute on function gateway.last_day to voucher_gateway_reader;
