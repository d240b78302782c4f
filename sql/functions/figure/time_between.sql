-- Returns the time between two instants, and counts only time from `first` to `last`.
create or replace function gateway.time_between(one timestamptz, other timestamptz, first timestamptz, last timestamptz) returns interval
language sql immutable parallel safe
return least(greatest(one, other, first), last) - least(greatest(least(one, other), first), last);
grant execute on function gateway.time_between to voucher_gateway;
