create or replace function gateway.instant_error(name text, instant timestamptz) returns text
language sql stable parallel safe
return case when not gateway.is_instant(instant) then format('%s is not in the years 1 to 9999: %s', name, instant) end;
