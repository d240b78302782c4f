-- Returns whether R13 can express an instant: its year has four digits and is AD, and it is not infinite. Null is
-- valid.
create or replace function gateway.is_instant(stamp timestamptz) returns boolean
language sql immutable parallel safe
return stamp is null
  or (stamp >= timestamptz '0001-01-01 00:00:00+00' and stamp < timestamptz '10000-01-01 00:00:00+00');
grant execute on function gateway.is_instant to voucher_gateway_reader;
