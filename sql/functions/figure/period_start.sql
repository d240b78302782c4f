-- Returns the start of the period of a grain that contains an instant.
create or replace function gateway.period_start(grain gateway.figure_grain, at timestamptz) returns timestamptz
language sql immutable parallel safe
return case grain
  when 'half_hour' then gateway.half_hour(at)
  when 'three_hours' then gateway.three_hours(at)
  when 'day' then date_bin('1 day', at, '0001-01-01 00:00+00')
  when 'month' then date_trunc('month', at at time zone 'UTC') at time zone 'UTC'
  when 'quarter' then date_trunc('quarter', at at time zone 'UTC') at time zone 'UTC'
  when 'year' then date_trunc('year', at at time zone 'UTC') at time zone 'UTC'
  when 'all' then '-infinity'
end;
grant execute on function gateway.period_start to voucher_gateway;
