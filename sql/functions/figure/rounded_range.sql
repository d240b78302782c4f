-- Returns the range of whole months, quarters or years in UTC, or of all time, that is nearest to a given range. The
-- nearest range has the smallest sum of two times: between both starts, and between both ends. Only time from `first`
-- to `last` is counted. The result is empty when the sum is not shorter than the given range.
create or replace function gateway.rounded_range(unit text, starts_at timestamptz, ends_at timestamptz, first timestamptz, last timestamptz,
                                                 out lower timestamptz, out upper timestamptz)
language sql stable parallel safe
begin atomic
  select case when is_near then beginnings[1] else starts_at end, case when is_near then beginnings[2] else starts_at end
  from (
    select array_agg(beginning order by edge) as beginnings,
           sum(distance) < gateway.time_between(starts_at, ends_at, first, last) as is_near
    from (values (starts_at), (ends_at)) edges (edge)
    cross join lateral (
      select beginning, gateway.time_between(edge, beginning, first, last) as distance
      from unnest(case when unit = 'all' then array['-infinity', 'infinity']::timestamptz[]
                       else array[date_trunc(unit, edge, 'UTC'),
                                  date_trunc(unit, edge, 'UTC') + case unit when 'quarter' then interval '3 months'
                                                                            else ('1 ' || unit)::interval end] end) beginning
      order by distance, beginning limit 1
    ) nearest
  ) rounded;
end;
grant execute on function gateway.rounded_range to voucher_gateway;
